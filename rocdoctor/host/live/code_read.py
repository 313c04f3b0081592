"""Which files a program that root starts reads as code, to the last: the one answer for whatever we start.

=====================  ===============================================================================================
kind                   what counts beside the file, the folders above it and each link on the way
=====================  ===============================================================================================
ELF file               the libraries that it names (``libraries.py``)
script                 what its first line names, what reads it, and what its words lead to (``scripts.py``)
Python                 its prefixes, packages and what these lead to (``python_code.py``); of a script in Python the
                       folder where it lies too, which is the first where Python looks for modules
Perl script            the folders of modules of the system
known programs         configuration that is code (``_ALSO``)
=====================  ===============================================================================================

What reads a script and is none of these has no answer: the program is not started then.
"""

from __future__ import annotations

import errno
import math
import os
from collections.abc import Callable, Collection, Iterator

from rocdoctor.host.live.accounts import expanded
from rocdoctor.host.live.folder_names import matching
from rocdoctor.host.live.libraries import Libraries
from rocdoctor.host.live.python_code import Use, read_by_python
from rocdoctor.host.live.scripts import first_line, is_program, named_places, named_programs, reader, text_of
from rocdoctor.host.live.settings_code import all_code_of
from rocdoctor.host.live.trust import Weakness, mounted_in, weaknesses
from rocdoctor.host.live.trusted_content import doubtful_below, entries, looks_weak
from rocdoctor.model.lazy_re import regex

_PYTHON = regex(r"(?:python|pypy)[\w.-]*\Z")
_PERL = regex(r"perl[\w.-]*\Z")
# They read nothing of their own that the environment from scratch does not name.
_PLAIN = regex(r"(?:(?:[bd]?a|[mz]|[dk]|pdk|mk)?sh|busybox|toybox|env|[gm]?awk|sed)[\d.-]*\Z")
_PERL_MODULES = (
    "/etc/perl",
    "/usr/lib*/perl*",
    "/usr/lib/*/perl*",
    "/usr/share/perl*",
    "/usr/local/lib*/perl*",
    "/usr/local/lib/*/perl*",
    "/usr/local/share/perl*",
)
_OF_SLURM = ("scontrol", "sinfo", "squeue", "srun")
_OF_ANSIBLE = ("ansible-playbook",)
# ProxyCommand and Include: ssh_config(5) of OpenSSH 9.2 (read 2026-11-28). Engines start ssh themselves.
# The home of root counts for what `fleet` starts, which gets it: files there may be links, and name what is elsewhere.
_OF_SSH = ("/etc/ssh", "/etc/ssh/ssh_config", "/etc/ssh/ssh_config.d", "/etc/ssh/ssh_config.d/*", "~root/.ssh/config")
# Beside the inventory lie files of variables, which hold templates: these may call programs.
_ANSIBLE_SETTINGS = (
    *("/etc/ansible/*", "/etc/ansible/*_vars/*", "/etc/ansible/*_vars/*/*"),
    *("~root/.ansible.cfg", "~root/.ansible/plugins/*/*"),
)
_OF_CLUSH = ("/etc/clustershell", "~root/.config/clustershell", "~root/.local/etc/clustershell")
_ALSO = {
    # sourced by bash: read_conf and read_framework_conf of the script (github.com/dell/dkms, read 2026-11-24)
    "dkms": ("/etc/dkms/*", "/etc/dkms/*/*", "/var/lib/dkms/*/*/source/dkms.conf"),
    # macros may hold shell and Lua: rpm-macros(7), rpm-config(5) of RPM 6.0.1 (man.archlinux.org, read 2026-11-24)
    "rpm": ("/usr/lib/rpm/macros*", "/usr/lib/rpm/*/macros*", "/etc/rpm/*", "/etc/rpmrc", "/usr/lib/rpm/rpmrc"),
    # names the folder of plugins: slurm.conf(5) (unix.com/man-page, read 2026-11-24); beside it plugstack.conf
    **dict.fromkeys(_OF_SLURM, ("/etc/slurm/*", "/etc/slurm-llnl/*", "/run/slurm/conf/*")),
    # Where the settings are, and plug-ins lie: the page "Ansible Configuration Settings" of ansible-core 2.19
    # (docs.ansible.com, read 2026-11-28).
    **dict.fromkeys(_OF_ANSIBLE, ("/etc/ansible", *_ANSIBLE_SETTINGS, "/usr/share/ansible/*/*/*", *_OF_SSH)),
    # Upcalls of groups are shell: groups.conf(5) of ClusterShell 1.8 (manpages.ubuntu.com, read 2026-11-28).
    "clush": (*(f"{one}{more}" for one in _OF_CLUSH for more in ("", "/*", "/*/*")), *_OF_SSH),
    "pdsh": ("/etc/pdsh", "/usr/lib*/pdsh/*", "/usr/lib/*/pdsh/*", *_OF_SSH),
    "ssh": _OF_SSH,
}
_NAMING = (*_OF_SLURM, *_OF_ANSIBLE, "clush", "pdsh", "ssh")
# A script starts a script that starts a script: what those below start counts no more.
_MOST_DEEP, _MOST_READERS = 3, 5
_NO_SIGNS = frozenset("\"'\\$")  # which env -S takes for more than signs


class CodeReader:
    """Answers for the programs of one run, which share most of what they read.

    ``folders``: where programs look names up (PATH). Those of LD_LIBRARY_PATH hold only what root alone can change
    (``programs.py``). ``most``: enough weaknesses of one program to know all about it. ``step`` is called before each
    place that is looked at.
    """

    def __init__(
        self, folders: Collection[str] = (), most: float = math.inf, step: Callable[[], None] | None = None
    ) -> None:
        self._folders = tuple(folders)
        self._most = most
        self._step = step
        self._libraries = Libraries()
        self._known: dict[tuple[str, Use | None], tuple[int, list[Weakness]]] = {}

    def weak(self, path: str, use: Use | None = None) -> list[Weakness]:
        """Where somebody else than root can change what a program runs; ``use`` makes it an interpreter under test.

        Raises OSError where there is no such file, or where what it reads cannot be known.
        """
        return list(self._weak(path, use, 0))

    def _weak(self, path: str, use: Use | None, deep: int) -> list[Weakness]:
        # What was found from deeper below a script, where less is looked through, is no answer for what is nearer.
        if (path, use) not in self._known or self._known[path, use][0] > deep:
            found: dict[Weakness, None] = {}
            try:
                found.update(dict.fromkeys(weaknesses(path)))
                for one in self._read(path, use, deep, bool(found)):
                    if self._step is not None:
                        self._step()
                    more = [one] if isinstance(one, Weakness) else weaknesses(one, missing_ok=True)
                    found.update(dict.fromkeys(more))
                    if len(found) >= self._most:
                        break
            except OSError:
                if not found:  # else that is reason enough
                    raise
            self._known[path, use] = deep if first_line(path) is not None else 0, list(found)
        return self._known[path, use][1]

    def _read(self, path: str, use: Use | None, deep: int, weak: bool) -> Iterator[str | Weakness]:
        name = os.path.basename(path)
        for pattern in _ALSO.get(name, ()):
            for place in matching(expanded(pattern)):
                yield place
                if name in _NAMING and not place.endswith(".so"):
                    yield from self._named_by(place, deep)
        words = first_line(path)
        if words is None and not weak:  # else others choose what it names, and how long that keeps us
            yield from self._libraries.weak_of(path)
        elif words is not None and not weak:
            yield from self._of_script(path, words, deep)
        if use is not None:
            yield from read_by_python(path, use)
        elif _PYTHON.match(name):
            yield from read_by_python(path, "import")

    def _named_by(self, settings: str, deep: int) -> Iterator[str | Weakness]:
        """The code that settings name, what its programs read in turn, and what settings that are programs read."""
        if weaknesses(settings, missing_ok=True):  # others choose what it names, and how long that keeps us
            return
        for one in dict.fromkeys((settings, *all_code_of(settings))):
            yield one
            if is_program(one) and deep < _MOST_DEEP:
                yield from self._weak(one, None, deep + 1)

    def _of_script(self, path: str, words: list[str], deep: int) -> Iterator[str | Weakness]:
        if deep >= _MOST_READERS:
            return
        if words[:1] and os.path.basename(words[0]) == "env" and any(set(one) & _NO_SIGNS for one in words):
            raise OSError(errno.ENOTSUP, "its first line cannot be read with certainty", path)
        by, places = reader(words, self._folders)
        yield from places
        for one in places:
            if os.path.isfile(one):
                yield from self._weak(one, None, deep + 1)
        if not by or not os.path.exists(by):
            return
        yield from self._weak(by, None, deep + 1)
        if (text := text_of(path)) is None:
            raise OSError(errno.EFBIG, "too long a script to be looked through", path)
        programs = list(named_programs(text, self._folders))
        places = list(named_places(path, text))
        for place in places:
            yield from weaknesses(place, missing_ok=True, sticky_ok=True)
            programs += [place] if is_program(place) else []
        for program in programs if deep < _MOST_DEEP else ():
            yield from self._weak(program, None, deep + 1)
        kind = os.path.basename(by)
        if _PYTHON.match(kind):
            yield from _modules_beside(path)
            for place in places if "path" in text else ():  # sys.path, PYTHONPATH, site
                yield from _modules_of(place)
        elif "$0" in text and any(_PYTHON.match(os.path.basename(one)) for one in programs):  # it is one in Python too
            yield from _modules_beside(path)
        elif _PERL.match(kind):
            yield from _below([one for pattern in _PERL_MODULES for one in matching(pattern)])
            for place in places if "lib" in text else ():  # use lib
                yield from _modules_of(place)
        elif not _PLAIN.match(kind) and first_line(by) is None:
            raise OSError(errno.ENOTSUP, f"read by {by}, and what that reads is not known", path)


def _modules_beside(path: str) -> Iterator[str]:
    """The modules and packages in the folder of a script in Python; other programs there are no modules."""
    for folder in dict.fromkeys(os.path.dirname(one) for one in (path, os.path.realpath(path))):
        yield folder
        mounted = mounted_in(folder)
        for one in entries(folder):
            if one.is_dir():
                yield from _below([one.path])
            elif one.name.endswith((".py", ".pyc", ".so", ".zip")) and looks_weak(one, mounted):
                yield one.path


def _modules_of(folder: str) -> Iterator[str]:
    """The modules of a folder that a script adds to where Python looks for them, and its packages."""
    mounted = mounted_in(folder)
    for one in entries(folder):
        if one.is_dir():
            yield from _below([one.path]) if os.path.isfile(os.path.join(one.path, "__init__.py")) else ()
        elif one.name.endswith((".py", ".pyc", ".so", ".zip", ".pm", ".pl")) and looks_weak(one, mounted):
            yield one.path


def _below(folders: Collection[str]) -> Iterator[str]:
    seen: set[str] = set()
    for folder in folders:
        yield folder
        yield from doubtful_below(folder, seen)

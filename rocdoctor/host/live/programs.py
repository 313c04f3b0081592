"""Which program and which interpreter a question means, and as whom we ask."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from rocdoctor.host.base import NEW_ENVIRONMENT
from rocdoctor.host.live.accounts import account, expanded
from rocdoctor.host.live.code_read import CodeReader
from rocdoctor.host.live.patience import RUN, each_within, tell, within
from rocdoctor.host.live.scripts import is_program
from rocdoctor.host.live.trust import privileged, weak, weaknesses
from rocdoctor.host.live.trusted_content import weak_libraries, weak_packages, weak_user_site
from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.text import whole_number

_MOST_ID = 2**32 - 2  # the next number means "as it is"
# Vendor tools are often installed where PATH does not lead.
_VENDOR_DIRECTORIES = (
    "/opt/rocm/bin",
    "/opt/rocm/core/bin",
    "/usr/sbin",
    "/sbin",
    "/usr/local/cuda/bin",
    "/usr/lib/wsl/lib",
)


def invoking_user() -> tuple[str, int, int] | None:
    """(name, uid, gid) of the person who called sudo; None when we do not run as root through sudo."""
    name = os.environ.get("SUDO_USER", "")
    uid, gid = (whole_number(os.environ.get(key), _MOST_ID) for key in ("SUDO_UID", "SUDO_GID"))
    if not hasattr(os, "geteuid") or os.geteuid() != 0 or not name or uid is None or gid is None:
        return None
    return (name, uid, gid) if uid != 0 else None


def _of_path() -> tuple[str, ...]:
    """The folders of PATH, then those of vendors whose names are known."""
    found = [part for part in os.environ.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(part)]
    return tuple(dict.fromkeys([*found, *_VENDOR_DIRECTORIES]))


def _offered() -> tuple[str, ...]:
    """The folders where a program may lie: those of PATH, then the vendors'."""
    found = sorted((str(path) for path in Path("/opt").glob("rocm*/bin")), reverse=True)
    return tuple(dict.fromkeys([*_of_path(), *found]))


# A folder of programs that does not show within this time lies on a file system that hangs.
_FOLDER_S = 1.0
_silent: dict[str, float] = {}  # folders of programs that do not answer, and within how long
_answering: list[str] = []  # the others, whoever can change them
_looking = threading.Lock()


def program_folders() -> tuple[str, ...]:
    """Where programs are taken from; one look for all that begin at once."""
    with _looking:
        return _directories()


@cache
def _directories() -> tuple[str, ...]:
    """Those of the folders that are there for us, and that answer at all: one on a dead server must not hold tools."""
    limit_s = folder_s()
    offered = within(limit_s, _offered)
    folders = offered[0] if offered else _of_path()
    weak_folder = weak if privileged() else lambda _: ""

    def look(folder: str) -> bool:
        os.path.lexists(os.path.join(folder, "python3"))  # as each program that is looked for
        return not weak_folder(folder)

    found = dict(zip(folders, each_within(limit_s, folders, look), strict=True))
    late = [*([] if offered else ["/opt"]), *(one for one in folders if found[one] is None)]
    _silent.clear()
    _silent.update(dict.fromkeys(late, limit_s))
    RUN.silent.update(dict.fromkeys(late))
    _answering[:] = [one for one in folders if found[one] is not None]
    return tuple(one for one in folders if found[one])


def silent() -> tuple[str, ...]:
    """The folders of programs that do not answer, as far as somebody has looked."""
    return tuple(_silent)


def silence() -> str:
    """Why a program may be there although it was not found; "" where every folder answers."""
    return next((f"it was not found, and {one} gave no answer within {s:g}s" for one, s in _silent.items()), "")


def folder_s() -> float:
    """How long a folder is waited for: a part of the deadline that a program has, and little where something hangs."""
    return min(_FOLDER_S, RUN.whole_s / 4, RUN.limit_s(""))


@cache
def dead(folder: str) -> bool:
    """Whether a folder gives no answer; what is looked up in it would hang whatever does that."""
    return not RUN.answers(folder, lambda: os.path.lexists(os.path.join(folder, "python3")), folder_s())


@cache
def find_program(name: str) -> str | None:
    """The full path of a program: the user's PATH, then the vendors' folders; as root only what root alone can change.

    ``refusal`` tells why there is none although one is there.
    """
    if os.path.isabs(name):
        return name if is_program(name) and not _weak_program(name) else None
    for directory in program_folders():
        path = os.path.join(directory, name)
        if is_program(path) and not _weak_program(path):
            return path
    return None


def find_helper(name: str) -> str | None:
    """A program of the user's own, such as a pager, by PATH alone; as root as ``find_program`` has it."""
    return find_program(name) if privileged() else shutil.which(name)


def _weak_program(path: str) -> str:
    """Why root does not run a program: somebody else can change it, or what it reads or starts."""
    if not privileged():
        return ""
    try:
        found = _code().weak(path)
    except OSError as error:
        return f"{error.filename or path}: {error.strerror}"
    if not found or weaknesses(path):
        return str(found[0]) if found else ""
    return f"it reads or starts what others can change: {found[0]}"


@cache
def _code() -> CodeReader:
    return CodeReader(program_folders(), step=tell)


def refusal(name: str) -> str:
    """Why root does not run a program that is there; "" where there is none."""
    if not privileged():
        return ""
    program_folders()
    places = [name] if os.path.isabs(name) else [os.path.join(folder, name) for folder in _answering]
    for path in places:
        if is_program(path) and (why := _weak_program(path) or ("" if path == name else weak(os.path.dirname(path)))):
            return f"root does not run {path}: {why}"
    return ""


def _from_here(path: str) -> str:
    """A path as an absolute one. The working folder may be gone: what is absolute does not need it."""
    if os.path.isabs(path):
        return path
    try:
        return os.path.join(os.getcwd(), path)
    except FileNotFoundError:
        return path


def weak_code(path: str) -> str:
    """Why root runs nothing that settings name there; "" where nobody else can change it, what it reads, or make it."""
    return weak(path, missing_ok=True) or refusal(path)


def find_interpreter(which: str | None) -> str | None:
    """The interpreter to examine: the given one, the active environment's, that of set-up, else ``python3`` on PATH.

    Its path is absolute, since children start in another folder. A bare name is looked for on PATH, as a shell does,
    then here. The environment that rocdoctor itself was installed into counts as the user's only when it is the active
    one. Whether it may be run is not judged here (``interpreter.py``).
    """
    if which:
        path = Path(_from_here(expanded(which)))
        if path.is_dir():
            path = path / "bin" / "python"
        elif os.sep not in which and (found := _on_path(which)):
            return found
        return str(path) if is_program(str(path)) else None
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        prefix = os.environ.get(variable)
        if prefix and is_program(found := os.path.join(_from_here(prefix), "bin", "python")):
            return found
    made = expanded(f"{NEW_ENVIRONMENT}/bin/python")
    # A home may lie on a server that is gone.
    if os.path.isabs(made) and not dead(os.path.dirname(made)) and is_program(made):
        return made
    return _on_path("python3") or _on_path("python")


def own_environment_with_torch() -> str:
    """The virtual environment that rocdoctor itself runs in, where torch is installed in it; else ""."""
    if sys.prefix == sys.base_prefix:
        return ""
    import sysconfig

    there = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    return sys.prefix if any(os.path.isfile(os.path.join(one, "torch", "__init__.py")) for one in there) else ""


def interpreter_named(which: str | None) -> str:
    """The interpreter that the user means, as a path to name it by; nothing is looked at."""
    prefix = os.environ.get("VIRTUAL_ENV") or os.environ.get("CONDA_PREFIX")
    if which or not prefix:
        return _from_here(expanded(which)) if which and os.sep in which else which or "python3"
    return os.path.join(_from_here(prefix), "bin", "python")


def _on_path(name: str) -> str | None:
    """A program of the folders that we take programs from, whoever can change the program itself."""
    return next((path for folder in program_folders() if is_program(path := os.path.join(folder, name))), None)


# -- what children are told

_PLAIN = {"LC_ALL": "C", "LANG": "C", "NO_COLOR": "1", "PAGER": "cat", "SYSTEMD_PAGER": "cat"}
# What vendors' tools and torch obey and what is no code: which GPUs, as which they count, how memory is shared. None
# is a secret: another user's program gets them too.
_SETTINGS = regex(
    r"(?:(?:HIP|ROCR|CUDA)_VISIBLE_DEVICES|GPU_DEVICE_ORDINAL|CUDA_DEVICE_ORDER|HSA_OVERRIDE_GFX_VERSION(?:_\d{1,3})?"
    r"|HSA_XNACK|HSA_ENABLE_\w{1,40}|ROCDOCTOR_(?!\w{0,40}KEY)\w{1,40})\Z"
)
_SETTING = regex(r"[\w.,:;+-]{0,1024}\Z")
_ZONE = regex(r"[A-Za-z][\w+-]{0,31}(?:/[A-Za-z][\w+-]{0,31}){0,2}\Z")
# Where something lies that a tool needs; of value for root only where root alone can change it. LD_LIBRARY_PATH is
# among them since containers of Kubernetes have the driver's libraries where nothing else leads.
_PLACES = ("ROCM_PATH", "ROCM_HOME", "HIP_PATH", "CUDA_HOME", "CUDA_PATH", "SLURM_CONF", "LD_LIBRARY_PATH")
# What decides, beside these, which packages an interpreter finds.
_OF_PYTHON = ("PYTHONPATH", "PYTHONNOUSERSITE", "PYTHONUSERBASE", "VIRTUAL_ENV", "CONDA_PREFIX", "PYENV_ROOT")
# Variables that are code, or change what commands in code mean.
_CODE = regex(
    r"LD_(?!LIBRARY_PATH\Z)|BASH_|PERL|RUBY|LUA_|GCONV_|GLIBC_|MALLOC_|GIT_"
    r"|(?:ENV|IFS|PS4|SHELLOPTS|BASHOPTS|CDPATH|GLOBIGNORE|LOCPATH|NLSPATH|HOSTALIASES|TZDIR)\Z"
    r"|PYTHON(?:STARTUP|INSPECT|BREAKPOINT|WARNINGS|HOME|EXECUTABLE|PLATLIBDIR)\Z"
)
# Programs look below their home for start-up files, plug-ins and packages, which the tools that we ask do not need.
NO_HOME = "/nonexistent"
# Where programs make new files only; in the other places they look for names.
_TEMPORARY = ("TMPDIR", "TEMP", "TMP")
_BETWEEN = regex(r"[:,;=|<>()'\"\s]")
_MAX_SLASHES = 64


@cache
def child_environment() -> dict[str, str]:
    """The environment for programs: the user's own, with plain English output and no colours or pagers.

    Root's programs get one from scratch: folders that root alone can change, and settings that are no code.
    """
    if not privileged():
        return {**_without_dead(os.environ), **_PLAIN}
    return {
        **{name: value for name, value in _settings().items() if name not in _OF_PYTHON},
        **_trusted_places(),
        "PATH": os.pathsep.join(program_folders()),
        "HOME": NO_HOME,
        "USER": "root",
        "LOGNAME": "root",
        **_PLAIN,
    }


def interpreter_environment(base: Mapping[str, str]) -> dict[str, str]:
    """The environment for an interpreter under test, which is under test as well: as it is.

    As root without what is code, and without each path that somebody else can change: it could lead to code.
    """
    base = _without_dead(base)
    if not privileged():
        return dict(base)
    found: dict[str, str] = {}
    for name, value in base.items():
        if _CODE.match(name) or "()" in value[:4]:
            continue
        if name.endswith("PATH") or (value[:1] == "/" and os.pathsep in value):
            kept = [part for part in value.split(os.pathsep) if os.path.isabs(part) and not _weak_folder(name, part)]
            if kept or name == "PATH":
                found[name] = os.pathsep.join(kept)
        elif not any(_weak_place(path, name in _TEMPORARY) for path in _in_value(value)):
            found[name] = value
    found.setdefault("PATH", os.pathsep.join(program_folders()))
    found.setdefault("HOME", root_home())
    return {**found, **_without_user_site(found)}


def _without_dead(base: Mapping[str, str]) -> dict[str, str]:
    """The variables without folders that give no answer: what starts with them would hang before its first step.

    Home is tried only where something has hung already, since it is the first place that is looked into (checks).
    """
    found = dict(base)
    for name in ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH"):
        parts = base.get(name, "").split(os.pathsep)
        kept = [
            one for one in parts if one not in _silent and not (os.path.isabs(one) and name != "PATH" and dead(one))
        ]
        if len(kept) < len(parts):
            found[name] = os.pathsep.join(kept)
    if RUN.sick and os.path.isabs(home := base.get("HOME", "")) and dead(home):
        found.update(HOME=NO_HOME, PYTHONNOUSERSITE="1")
    return found


def _without_user_site(variables: Mapping[str, str]) -> dict[str, str]:
    """What keeps Python from a folder of packages in root's home that somebody else can change."""
    base = variables.get("PYTHONUSERBASE") or os.path.join(variables["HOME"], ".local")
    return {"PYTHONNOUSERSITE": "1"} if _weak_content(weak_user_site, base) else {}


def _weak_folder(name: str, path: str) -> bool:
    """Whether somebody else can change a folder of a list, or what is loaded from it."""
    if _weak_place(path):
        return True
    if name == "PYTHONPATH":
        return _weak_content(weak_packages, path)
    return name == "LD_LIBRARY_PATH" and _weak_content(weak_libraries, path)


def _weak_content(judge: Callable[[str, float], bool], folder: str) -> bool:
    """Whether what lies in a folder is weak, or hangs, or is more than can be looked through in that time."""
    if dead(folder):
        return True
    limit_s = folder_s()
    found = within(2 * limit_s, lambda: judge(folder, time.monotonic() + limit_s))
    return not found or found[0]


def _in_value(value: str) -> list[str]:
    """What may be absolute paths in a value: where a sign or an option stands before a slash, from each slash on."""
    found: list[str] = []
    for word in (one for one in _BETWEEN.split(value) if "/" in one):
        starts = [0] if word[0] == "/" else [at for at, sign in enumerate(word) if sign == "/"]
        found += [word[at:] for at in starts] if len(starts) <= _MAX_SLASHES else ["/\0"]  # as good as weak
        if word[0] not in "/-":  # our children start in the root folder; and some programs know ~NAME
            found.append(expanded(word) if word[0] == "~" else f"/{word}")
    return found


def environment_of(name: str, home: str) -> dict[str, str]:
    """The environment for an interpreter that root runs as another user, who can read it: no secrets of root's."""
    subject = {one: os.environ[one] for one in (*_PLACES, *_OF_PYTHON) if one in os.environ}
    path = os.pathsep.join(program_folders())
    return {**_settings(), **subject, "PATH": path, "HOME": home, "USER": name, "LOGNAME": name, **_PLAIN}


def root_home() -> str:
    """Root's own home as the accounts have it, whatever HOME says; the root folder where others can change that."""
    try:
        home = account(0).pw_dir
    except (ImportError, KeyError):
        home = "/root"
    return home if os.path.isabs(home) and not _weak_place(home) else "/"


def _settings() -> dict[str, str]:
    found = {name: value for name, value in os.environ.items() if _SETTINGS.match(name) and _SETTING.match(value)}
    zone = os.environ.get("TZ", "")
    return {**found, **({"TZ": zone} if _ZONE.match(zone) else {})}


def _trusted_places() -> dict[str, str]:
    """Those of _PLACES that root alone can change; of a list of folders, those folders."""
    found = {}
    for name in _PLACES:
        parts = [part for part in os.environ.get(name, "").split(os.pathsep) if os.path.isabs(part)]
        if kept := [part for part in parts if not _weak_folder(name, part)]:
            found[name] = os.pathsep.join(kept)
    return found


def _weak_place(path: str, sticky_ok: bool = False) -> bool:
    """Whether somebody else can change what lies there, or make it."""
    try:
        return bool(weaknesses(path, missing_ok=True, sticky_ok=sticky_ok))
    except (OSError, ValueError):
        return True

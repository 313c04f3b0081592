"""What lies in folders and what files name, where it runs as code: whether root alone can change that too.

``trust.py`` judges one path; a folder of libraries or packages is as weak as the weakest file that is loaded from it, a
script as weak as the program that its first line names.
"""

from __future__ import annotations

import errno
import glob
import os
import re
import stat
from collections.abc import Collection, Iterator

from rocdoctor.host.live.trust import weaknesses

# More than the largest environments hold; a link may lead anywhere.
_MOST_FILES = 1_000_000
_FIRST_LINE = 256  # of a script, as the kernel reads it (BINPRM_BUF_SIZE of include/uapi/linux/binfmts.h)
_MOST_READERS = 5  # of a script that another script reads: as many as the kernel follows, and one more
_PYTHON = re.compile(r"python[\d.]*\Z")
_VALUE = re.compile(r"\w+=")


# -- folders


def doubtful_below(folder: str, seen: set[str], skipped: tuple[str, ...] = ()) -> Iterator[str]:
    """All that lies in a folder and below, also behind links, and is worth a judgement: each folder once.

    ``skipped``: endings of files that do not count. Raises OSError where there are too many.
    """
    todo = [os.path.realpath(folder)]
    files = 0
    while todo:
        real = todo.pop()
        if real in seen:
            continue
        seen.add(real)
        found = entries(real)
        files += len(found)
        if files > _MOST_FILES:
            raise OSError(errno.E2BIG, "holds too many files to be looked through", folder)
        for one in found:
            if one.is_dir(follow_symlinks=False):
                todo.append(one.path)
            elif skipped and one.name.endswith(skipped) and not one.is_symlink():
                continue
            elif one.is_symlink():
                todo.append(os.path.realpath(one.path))
            if looks_weak(one):
                yield one.path


def doubtful_in(folder: str) -> Iterator[str]:
    """The same of the files of one folder, which a loader looks up by name."""
    for one in entries(folder):
        if looks_weak(one) and not (one.is_symlink() and os.sep not in os.readlink(one.path)):  # its target is in here
            yield one.path


def entries(folder: str) -> list[os.DirEntry[str]]:
    """What lies in a folder; nothing where it cannot be read."""
    try:
        with os.scandir(folder) as found:
            return list(found)
    except OSError:
        return []


def looks_weak(entry: os.DirEntry[str]) -> bool:
    """Whether it is worth a judgement: a link, of another owner, or with others who may write."""
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError:
        return True
    return stat.S_ISLNK(status.st_mode) or status.st_uid != 0 or bool(status.st_mode & 0o022)


def weak_libraries(folder: str) -> bool:
    """Whether somebody else can change a file that stands in a folder of libraries."""
    return _any_weak(doubtful_in(folder))


def weak_packages(folder: str) -> bool:
    """Whether somebody else can change anything in a folder of Python packages."""
    return _any_weak(doubtful_below(folder, set()))


def weak_user_site(base: str) -> bool:
    """Whether somebody else can change what Python imports from below a folder such as ~/.local, or make it."""
    found = glob.glob(f"{glob.escape(base)}/lib/python3*/site-packages")
    return any(_any_weak(iter([one])) or weak_packages(one) for one in found)


def _any_weak(places: Iterator[str]) -> bool:
    try:
        return any(weaknesses(one, missing_ok=True) for one in places)
    except OSError:
        return True


# -- scripts


def readers(path: str, folders: Collection[str]) -> list[str]:
    """What reads a script by its first line, and what reads that: absolute paths; [] for other programs.

    What else the line names by a path is among them: a script for the program, and folders in which ``env`` looks names
    up instead of ``folders``.
    """
    found: list[str] = []
    while len(found) < _MOST_READERS and (named := _named(found[-1] if found else path, folders)):
        found += named
    return found


def is_python(path: str) -> bool:
    """Whether a program is a Python by its name."""
    return _PYTHON.match(os.path.basename(path)) is not None


def _named(path: str, folders: Collection[str]) -> list[str]:
    """What the first line of a script names by a path, the program that reads it at the end; [] for none."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as stream:
            line = stream.read(_FIRST_LINE).partition(b"\n")[0]
    except OSError:
        return []
    words = os.fsdecode(line[2:]).split() if line.startswith(b"#!") else []
    if not words:
        return []
    if os.path.basename(words[0]) != "env" or len(words) == 1:
        return [*(one for one in words[1:] if os.path.isabs(one)), os.path.join("/", words[0])]
    given = [one.removeprefix("-S") for one in words[1:]]
    values = dict(one.split("=", 1) for one in given if _VALUE.match(one))
    parts = [*given, *(one for value in values.values() for one in value.split(os.pathsep))]
    places = [one for one in parts if os.path.isabs(one)]
    folders = [os.path.join("/", one) for one in values["PATH"].split(os.pathsep)] if "PATH" in values else folders
    name = next((one for one in given if one and not one.startswith("-") and not _VALUE.match(one)), "")
    if os.sep in name:
        return [*places, os.path.join("/", name)]
    looked = (os.path.join(folder, name) for folder in folders if name)
    return [*places, *[one for one in looked if is_program(one)][:1]]


def is_program(path: str) -> bool:
    """Whether there is a file that we may run."""
    return os.path.isfile(path) and os.access(path, os.X_OK)

"""What lies in folders, where it runs as code: whether root alone can change that too.

``trust.py`` judges one path; a folder of libraries or packages is as weak as the weakest file that is loaded from it.
"""

from __future__ import annotations

import errno
import math
import os
import stat
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from rocdoctor.host.live.folder_names import TooManyNamesError, entries_of, matching
from rocdoctor.host.live.trust import mounted_in, weaknesses

# More than the largest environments hold; a link may lead anywhere.
_MOST_FILES = 1_000_000


@dataclass(slots=True)
class Looked:
    """How many files were looked at, over several folders that count as one."""

    files: int = 0


ALL = Looked()
"""Over this whole run: whoever waits for a judgement sees by it whether that goes on."""


def doubtful_below(
    folder: str,
    seen: set[str],
    skipped: tuple[str, ...] = (),
    until: float = math.inf,
    looked: Looked | None = None,
) -> Iterator[str]:
    """All that lies in a folder and below, also behind links, and is worth a judgement: each folder once.

    ``skipped``: endings of files that do not count, such as headers, nor do folders of these; ``looked``: the
    count goes on there. Raises OSError where there are too many, or at ``until``.
    """
    todo = [os.path.realpath(folder)]
    looked = looked or Looked()
    again = True
    while todo:
        real = todo.pop()
        if real in seen:
            continue
        seen.add(real)
        if time.monotonic() > until:
            raise OSError(errno.E2BIG, "holds too many files to be looked through", folder)
        mounted = mounted_in(real, again)
        again = False
        for one in entries(real):
            looked.files += 1
            if skipped and one.name.endswith(skipped) and one.is_file(follow_symlinks=False):
                continue
            if skipped and one.name == "include" and one.is_dir(follow_symlinks=False):
                continue
            try:  # as looks_weak does: there may be a hundred thousand
                status = one.stat(follow_symlinks=False)
            except OSError:
                yield one.path
                continue
            mode = status.st_mode
            if stat.S_ISDIR(mode):
                todo.append(one.path)
            elif stat.S_ISLNK(mode):
                todo.append(os.path.realpath(one.path))
                yield one.path
                continue
            if status.st_uid != 0 or mode & 0o022 or one.name in mounted:
                yield one.path
        if looked.files > _MOST_FILES:
            raise OSError(errno.E2BIG, "holds too many files to be looked through", folder)


def doubtful_in(folder: str) -> Iterator[str]:
    """The same of the files of one folder, which a loader looks up by name."""
    mounted = mounted_in(folder)
    for one in entries(folder):
        inside = one.is_symlink() and os.sep not in os.readlink(one.path)  # then its target is judged here too
        if not inside and looks_weak(one, mounted):
            yield one.path


def entries(folder: str) -> list[os.DirEntry[str]]:
    """What lies in a folder; nothing where it cannot be read. Raises OSError where that is too much to be held."""
    try:
        found = entries_of(folder)
    except TooManyNamesError:
        ALL.files += 1
        raise
    except OSError:
        return []
    ALL.files += len(found) + 1
    return found


def looks_weak(entry: os.DirEntry[str], mounted: Collection[str]) -> bool:
    """Whether it is worth a judgement: a link, of another owner, with others who may write, or of ``mounted_in``."""
    if entry.name in mounted:
        return True
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError:
        return True
    return stat.S_ISLNK(status.st_mode) or status.st_uid != 0 or bool(status.st_mode & 0o022)


def weak_libraries(folder: str, until: float) -> bool:
    """Whether somebody else can change a file that stands in a folder of libraries, or it is not known by then."""
    try:
        places = [folder, *matching("glibc-hwcaps/*", folder)]
    except TooManyNamesError:
        return True
    return any(time.monotonic() > until or _any_weak(iter([one])) or _any_weak(doubtful_in(one)) for one in places)


def weak_packages(folder: str, until: float) -> bool:
    """Whether somebody else can change anything in a folder of Python packages, or it is not known by then."""
    return _any_weak(doubtful_below(folder, set(), until=until))


def weak_user_site(base: str, until: float) -> bool:
    """Whether somebody else can change what Python imports from below a folder such as ~/.local, or make it."""
    try:
        found = matching("lib/python3*/site-packages", base)
    except TooManyNamesError:
        return True
    return any(_any_weak(iter([one])) or weak_packages(one, until) for one in found)


def _any_weak(places: Iterator[str]) -> bool:
    try:
        return any(weaknesses(one, missing_ok=True) for one in places)
    except OSError:
        return True

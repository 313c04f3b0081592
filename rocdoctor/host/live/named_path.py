"""Going to a file or folder that somebody names, one component at a time: what is opened is what was judged.

Root follows no link of another user, who could lead it anywhere: links are root's own or, under sudo, the caller's, who
may name any file anyway. Folders on the way may be anybody's, since each is held open while the next is looked up.
Without rights of root paths are the kernel's business, and only the kind of what is opened is looked at.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from pathlib import Path

from rocdoctor.host.live.trust import name_of, owner_of, privileged

_CLOEXEC = getattr(os, "O_CLOEXEC", 0)
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_NAMED = getattr(os, "O_PATH", 0) | _NOFOLLOW | _CLOEXEC
READING = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | _CLOEXEC
_MAX_LINKS = 40


def walks() -> bool:
    """Whether paths are gone here and not by the kernel."""
    return hasattr(os, "O_PATH") and privileged()


def open_named(path: Path) -> int:
    """A regular file or a folder, opened for reading without waiting.

    Raises:
        OSError: it is neither (EINVAL), there is none, or it is not gone to; the message says why.
    """
    if not walks():
        _readable(os.stat(path), path)  # a device may do something when it is opened
        return _checked(os.open(path, READING), path)
    named = _gone_to(path, "file or folder")
    try:
        _readable(os.fstat(named), path)
        with contextlib.suppress(FileNotFoundError):  # a bare root without /proc
            return os.open(f"/proc/self/fd/{named}", READING)  # this very one, whatever has its name by now
        return _opened_by_name(path, named)
    finally:
        os.close(named)


def _opened_by_name(path: Path, named: int) -> int:
    """The file that was gone to, opened by its name in its folder; an OSError where that has become another one."""
    if stat.S_ISDIR(os.fstat(named).st_mode):
        return os.open(".", READING, dir_fd=named)
    folder = _gone_to(path.parent, "folder")
    try:
        opened = os.open(path.name, READING | _NOFOLLOW, dir_fd=folder)
    finally:
        os.close(folder)
    if os.path.sameopenfile(opened, named):
        return opened
    os.close(opened)
    raise OSError(errno.ESTALE, "another file was put in its place", str(path))


def open_folder(path: Path, make: bool = False) -> int:
    """A folder, as root by a descriptor that only names it; ``make`` makes what is missing. Raises OSError."""
    named = _gone_to(path, "folder", make)
    if not stat.S_ISDIR(os.fstat(named).st_mode):
        os.close(named)
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
    return named


def _readable(status: os.stat_result, path: Path) -> None:
    if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
        raise OSError(errno.EINVAL, "not a regular file", str(path))


def _checked(descriptor: int, path: Path) -> int:
    try:
        _readable(os.fstat(descriptor), path)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _gone_to(path: Path, what: str, make: bool = False) -> int:
    """What a path leads to, by a descriptor that only names it."""
    from rocdoctor.host.live.programs import invoking_user

    caller = invoking_user()
    owners = {0} if caller is None else {0, caller[1]}
    todo = list(reversed(str(path).split("/")))
    here = os.open("/" if path.is_absolute() else ".", _NAMED)
    links = 0
    try:
        while todo:
            part = todo.pop()
            if part in ("", "."):
                continue
            there = _component(part, here, make)
            try:
                status = os.fstat(there)
                if not stat.S_ISLNK(status.st_mode):
                    here, there = there, here
                    continue
                links += 1
                if (owner := owner_of(status, there)) not in owners:
                    who = f"user {owner}" if owner >= 0 else name_of(owner)
                    why = f"'{part}' on the way is a symbolic link of {who}, which root does not follow"
                    raise OSError(errno.EPERM, f"{why}: name the {what} that it leads to", str(path))
                if links > _MAX_LINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
                target = os.readlink("", dir_fd=there)  # of this very link
                if _of_the_kernel(status):  # /proc/N/root means another root than ours: its words lead elsewhere
                    os.close(there)
                    there = os.open(part, _NAMED & ~_NOFOLLOW, dir_fd=here)
                    here, there = there, here
                    continue
            finally:
                os.close(there)
            todo += reversed(target.split("/"))
            if target.startswith("/"):
                os.close(here)
                here = os.open("/", _NAMED)
    except BaseException:
        os.close(here)
        raise
    return here


def _component(part: str, folder: int, make: bool) -> int:
    try:
        return os.open(part, _NAMED, dir_fd=folder)
    except FileNotFoundError:
        if not make:
            raise
    with contextlib.suppress(FileExistsError):
        os.mkdir(part, dir_fd=folder)
    return os.open(part, _NAMED, dir_fd=folder)


def _of_the_kernel(status: os.stat_result) -> bool:
    """Whether a link is one of /proc, of which nobody can make any."""
    with contextlib.suppress(OSError):
        return status.st_dev == os.stat("/proc/self/").st_dev and os.path.ismount("/proc")
    return False

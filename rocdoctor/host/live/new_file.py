"""Writing a file: whole or not at all, through no link, and over another one only where that was asked for."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

from rocdoctor.host.live.trust import privileged

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
# File systems without hard links (FAT, some network and container ones) say one of these.
_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EACCES, errno.EXDEV, errno.EMLINK}
_NAMED = getattr(os, "O_PATH", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_MAX_LINKS = 40


@contextlib.contextmanager
def folder_for(path: Path, make: bool = False) -> Iterator[int | None]:
    """A descriptor of the folder for ``write_new``, None where its path serves as well; ``make`` makes what is missing.

    Root goes there one component at a time and follows no link of another user, who could lead it anywhere: links are
    root's own or, under sudo, the caller's, who may name any folder anyway. Folders on the way may be anybody's.

    Raises:
        OSError: there is none, or it is not gone to; the message says why.
    """
    if not hasattr(os, "O_PATH") or not privileged():
        if make:
            path.mkdir(parents=True, exist_ok=True)
        yield None
        return
    descriptor = _gone_to(path, make)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _gone_to(path: Path, make: bool) -> int:
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
            try:
                there = os.open(part, _NAMED, dir_fd=here)
            except FileNotFoundError:
                if not make:
                    raise
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, dir_fd=here)
                there = os.open(part, _NAMED, dir_fd=here)
            status = os.fstat(there)
            if not stat.S_ISLNK(status.st_mode):
                os.close(here)
                here = there
                continue
            try:
                if status.st_uid not in owners:
                    why = f"'{part}' on the way is a symbolic link of user {status.st_uid}, which root does not follow"
                    raise OSError(errno.EPERM, f"{why}: name the folder that it leads to", str(path))
                target = os.readlink("", dir_fd=there)  # of this very link, whatever has its name by now
            finally:
                os.close(there)
            links += 1
            if links > _MAX_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
            todo += reversed(target.split("/"))
            if target.startswith("/"):
                os.close(here)
                here = os.open("/", _NAMED)
        if not stat.S_ISDIR(os.fstat(here).st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
    except BaseException:
        os.close(here)
        raise
    return here


def write_new(path: Path, data: bytes, mode: int = 0o600, replace: bool = False, folder: int | None = None) -> None:
    """Create the file with ``mode``, whatever the umask says; ``replace`` puts it in the place of another one.

    The data goes to a file beside it first, which then gets the name at once, so what interrupts the writing (a full
    disk, Ctrl-C) leaves nothing behind and nobody sees half of it. ``folder`` is a descriptor of the folder (from
    ``folder_for``), which then counts instead of the path to it.

    Raises:
        FileExistsError: there is something of that name, be it a link that leads nowhere (never with ``replace``).
        OSError: it cannot be written.
    """
    name = path if folder is None else Path(path.name)
    if not replace and _stands(name, folder):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
    beside = name.with_name(f".{name.name[:100]}.{secrets.token_hex(6)}")
    try:
        _write(beside, data, mode, folder)
        if replace:
            os.replace(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
            return
        try:
            os.link(beside, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
        except (OSError, NotImplementedError) as error:
            if isinstance(error, FileExistsError) or getattr(error, "errno", errno.ENOSYS) not in _NO_LINKS:
                raise
            _write_in_place(name, data, mode, folder)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(beside, dir_fd=folder)


def _stands(name: Path, folder: int | None) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return False
    return True


def _write(path: Path, data: bytes, mode: int, folder: int | None) -> None:
    descriptor = os.open(path, _FLAGS, 0o600, dir_fd=folder)
    try:
        if mode != 0o600:
            os.fchmod(descriptor, mode)
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_in_place(path: Path, data: bytes, mode: int, folder: int | None) -> None:
    try:
        _write(path, data, mode, folder)
    except FileExistsError:
        raise
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(path, dir_fd=folder)
        raise

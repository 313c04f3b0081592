"""Writing a file: whole or not at all, through no link, and over another one only where that was asked for."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from rocdoctor.host.live.named_path import open_folder, walks

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
# File systems without hard links (FAT, some network and container ones) say one of these.
_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EACCES, errno.EXDEV, errno.EMLINK}


@contextlib.contextmanager
def folder_for(path: Path, make: bool = False) -> Iterator[int | None]:
    """A descriptor of the folder for ``write_new``, None where its path serves as well; ``make`` makes what is missing.

    Root goes there one component at a time (``named_path.py``).

    Raises:
        OSError: there is none, or it is not gone to; the message says why.
    """
    if not walks():
        if make:
            path.mkdir(parents=True, exist_ok=True)
        yield None
        return
    descriptor = open_folder(path, make)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def write_new(path: Path, data: bytes, mode: int = 0o600, replace: bool = False, folder: int | None = None) -> None:
    """Create the file with ``mode``, whatever the umask says; ``replace`` puts it in the place of another one.

    The data goes to a file beside it first, which then gets the name at once, so what interrupts the writing (a full
    disk, Ctrl-C) leaves nothing behind and nobody sees half of it. ``folder`` is a descriptor of the folder (from
    ``folder_for``), which then counts instead of the path to it; what has the name in the end is the file written here.

    Raises:
        FileExistsError: there is something of that name, be it a link that leads nowhere (never with ``replace``).
        OSError: it cannot be written.
    """
    name = path if folder is None else Path(path.name)
    if not replace and _stands(name, folder):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
    beside = name.with_name(f".{name.name[:100]}.{secrets.token_hex(6)}")
    try:
        with contextlib.ExitStack() as kept:
            written = _write(beside, data, mode, folder)
            if folder is None:
                os.close(written)
            else:  # open, so that no other file gets its number
                kept.callback(os.close, written)
            if replace:
                os.replace(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
            else:
                try:
                    os.link(beside, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
                except (OSError, NotImplementedError) as error:
                    if isinstance(error, FileExistsError) or getattr(error, "errno", errno.ENOSYS) not in _NO_LINKS:
                        raise
                    _write_in_place(name, data, mode, folder)
                    return
            if folder is not None and not _is_it(written, name, folder):
                raise OSError(errno.ESTALE, "another file was put in its place", str(path))
    finally:
        with contextlib.suppress(OSError):
            os.unlink(beside, dir_fd=folder)


def _is_it(descriptor: int, name: Path, folder: int) -> bool:
    """Whether a name stands for the open file: who owns the folder may have exchanged what was to get the name."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(name, dir_fd=folder, follow_symlinks=False))
    except FileNotFoundError:
        return False


def _stands(name: Path, folder: int | None) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return False
    return True


def _write(path: Path, data: bytes, mode: int, folder: int | None) -> int:
    """Write a new file, and return its descriptor."""
    descriptor = os.open(path, _FLAGS, 0o600, dir_fd=folder)
    try:
        if mode != 0o600:
            os.fchmod(descriptor, mode)
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        os.fsync(descriptor)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _write_in_place(path: Path, data: bytes, mode: int, folder: int | None) -> None:
    try:
        os.close(_write(path, data, mode, folder))
    except FileExistsError:
        raise
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(path, dir_fd=folder)
        raise

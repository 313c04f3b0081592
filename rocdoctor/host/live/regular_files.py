"""Reading files that somebody names: regular files alone, bounded, never waiting for a FIFO or a device."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

READING = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


def read_regular(path: Path, most_bytes: int) -> bytes:
    """The content of a regular file; OSError for anything else, EFBIG for one of more than ``most_bytes``.

    It is opened without waiting, since a FIFO would wait for its writer for ever.
    """
    return read_opened(os.open(path, READING), path, most_bytes)


def read_opened(descriptor: int, path: Path, most_bytes: int) -> bytes:
    """As ``read_regular``, of what was opened already (with ``READING``) and is closed here."""
    with open(descriptor, "rb") as stream:
        kind = os.fstat(descriptor)
        if stat.S_ISDIR(kind.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(kind.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        content = stream.read(most_bytes + 1)
    if len(content) > most_bytes:
        raise OSError(errno.EFBIG, f"larger than {most_bytes} bytes", str(path))
    return content

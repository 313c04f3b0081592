"""Reading files that somebody names: regular files alone, bounded, never waiting for a FIFO or a device."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import IO

from rocdoctor.host.live.named_path import READING, open_named

__all__ = ["READING", "open_regular", "read_opened", "read_regular"]


def open_regular(path: Path) -> IO[bytes]:
    """A regular file, opened for reading: never one that waits, as a FIFO does for its writer; OSError for others."""
    return _regular(open_named(path), path)


def read_regular(path: Path, most_bytes: int) -> bytes:
    """The content of a regular file; OSError for anything else, EFBIG for one of more than ``most_bytes``."""
    return read_opened(open_named(path), path, most_bytes)


def read_opened(descriptor: int, path: Path, most_bytes: int) -> bytes:
    """As ``read_regular``, of what was opened already (with ``READING``) and is closed here."""
    with _regular(descriptor, path) as stream:
        content = stream.read(most_bytes + 1)
    if len(content) > most_bytes:
        raise OSError(errno.EFBIG, f"larger than {most_bytes} bytes", str(path))
    return content


def _regular(descriptor: int, path: Path) -> IO[bytes]:
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return open(descriptor, "rb")
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    raise OSError(errno.EINVAL, "not a regular file", str(path))

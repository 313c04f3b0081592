"""One process at a time: a lock file, which the kernel lets go when its holder ends, however that comes about."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def only_one(lock: Path) -> Iterator[None]:
    """Hold a lock file, which is made where it is missing; a link in its place is not followed.

    Raises:
        BlockingIOError: another process holds it.
        OSError: it cannot be made, or its file system knows no locks.
    """
    import fcntl  # which Windows lacks, where evidence is read all the same

    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)

"""Two files that get each other's name at once, and whether somebody still writes to one.

A rename over a file loses what was written there since it was read. After an exchange what came out can be looked at
first, and put back: renameat2(2), RENAME_EXCHANGE, and fcntl(2), leases (manual pages 6.03, read 2026-11-29).
"""

from __future__ import annotations

import ctypes
import errno
import os
import signal
from functools import cache
from pathlib import Path
from typing import Any

_HERE, _EXCHANGE = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of linux/fcntl.h and linux/fs.h
# A kernel or a file system without it, or a container that forbids it.
_UNKNOWN = {errno.ENOSYS, errno.EINVAL, errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP}


def exchange(one: Path, other: Path) -> bool:
    """Give each the name of the other; False where this system cannot. Raises OSError."""
    call = _call()
    if call is None:
        return False
    if call(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in _UNKNOWN:
        return False
    raise OSError(code, os.strerror(code), str(other))


@cache
def _call() -> Any:
    try:
        return ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return None


def written_to(descriptor: int) -> bool:
    """Whether some process has a file open for writing, by a descriptor that only reads; False where nobody knows."""
    import fcntl

    try:
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)  # told who holds it, and ignored: SIGIO would end us
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except OSError as error:
        return error.errno == errno.EAGAIN
    fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    return False

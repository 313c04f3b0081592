"""Shared memory that processes left behind which could not give it a size."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection

_SHARED = "/dev/shm"


def remove(makers: Collection[int]) -> None:
    """Remove the segments that these processes have made and that still have a name.

    torch gives each segment the number of its maker and takes the name away at once; where there is no room it raises
    an error before that (torch 2.13.0, seen with 64 KiB).
    """
    names = tuple(f"torch_{pid}_" for pid in makers)
    with contextlib.suppress(OSError):
        for name in os.listdir(_SHARED) if names else ():
            if name.startswith(names):
                with contextlib.suppress(OSError):
                    os.unlink(os.path.join(_SHARED, name))

"""Shared memory that processes left behind: what could not be given a size, and what a library never takes away."""

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
    remove_named(tuple(f"torch_{pid}_" for pid in makers))


def remove_named(beginnings: tuple[str, ...]) -> None:
    """Remove the segments whose names begin with one of these, as far as that is allowed."""
    with contextlib.suppress(OSError):
        for name in os.listdir(_SHARED) if beginnings else ():
            if name.startswith(beginnings):
                with contextlib.suppress(OSError):
                    os.unlink(os.path.join(_SHARED, name))

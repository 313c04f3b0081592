"""Waiting for what another process or thread does: no test sleeps for a time in which it ought to have happened."""

from __future__ import annotations

import time
from collections.abc import Callable

_LOOK_S = 0.02


def until(true: Callable[[], object], limit_s: float = 60.0) -> bool:
    """Wait until something is so; False where it has not come to be within a limit that no busy machine needs."""
    deadline = time.monotonic() + limit_s
    while not true():
        if time.monotonic() >= deadline:
            return False
        time.sleep(_LOOK_S)
    return True

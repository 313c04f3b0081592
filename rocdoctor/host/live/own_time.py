"""The time that counts for a deadline: what this process slept through is nobody else's silence.

A machine that was suspended, a frozen group of processes and a machine without a free core stop us as they stop what
we wait for. When we go on, its deadline is over before it had a chance to answer.
"""

from __future__ import annotations

import time

# A step that takes so much longer than it was meant to was slept through in part.
_LATE_S = 0.25


class OwnTime:
    """A clock that stands still while this process does not run, as far as its steps show that."""

    def __init__(self) -> None:
        self._looked = time.monotonic()
        self.lost_s = 0.0

    def now(self, meant_s: float) -> float:
        """The time, less what was lost: since the last look we meant to wait that long, at most."""
        real = time.monotonic()
        gap = real - self._looked - meant_s
        if gap > _LATE_S:
            self.lost_s += gap
        self._looked = real
        return real - self.lost_s


def left_s(began: float | None, asked: float, limit_s: float, now: float) -> float:
    """What is left of a question's time: it counts from when it began, before that from when it was asked for."""
    return (asked if began is None else began) + limit_s - now

"""How busy the machines at the ends of a stream are: a thread that waits for a processor sends and takes nothing."""

from __future__ import annotations

import contextlib
import time


class ShareWaited:
    """From its making on, for which share of the time this thread waits for a processor (linux sched-stats)."""

    def __init__(self) -> None:
        self._began, self._before = time.monotonic(), _waited_s()

    def share(self) -> float:
        """Until now, 0 to 1; 0 where the kernel does not tell."""
        passed_s = time.monotonic() - self._began
        return min(1.0, max(0.0, _waited_s() - self._before) / passed_s) if passed_s > 0 else 0.0


def _waited_s() -> float:
    with contextlib.suppress(OSError, ValueError, IndexError), open("/proc/thread-self/schedstat") as stream:
        return int(stream.read().split()[1]) / 1e9
    return 0.0


def both_busy(one: float, other: float) -> float:
    """The share of the time for which either end waited, as far as they do so independently of each other."""
    return 1.0 - (1.0 - one) * (1.0 - other)

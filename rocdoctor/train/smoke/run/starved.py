"""How much of the time the ranks waited for a processor: a deadline is about the time that a machine gives them."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Collection, Mapping

# Below this share of the time, of all threads together, nobody computes: what is waited for is something else.
_AT_WORK = 0.3


class Starved:
    """``extra_s`` is the time by which a deadline moves, at most ``most_s``."""

    def __init__(self, pids: Mapping[int, int], most_s: float) -> None:
        self._pids = pids
        self._most_s = most_s
        self._before: dict[int, tuple[float, float]] = {}
        self._at = time.monotonic()
        self.extra_s = 0.0

    def look(self, ranks: Collection[int]) -> float:
        """Take the time since the last look into account; gives by how much the deadline moves."""
        now = time.monotonic()
        passed_s, self._at = now - self._at, now
        share = 0.0
        for rank in ranks:
            ran_s, waited_s = times(family(self._pids.get(rank, 0)))
            before = self._before.get(rank)
            self._before[rank] = (ran_s, waited_s)
            if before is not None:
                # A process that ended takes its times along.
                share = max(share, _share(max(0.0, ran_s - before[0]), max(0.0, waited_s - before[1]), passed_s))
        before_s, self.extra_s = self.extra_s, min(self._most_s, self.extra_s + share * passed_s)
        return self.extra_s - before_s


def _share(ran_s: float, waited_s: float, passed_s: float) -> float:
    """Which part of the time was lost for want of a processor."""
    wanted_s = ran_s + waited_s
    return waited_s / wanted_s if wanted_s > _AT_WORK * passed_s else 0.0


def family(pid: int) -> list[int]:
    """A process and all that it has started, as far as that is there."""
    found, at = [pid] if pid > 0 else [], 0
    while at < len(found) and len(found) < 200:
        with contextlib.suppress(OSError):
            for thread in os.listdir(f"/proc/{found[at]}/task"):
                with contextlib.suppress(OSError), open(f"/proc/{found[at]}/task/{thread}/children", "rb") as stream:
                    found += [int(word) for word in stream.read(8192).split()]
        at += 1
    return found


def times(pids: Collection[int]) -> tuple[float, float]:
    """Seconds that the threads of these processes ran, and waited for a processor (schedstat, linux sched-stats)."""
    ran_ns = waited_ns = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            for thread in os.listdir(f"/proc/{pid}/task"):
                with contextlib.suppress(OSError, ValueError), open(f"/proc/{pid}/task/{thread}/schedstat") as stream:
                    one, two, *_ = stream.read().split()
                    ran_ns, waited_ns = ran_ns + int(one), waited_ns + int(two)
    return ran_ns / 1e9, waited_ns / 1e9


def at_work(pid: int) -> str:
    """The name of a program that a process has started and that runs right now, a compiler for one; else nothing."""
    for one in family(pid)[1:]:
        with contextlib.suppress(OSError, IndexError), open(f"/proc/{one}/stat", "rb") as stream:
            name, _, rest = stream.read().rpartition(b")")
            if rest.split()[0] in (b"R", b"D"):
                return name.partition(b"(")[2].decode("utf-8", errors="replace")[:40]
    return ""

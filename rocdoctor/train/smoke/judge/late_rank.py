"""A rank that keeps the others waiting: looks at all ranks while a mode takes unusually long.

Late is a rank that, in two looks one after the other, is outside every collective and does nothing, while every other
rank waits inside one, doing nothing either, or is done. A rank that computes or would if it got a processor, that waits
for a disk, or that has processes of its own at work (a compiler, a data loader) is not late. Only for ranks on the CPU:
one that waits for its GPU looks the same as one that sleeps.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Mapping
from pathlib import Path

from rocdoctor.train.smoke.run.processes import has_children
from rocdoctor.train.smoke.worker import whereabouts

FIRST_LOOK_S, EVERY_S = 2.0, 1.0
_MAX_LOOKS = 30
_ANSWER_S = 0.5
# Of one processor, while it waits: below this it does nothing.
_IDLE_SHARE = 0.2
_WAITING = (
    "distributed_c10d.py",
    "_functional_collectives.py",
    "_engine_run_backward",
    " in wait",
    "reducer",
    "c10d_logger.py",
    "_wait_batch_p2p",
    "_verify_param_shape_across_processes",  # these call into C++: torch/distributed/utils.py
    "_sync_params_and_buffers",
    "rendezvous.py",
)
# Threads of one process wait for each other: locks, queues and futures of Python's own library.
_OF_THREADS = ("/threading.py", "/concurrent/futures/", "/multiprocessing/", "/subprocess.py", "/selectors.py")
_DISPATCHER = ("torch/_ops.py", "torch/_library/autograd.py")
# Collectives of NCCL and RCCL are only queued: ranks on GPUs wait where they next need a number from the device, which
# is torch's synchronize or our own copy to the CPU.
_WAITING_FOR_GPU = (
    ("torch/cuda/__init__.py", "synchronize"),
    ("torch/cuda/streams.py", "synchronize"),
    ("smoke/worker/compare.py", "_plain"),
    # Work of torch's is waited for in C++, without a frame of its own.
    ("smoke/worker/exchange.py", "move"),
    ("smoke/worker/modes/collectives.py", "_ring"),
    ("smoke/worker/modes/collectives.py", "all_reduce"),
    ("smoke/worker/compare.py", "_equal"),
)


def waits(stack: str) -> bool:
    """Whether a dumped stack stands inside a collective, or waits for what one on the GPU gives."""
    lines = (line for line in stack.splitlines() if line.strip().startswith("File "))
    frames = [line for line in lines if not any(path in line for path in _DISPATCHER)]
    if not frames:
        return False
    if any(word in frames[0] for word in _WAITING) and not any(path in frames[0] for path in _OF_THREADS):
        return True
    return any(path in frames[0] and frames[0].endswith(f" in {name}") for path, name in _WAITING_FOR_GPU)


def innermost_frames(stack: str) -> str:
    """The innermost Python frames of a dumped stack, as ``file:line function < ...``; empty when there is none."""
    found = []
    for line in stack.splitlines():
        parts = line.strip().split('"')
        if len(parts) == 3 and parts[0].startswith("File"):
            number, _, function = parts[2].removeprefix(", line ").partition(" in ")
            found.append(f"{parts[1].rsplit('/', 1)[-1]}:{number} {function}")
    return " < ".join(found[:3])


class Lateness:
    """Looks at the ranks of one mode; ``seconds`` and ``places`` tell of those that were late."""

    def __init__(self, folder: Path, pids: Mapping[int, int]) -> None:
        self._folder = folder
        self._pids = pids
        self._looks = 0
        self._ticks: dict[int, tuple[float, int]] = {}
        self._suspects: dict[int, float] = {}
        self.seconds: dict[int, float] = {}
        self.places: dict[int, str] = {}

    def look(self, unanswered: Collection[int]) -> None:
        """One look. ``unanswered``: ranks that have not come to the end of the mode."""
        self._looks += 1
        if self._looks > _MAX_LOOKS:
            return
        now = time.monotonic()
        idle = {rank for rank in unanswered if self._is_idle(rank, now)}
        # While somebody is at work nobody is asked, and ranks that were not asked are not late.
        stacks = self._stacks(unanswered) if idle == set(unanswered) else {}
        elsewhere = {rank for rank in unanswered if not waits(stacks.get(rank, ""))}
        late = elsewhere if idle == set(unanswered) and len(elsewhere) < len(self._pids) else set()
        for rank in late:
            began = self._suspects.get(rank)
            if began is not None:
                self.seconds[rank] = now - began + EVERY_S
                self.places[rank] = innermost_frames(stacks.get(rank, ""))
        self._suspects = {rank: self._suspects.get(rank, now) for rank in late}

    def _stacks(self, ranks: Collection[int]) -> dict[int, str]:
        """What each rank's interpreter stands in; nothing of one that keeps its lock or is stopped."""
        return whereabouts.ask(str(self._folder), ranks, _ANSWER_S)

    def _is_idle(self, rank: int, now: float) -> bool:
        """No processor used since the last look, none wanted now, no disk waited for, no child process."""
        pid = self._pids.get(rank, 0)
        try:
            with open(f"/proc/{pid}/stat", "rb") as stream:
                words = stream.read().rsplit(b")", 1)[1].split()
        except (OSError, IndexError):
            return False
        state, ticks = words[0], int(words[11]) + int(words[12])
        before = self._ticks.get(rank)
        self._ticks[rank] = (now, ticks)
        if before is None or state not in (b"S", b"T", b"t") or has_children(pid):
            return False
        used_s = (ticks - before[1]) / os.sysconf("SC_CLK_TCK")
        return used_s < _IDLE_SHARE * max(0.1, now - before[0])

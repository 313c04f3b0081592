"""Whether ranks stand still: one waits in a collective, and none has announced anything for too long.

Time without a processor does not count, as it does not for the deadline. gloo itself counts all time: on a busy machine
it ends a wait before the awaited rank has had its share. Of the time of an endless loop a part always counts.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

from rocdoctor.train.smoke.judge.late_rank import waits
from rocdoctor.train.smoke.worker import board, whereabouts

_ANSWER_S = 0.5
# torch's watchdog for NCCL and RCCL ends a rank that waits too long (ProcessGroupNCCL.cpp, ``ncclCommWatchdog``), and
# that is each but the one that hangs. gloo raises an error in it, also where the others only wait for a processor. So
# the runner must come first, with its deadline, stretched and of the slowest mode, or because ranks stand still.
WATCHDOG_S = 4 * 3600.0


def wait_of_ranks_s(backend: str, limit_s: float) -> float:
    """How long a collective may take, for modes that may take ``limit_s``."""
    return WATCHDOG_S if backend == "nccl" else limit_s / 2


class Standstill:
    """``folder``: of the ranks; ``most_s``: how long a collective may take."""

    def __init__(self, folder: Path, most_s: float) -> None:
        self._folder = folder
        self._most_s = most_s
        self._notes: dict[int, dict[str, Any]] = {}
        self._still_s = 0.0

    def look(self, unanswered: Collection[int], passed_s: float) -> bool:
        """Whether they have stood still for too long. ``passed_s``: since the last look, with a processor."""
        notes = {rank: self._note(rank) for rank in unanswered}
        if notes != self._notes:
            self._notes, self._still_s = notes, 0.0
            return False
        self._still_s += passed_s
        if self._still_s < self._most_s or any(note.get("patient") for note in notes.values()):
            return False
        return any(waits(stack) for stack in self._stacks(unanswered).values())

    def _note(self, rank: int) -> dict[str, Any]:
        return board.read(str(self._folder / "board"), rank)

    def _stacks(self, ranks: Collection[int]) -> dict[int, str]:
        return whereabouts.ask(str(self._folder), ranks, _ANSWER_S)

"""What ranks that gave no answer are doing, and who is still connected to whom once a connection was closed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rocdoctor.train.smoke.run.connections import closed, connected
from rocdoctor.train.smoke.run.processes import awaited_lock, file_call, process_state
from rocdoctor.train.smoke.run.starved import at_work
from rocdoctor.train.smoke.worker import whereabouts

if TYPE_CHECKING:
    from rocdoctor.train.smoke.run.pool import RankRecord

_STACK_S = 0.5


def look(ranks: Mapping[int, RankRecord], pids: Mapping[int, int], folder: str) -> None:
    """Ask ranks without an answer what they are doing, by the kernel's state and their Python stack, and note it."""
    if any(closed(str((one.result or {}).get("message", ""))) for one in ranks.values()):
        for rank, others in connected(pids).items():
            ranks[rank].connected = others
    silent = [one for one in ranks.values() if one.result is None and not one.ended]
    for one in silent:
        one.silent = True
        pid = pids.get(one.rank, 0)
        one.process_state, one.program, one.lock = process_state(pid), at_work(pid), awaited_lock(pid)
        one.file_call = file_call(pid)
    for rank, stack in whereabouts.ask(folder, [one.rank for one in silent], _STACK_S).items():
        ranks[rank].stack = stack

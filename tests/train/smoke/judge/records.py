"""Records of ranks as they reach the judge."""

from __future__ import annotations

import signal
from typing import Any

from rocdoctor.train.smoke.run.pool import RankRecord


def wrong(rank: int, origins: list[int] | None = None, layer: str = "", stage: str = "value") -> RankRecord:
    """A rank that found one value wrong; ``origins``: whose share of an exchange it came from."""
    fault: dict[str, Any] = {
        "stage": stage,
        "step": 0,
        "turn": 0,
        "name": "weight",
        "error": 1.0,
        "tolerance": 0.0,
        "words": "differs",
    }
    if origins:
        fault["origins"] = origins
    if layer:
        fault["layer"] = layer
    return RankRecord(rank, result={"state": "fail", "errors": {}, "tolerances": {}, "faults": [fault]})


def right(rank: int) -> RankRecord:
    """A rank that passed."""
    return RankRecord(rank, result={"state": "pass", "errors": {}, "tolerances": {}})


def at(rank: int, mark: str, log: str = "") -> RankRecord:
    """A rank that ended at ``mark``: by a signal where it left a log, else as a victim."""
    signalled = signal.SIGABRT if log else None
    result = None if log else {"state": "crashed", "kind": "victim", "message": "Connection closed by peer"}
    return RankRecord(
        rank, result=result, exit_signal=signalled, ended_at=1.0 if log else 0.0, log=log, note={"mark": mark}
    )


def entered(rank: int, mark: str, call: str) -> RankRecord:
    """A silent rank that entered ``call`` and has not come back."""
    return RankRecord(rank, silent=True, process_state="S", note={"mark": mark, "call": call, "seq": 7})

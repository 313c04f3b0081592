"""After wrong numbers in a mode: the same ranks make its parts by themselves (``worker/again.py``)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rocdoctor.train.smoke.run.pool import ModeRecord
from rocdoctor.train.smoke.worker import again

# Those that are one part by themselves: another look tells nothing more.
_PARTS = (
    "compute",
    "memory",
    "copies",
    "optimizers",
    "dropout",
    "data-loader",
    "all-reduce",
    "one-to-all",
    "all-gather",
    "reduce-scatter",
    "all-to-all",
    "point-to-point",
    "subgroups",
    "objects",
    "large-messages",
)


def looked_again(record: ModeRecord, run: Callable[[str], ModeRecord]) -> ModeRecord:
    """The record with what a second look of all its ranks saw; without, where nothing was wrong or some are lost."""
    states = [(one.result or {}).get("state") for one in record.ranks]
    part = record.mode in _PARTS or record.mode.startswith("checkpoint")
    if part or len(states) < 2 or "fail" not in states or not {"pass", "fail"} >= {*states}:
        return record
    found = [(one.result or {}).get("facts") or {} for one in run(again.NAME).ranks]
    whole = all("exchanges" in one and "work" in one for one in found)
    return replace(record, again=tuple(found)) if whole else record

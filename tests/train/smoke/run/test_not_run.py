"""Modes that were not run are told: silence would look as if they had passed."""

from __future__ import annotations

from typing import Any

import pytest

from rocdoctor.train.smoke.run.pool import ModeRecord, RankRecord
from rocdoctor.train.smoke.run.runner import RunSetting, modes_named, run_modes


class Ranks:
    """One rank that starts some times and then never again; in each mode it is lost."""

    whole = False

    def __init__(self, starts: int) -> None:
        self.starts = starts
        self.hello: dict[str, Any] = {"torch": "2.13.0"}
        self.peak_memory_bytes: int | None = None

    def start(self, *_: Any) -> ModeRecord:
        self.starts -= 1
        return self._record("start", "pass" if self.starts >= 0 else "crashed")

    def run(self, mode: str, *_: Any) -> ModeRecord:
        return self._record(mode, "crashed")

    def stop_ranks(self) -> None:
        """There are none."""

    @staticmethod
    def _record(mode: str, state: str) -> ModeRecord:
        return ModeRecord(mode, 0.0, (RankRecord(0, result={"state": state, "kind": "error", "message": "planted"}),))


@pytest.mark.parametrize(
    ("starts", "ran", "note"),
    [
        (0, ["start"], "all-reduce, ddp, fsdp2"),
        (2, ["all-reduce", "ddp", "start"], "fsdp2"),
        (3, ["all-reduce", "ddp", "fsdp2"], ""),
    ],
)
def test_modes_after_a_start_that_failed_are_named(starts: int, ran: list[str], note: str) -> None:
    modes = modes_named(["ddp", "all-reduce", "fsdp2"], False)
    ranks: Any = Ranks(starts)
    found = run_modes(ranks, RunSetting(1, "gloo", "cpu"), modes)
    assert [one.mode for one in found.modes] == ran
    assert found.notes == ((f"not run because the ranks did not start: {note}",) if note else ())


def test_of_many_modes_the_first_are_named_and_the_others_counted() -> None:
    modes = modes_named([], True)
    ranks: Any = Ranks(0)
    (note,) = run_modes(ranks, RunSetting(64, "gloo", "cpu"), modes).notes
    assert note.endswith(f", {modes[7].name} and {len(modes) - 8} more")

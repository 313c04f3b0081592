"""A lock that an ended build has left is taken away; one that somebody holds, or that was there before, stays."""

from __future__ import annotations

import os
from pathlib import Path

from rocdoctor.train.smoke.judge.verdicts import judge
from rocdoctor.train.smoke.run.build_locks import release_abandoned, still_building
from rocdoctor.train.smoke.run.pool import ModeRecord, RankRecord


def test_only_locks_that_came_meanwhile_and_that_nobody_holds_are_removed(tmp_path: Path) -> None:
    root = tmp_path / ".cache" / "torch_extensions"
    left, held, older = (root / "py311_cpu" / name / "lock" for name in ("left", "held", "older"))
    for one in (left, held, older):
        one.parent.mkdir(parents=True)
        one.touch()
        os.utime(one, (2000.0, 2000.0))
    os.utime(older, (900.0, 900.0))
    with held.open():
        assert release_abandoned({"HOME": str(tmp_path)}, 1000.0) == [left]
    assert [one.exists() for one in (left, held, older)] == [False, True, True]
    assert release_abandoned({"HOME": "/", "TORCH_EXTENSIONS_DIR": str(root / "py311_cpu")}, 1000.0) == [held]
    assert release_abandoned({"HOME": str(tmp_path / "nowhere")}, 1000.0) == []


def test_a_deadline_that_passed_while_an_extension_was_built_is_nobodys_fault() -> None:
    building = still_building([Path("/cache/shm/lock")], True)
    assert "still being compiled in /cache/shm" in building
    assert still_building([Path("/cache/shm/lock")], False) == still_building([], True) == ""
    ranks = tuple(RankRecord(rank, process_state="S") for rank in range(2))
    found = judge(ModeRecord("deepspeed-zero-1", 60.0, ranks, True, machine=building))
    assert (found.state, found.layer, found.named) == ("crashed", "configuration", ())
    assert building in found.message

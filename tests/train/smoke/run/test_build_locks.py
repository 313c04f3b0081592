"""A lock that an ended build has left is taken away; one that somebody holds, or that was there before, stays."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from rocdoctor.train.smoke.judge.verdicts import judge
from rocdoctor.train.smoke.run import build_locks, kernel_caches
from rocdoctor.train.smoke.run.build_locks import BuildLocks, still_building
from rocdoctor.train.smoke.run.pool import ModeRecord, RankRecord


def test_only_locks_that_a_process_of_the_run_had_open_are_removed(tmp_path: Path) -> None:
    root = tmp_path / ".cache" / "torch_extensions"
    left, held, elsewhere = (root / "py311_cpu" / name / "lock" for name in ("left", "held", "elsewhere"))
    for one in (left, held, elsewhere):  # the last of a job on another node, whose home folder this is too
        one.parent.mkdir(parents=True)
        one.touch()
    (root / "strange" / "lock").mkdir(parents=True)
    locks = BuildLocks({"HOME": str(tmp_path)}, lambda: [os.getpid()])
    with held.open():
        with left.open():
            locks.look()
        locks.release()
        assert [one.exists() for one in (left, held, elsewhere)] == [False, True, True]
    held.rename(tmp_path / "kept")  # what is in its place now is another build's
    held.touch()
    locks.release()
    assert locks.released == [left]
    assert held.exists()


def test_no_lock_is_looked_for_where_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    (tmp_path / "shm").mkdir()
    locks = BuildLocks({"HOME": "/", "TORCH_EXTENSIONS_DIR": str(tmp_path)}, lambda: asked)
    monkeypatch.setattr(build_locks, "_open_files", asked.append)
    locks.look()
    locks.release()
    assert asked == []
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".cache" / "torch_extensions" / "shm").mkdir(parents=True)
    (tmp_path / ".cache" / "torch_extensions" / "shm" / "lock").touch()
    BuildLocks({}, lambda: asked).look()  # no home folder is no working directory
    assert asked == []


def test_a_cache_that_gives_no_answer_holds_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a server that is gone: the deadline of the run holds, and it is asked once."""
    hung, asked = threading.Event(), []

    def files(_: object) -> list[object]:
        asked.append(1)
        hung.wait(60.0)
        return []

    monkeypatch.setattr(BuildLocks, "_files", files)
    monkeypatch.setattr(kernel_caches, "_times", files)
    for module in (build_locks, kernel_caches):
        monkeypatch.setattr(module, "_PATIENCE_S", 0.01)
    try:
        locks = BuildLocks({"HOME": str(tmp_path)}, list)
        locks.look()
        locks.look()
        locks.release()
        assert kernel_caches.compiling({"HOME": str(tmp_path)}, 0.0, 1.0) == ""
        assert len(asked) == 2
        assert not hung.is_set()
    finally:
        hung.set()


def test_a_deadline_that_passed_while_an_extension_was_built_is_nobodys_fault() -> None:
    building = still_building([Path("/cache/shm/lock")], True)
    assert "still being compiled in /cache/shm" in building
    assert still_building([Path("/cache/shm/lock")], False) == still_building([], True) == ""
    ranks = tuple(RankRecord(rank, process_state="S") for rank in range(2))
    found = judge(ModeRecord("deepspeed-zero-1", 60.0, ranks, True, machine=building))
    assert (found.state, found.layer, found.named) == ("crashed", "configuration", ())
    assert building in found.message

"""A wait in a collective is as patient as the deadline: time without a processor does not count, on any machine."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rocdoctor.train.smoke.judge.verdicts import judge
from rocdoctor.train.smoke.run import pool, silent_ranks, starved
from rocdoctor.train.smoke.run.pool import ModeRecord, Pool, RankRecord
from rocdoctor.train.smoke.run.standstill import Standstill
from rocdoctor.train.smoke.worker import board

IN_COLLECTIVE = '  File "/x/torch/distributed/distributed_c10d.py", line 9 in all_reduce'
IN_BACKWARD = '  File "/x/torch/autograd/graph.py", line 9 in _engine_run_backward'
IN_A_LOOP = '  File "/x/user/train.py", line 3 in spin'
NOTE = {"mark": "step 1", "call": "all_reduce", "seq": 4}


class Stated(Standstill):
    """Ranks as a test states them."""

    def __init__(self, stacks: dict[int, str]) -> None:
        super().__init__(Path("/nonexistent"), 15.0)
        self.stacks, self.notes = stacks, {rank: dict(NOTE) for rank in stacks}

    def _note(self, rank: int) -> dict[str, Any]:
        return dict(self.notes[rank])

    def _stacks(self, ranks: Collection[int]) -> dict[int, str]:
        return {rank: self.stacks[rank] for rank in ranks}


def test_ranks_of_which_one_waits_and_none_goes_on_stand_still() -> None:
    one = Stated({0: IN_COLLECTIVE, 1: IN_A_LOOP})
    assert [one.look([0, 1], 5.0) for _ in range(4)] == [False, False, False, True]


@pytest.mark.parametrize("change", [{"seq": 5}, {"mark": "step 2"}])
def test_a_new_step_of_any_rank_begins_the_wait_anew(change: dict[str, Any]) -> None:
    one = Stated({0: IN_COLLECTIVE, 1: IN_A_LOOP})
    assert not any(one.look([0, 1], 7.0) for _ in range(3))
    one.notes[1].update(change)
    assert not any(one.look([0, 1], 7.0) for _ in range(3))
    assert one.look([0, 1], 7.0)


def test_a_note_says_that_messages_were_exchanged_until_the_next_mode(tmp_path: Path) -> None:
    place = str(tmp_path / "board")
    board.create(place, 2)
    one = board.Board(place, 1)
    one.begin("pipeline-1f1b")
    one.call("all_reduce float32[4]")
    assert "pairs" not in board.read(place, 1)
    one.call("isend float32[2,16,32]")
    one.call("all_reduce float32[4]")
    assert (board.read(place, 1)["pairs"], board.read(place, 1)["seq"]) == (True, 3)
    one.begin("ddp")
    assert "pairs" not in board.read(place, 1)


def test_nobody_waits_or_somebody_may_take_long() -> None:
    computing = Stated({0: IN_A_LOOP, 1: IN_A_LOOP})
    compiling = Stated({0: IN_COLLECTIVE, 1: IN_A_LOOP})
    compiling.notes[1]["patient"] = True
    for one in (computing, compiling):
        assert not any(one.look([0, 1], 10.0) for _ in range(9))


class Busy(Pool):
    """Two ranks without processes, and a clock that goes on whenever the runner waits: rank 0 waits in a collective,
    rank 1 computes until ``answers_s`` and waits for a processor for ``share`` of the time."""

    def __init__(self, answers_s: float, share: float, stack: str = IN_A_LOOP) -> None:
        self.now, self.answers_s, self.share = 0.0, answers_s, share
        self.stacks = {0: IN_BACKWARD if stack == IN_BACKWARD else IN_COLLECTIVE, 1: stack}
        self._place = self._folder = Path("/nonexistent")
        self._there, self._collective_s, self._plan, self._pids = True, 15.0, {}, {0: 10, 1: 11}
        self._ranks = {rank: RankRecord(rank) for rank in (0, 1)}
        self.surroundings, self.hello, self.peak_memory_bytes = {}, {}, None
        self._server: Any = SimpleNamespace(pid=1, poll=lambda: None)

    def _event(self, deadline: float) -> dict[str, Any] | None:
        self.now = max(self.now, deadline)
        if self.now < self.answers_s:
            return None
        rank = 1 if self._ranks[1].result is None else 0
        return {"event": "result", "rank": rank, "at": self.now, "state": "pass", "pid": 10 + rank}

    def _look_at_server(self) -> str:
        return ""

    def look(self) -> None:
        for rank, one in self._ranks.items():
            one.silent = one.result is None
            one.process_state, one.stack = "SR"[rank], self.stacks[rank]

    def times(self, pids: Collection[int]) -> tuple[float, float]:
        busy_s = self.now if 11 in pids else 0.0
        return busy_s * (1 - self.share), busy_s * self.share


def run(monkeypatch: pytest.MonkeyPatch, two: Busy) -> ModeRecord:
    """A mode with a deadline of 30 s, in which a collective may take 15 s."""
    for module in (pool, starved):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: two.now, time=lambda: two.now))
    monkeypatch.setattr(starved, "family", lambda pid: [pid])
    monkeypatch.setattr(starved, "times", two.times)
    monkeypatch.setattr(silent_ranks, "look", lambda *_: two.look())
    monkeypatch.setattr(Standstill, "_note", lambda _, rank: NOTE)
    monkeypatch.setattr(Standstill, "_stacks", lambda *_: two.stacks)
    return two._wait("ddp", 30.0, 0.0)


def test_a_healthy_rank_on_a_busy_machine_has_the_time_that_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    found = run(monkeypatch, Busy(answers_s=60.0, share=0.8))
    assert judge(found).state == "pass" and not found.late


@pytest.mark.parametrize(("share", "least_s", "most_s"), [(0.0, 15.0, 18.0), (0.5, 26.0, 36.0), (0.9, 100.0, 115.0)])
@pytest.mark.parametrize("stack", [IN_A_LOOP, IN_BACKWARD])
def test_an_endless_loop_is_named_on_an_idle_and_on_a_busy_machine(
    monkeypatch: pytest.MonkeyPatch, stack: str, share: float, least_s: float, most_s: float
) -> None:
    found = run(monkeypatch, Busy(answers_s=1e6, share=share, stack=stack))
    assert judge(found).named == (1,), judge(found).message
    assert found.late and least_s <= found.wall_s <= most_s

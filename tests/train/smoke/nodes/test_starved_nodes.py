"""Time for which the ranks of any node wait for a processor moves the deadline of all, and no node moves it far."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from rocdoctor.train.smoke.nodes import member, remote_pool
from rocdoctor.train.smoke.nodes.local_ranks import Local
from rocdoctor.train.smoke.nodes.node_place import NodePlace
from rocdoctor.train.smoke.nodes.remote_pool import Member, Team
from rocdoctor.train.smoke.run.pool import ModeRecord, RankRecord


class Machines:
    """Two nodes with a rank each, and a clock that goes on whenever node 0 waits.

    Rank 0 answers at once, rank 1 at ``answers_s``; ``here`` and ``there`` are the shares of the time for which the
    ranks of node 0 and node 1 wait for a processor.
    """

    def __init__(self, answers_s: float, here: float = 0.0, there: Any = 0.0, generation: int = 0) -> None:
        self.now, self.answers_s, self.here, self.there, self.generation = 0.0, answers_s, here, there, generation
        self.closed = self.lost = False
        self.told: list[dict[str, Any]] = [{"event": "result", "rank": 0, "at": 0.0, "state": "pass"}]
        self.heard = 0.0

    def ready(self, many: object, rest_s: float) -> list[object]:
        self.now += rest_s
        return []

    def handles(self) -> list[int]:
        return []

    def events(self) -> list[dict[str, Any]]:
        found, self.told = self.told, []
        return found

    def starved_s(self) -> float:
        return self.here * self.now

    def order(self, mode: str) -> None:
        """To this node's ranks."""

    def look(self, silent: list[int]) -> dict[str, Any]:
        return {}

    def take(self) -> list[dict[str, Any]]:
        there = self.there * self.now if isinstance(self.there, float) else self.there
        found: list[dict[str, Any]] = [{"starved_s": there, "generation": self.generation}]
        if self.now >= self.answers_s:
            found.append({"event": "result", "rank": 1, "at": self.now, "state": "pass", "generation": 0})
        return found

    def say(self, **_: Any) -> bool:
        return True

    def wait(self, *_: Any) -> None:
        """No answer."""


def run(monkeypatch: pytest.MonkeyPatch, two: Machines) -> ModeRecord:
    """A mode with a deadline of 10 s."""
    monkeypatch.setattr(remote_pool, "time", SimpleNamespace(monotonic=lambda: two.now))
    monkeypatch.setattr(remote_pool, "ready", two.ready)
    each: Any = two
    team = Team(each, {1: Member(each, 0.0)}, 1, {}, lambda: None)
    team._ranks = {rank: RankRecord(rank, node=rank) for rank in (0, 1)}
    return team.run("ddp", 10.0)


@pytest.mark.parametrize(("here", "there"), [(0.8, 0.0), (0.0, 0.8)])
def test_time_without_a_processor_on_either_node_does_not_count(
    monkeypatch: pytest.MonkeyPatch, here: float, there: float
) -> None:
    found = run(monkeypatch, Machines(25.0, here, there))
    assert not found.late and not any(one.silent for one in found.ranks)
    assert 25.0 <= found.wall_s < 26.0


def test_with_processors_the_deadline_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    found = run(monkeypatch, Machines(25.0))
    assert found.late and [one.silent for one in found.ranks] == [False, True]
    assert found.wall_s == 10.0


def test_a_node_moves_the_deadline_to_four_times_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, Machines(1e6, there=50.0)).wall_s == pytest.approx(40.0, abs=0.5)


@pytest.mark.parametrize("junk", ["9", None, True, -5, 1e300, [], float("nan")])
def test_what_is_no_time_moves_nothing(monkeypatch: pytest.MonkeyPatch, junk: object) -> None:
    assert run(monkeypatch, Machines(1e6, there=junk)).wall_s == 10.0


def test_what_is_said_of_earlier_ranks_moves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, Machines(1e6, there=5.0, generation=7)).wall_s == 10.0


class Leader:
    """Node 0 as another node sees it: it ends the run after some looks."""

    closed = lost = False
    heard = 0.0

    def __init__(self, looks: int) -> None:
        self.looks = looks
        self.said: list[dict[str, Any]] = []

    def take(self) -> list[dict[str, Any]]:
        self.looks -= 1
        return [{"end": 1, "code": 0, "words": ""}] if self.looks < 0 else []

    def say(self, **fields: Any) -> bool:
        self.said.append(fields)
        return True


def test_another_node_says_once_a_second_how_long_its_ranks_waited(monkeypatch: pytest.MonkeyPatch) -> None:
    at = {"now": 0.0}

    def ready(many: object, rest_s: float) -> None:
        at["now"] += rest_s

    monkeypatch.setattr(member, "time", SimpleNamespace(monotonic=lambda: at["now"]))
    monkeypatch.setattr(member, "ready", ready)
    waited = iter([0.0, 0.5, 0.5, 1.75])
    local: Any = SimpleNamespace(handles=list, events=list, starved_s=lambda: next(waited))
    leader: Any = Leader(looks=16)
    assert member.serve(leader, local, 1, "python", {})[0] == 0
    assert [one["starved_s"] for one in leader.said] == [0.5, 1.75]


def test_torchruns_family_counts_until_all_ranks_have_come() -> None:
    local = Local("python", NodePlace(0, 1, "198.51.100.1", 29500))
    looked: list[list[int]] = []
    more: Any = local
    try:
        more._starved = SimpleNamespace(look=looked.append, extra_s=2.0)
        more._count = 2
        local._pids.update({-1: 70})
        assert local.starved_s() == 2.0
        local._pids.update({0: 71})
        local.starved_s()
        local._pids.update({1: 72})
        local.starved_s()
    finally:
        local.close()
    assert looked == [[-1], [-1], [0, 1]]

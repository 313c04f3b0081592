"""Where most ranks, or all, are wrong alike: who gave it is named where just that explains it, and else nobody."""

from __future__ import annotations

from typing import Any

import pytest

from rocdoctor.train.smoke.judge.verdicts import judge, located
from rocdoctor.train.smoke.run.pool import ModeRecord, RankRecord
from tests.train.smoke.judge import records


def _judged(*ranks: RankRecord) -> Any:
    return judge(ModeRecord("zero-1", 1.0, ranks))


def _with(one: RankRecord, **more: Any) -> RankRecord:
    (one.result or {})["faults"][0].update(more)
    return one


def _others_wrong(right: int, **more: Any) -> list[RankRecord]:
    made = [_with(records.wrong(rank, stage="param"), **more) for rank in range(4)]
    made[right] = records.right(right)
    return made


@pytest.mark.parametrize("right", range(4))
def test_the_owner_of_what_all_others_have_wrong_is_named(right: int) -> None:
    found = _judged(*_others_wrong(right, origins=[right], alike=True))
    assert (found.named, found.layer) == ((right,), "collectives"), found.message
    assert f"what rank {right} sent is wrong at ranks" in found.message


@pytest.mark.parametrize("stage", ["before", "value", "loss", "grad", "param"])
def test_without_a_known_owner_the_majority_is_not_accused(stage: str) -> None:
    found = _judged(*_others_wrong(1, stage=stage))
    assert (found.state, found.named, found.layer) == ("fail", (), "collectives"), found.message
    assert "the same wrong values are at most ranks; it is not clear who gave them: ranks 0, 2, 3" in found.message


@pytest.mark.parametrize(
    "more",
    [
        {"stage": "local"},  # each has computed it itself
        {"stage": "input"},
        {"layer": "device"},  # as each one's own optimizer
    ],
)
def test_what_each_rank_makes_itself_is_no_matter_of_a_majority(more: dict[str, str]) -> None:
    assert _judged(*_others_wrong(1, **more)).named == (0, 2, 3)


def test_ranks_that_are_wrong_in_different_ways_are_named() -> None:
    made = _others_wrong(1)
    _with(made[3], words="expected 1, got 7")
    assert _judged(*made).named == (0, 2, 3)


@pytest.mark.parametrize("named", [(0,), (0, 2)])  # of four, two are no majority
def test_a_minority_is_named(named: tuple[int, ...]) -> None:
    made = [records.wrong(rank) if rank in named else records.right(rank) for rank in range(4)]
    assert _judged(*made).named == named


def test_of_a_message_to_all_who_alone_got_it_wrong_is_named() -> None:
    alone = _with(records.wrong(1, [3]), alike=True)
    assert _judged(records.right(0), alone, records.right(2), records.right(3)).named == (1,)
    sent = records.wrong(1, [3])  # to this rank alone
    assert _judged(records.right(0), sent, records.right(2), records.right(3)).named == (1, 3)


@pytest.mark.parametrize("many", [2, 4])
def test_of_a_sum_of_all_who_alone_got_it_wrong_is_named(many: int) -> None:
    others = [records.right(rank) for rank in range(many) if rank != 1]
    alone = _with(records.wrong(1, [0]), total=True)
    assert _judged(others[0], alone, *others[1:]).named == (1,)
    both = [_with(records.wrong(rank, [0]), total=True) for rank in range(many)]
    assert _judged(*both).named == (0,)


def test_of_two_ranks_it_stays_open_who_gave_or_received_it() -> None:
    found = _judged(_with(records.wrong(0, [1]), alike=True), records.right(1))
    assert found.named == ()
    assert "it is not clear at which end" in found.message


def test_where_several_parts_arrive_wrong_nobody_is_accused_of_them() -> None:
    everyone = judge(ModeRecord("fsdp1", 1.0, tuple(records.wrong(rank) for rank in range(4))))
    for suspects, named, words in (
        ([1], (1,), "what rank 1 contributes arrives wrong"),
        ([0, 1, 2], (), "what ranks 0, 1, 2 contribute arrives wrong at every rank; it is not clear who spoils it"),
    ):
        ranks = tuple(RankRecord(rank, result={"facts": {"suspects": suspects}}) for rank in range(4))
        found = located(everyone, ModeRecord("locate", 1.0, ranks))
        assert found.named == named, found.message
        assert words in found.message

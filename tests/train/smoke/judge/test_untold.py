"""What a verdict says where it is not clear whose fault it is, and what tells it after all."""

from __future__ import annotations

import pytest

from rocdoctor.train.smoke.judge.verdicts import judge
from rocdoctor.train.smoke.run.pool import ModeRecord, RankRecord
from tests.train.smoke.judge import records


def test_of_a_group_of_some_ranks_its_members_are_named_where_it_is_not_told_which() -> None:
    log = "  what():  [enforce fail at pair.cc:456] op.preamble.length <= op.nbytes. 4096 vs 64"
    ranks = [records.at(rank, "mean", log * (rank == 1)) for rank in range(4)]
    ranks[1].note["call"] = "all_reduce float32[16] among 1,3"
    found = judge(ModeRecord("subgroups", 1.0, tuple(ranks)))
    assert (found.named, found.layer) == ((1, 3), "framework"), found.message
    assert "it is not clear at which end" in found.message


def _summed(rank: int, wrong: bool) -> RankRecord:
    one = records.wrong(rank) if wrong else records.right(rank)
    for fault in (one.result or {}).get("faults", ()):
        fault.update(stage="value", reduced=True)
    return one


@pytest.mark.parametrize(
    ("wrong", "world", "named", "words"),
    [
        ((2,), 4, (2,), "rank 2 alone gets a wrong sum"),
        ((0, 1, 3), 4, (2,), "what rank 2 contributes is wrong at all others"),
        ((0, 1), 4, (), "ranks 0, 1; it is not clear who gave or received it"),
        ((0, 1, 2, 3), 4, (), "it is not clear who"),
        ((0,), 2, (), "wrong at rank 0; it is not clear who"),
    ],
)
def test_of_sums_that_each_rank_gets_in_its_turn_giver_and_receiver_are_told_apart(
    wrong: tuple[int, ...], world: int, named: tuple[int, ...], words: str
) -> None:
    found = judge(ModeRecord("one-to-all", 1.0, tuple(_summed(rank, rank in wrong) for rank in range(world))))
    assert (found.state, found.named, found.layer) == ("fail", named, "collectives"), found.message
    assert words in found.message


@pytest.mark.parametrize(
    ("whose", "named"),
    [
        ({1: 1}, (1,)),  # its own part, which nobody sent it
        ({1: 0}, ()),  # the other's: lost where it was sent, on the way or where it arrived
        ({0: 0, 1: 0}, ()),
    ],
)
def test_who_adds_its_own_part_wrongly_is_named_even_of_two(whose: dict[int, int], named: tuple[int, ...]) -> None:
    ranks = tuple(_summed(rank, rank in whose) for rank in range(2))
    for rank, guilty in whose.items():
        (ranks[rank].result or {})["faults"][0]["origins"] = [guilty]
    found = judge(ModeRecord("one-to-all", 1.0, ranks))
    assert (found.state, found.named, found.layer) == ("fail", named, "collectives"), found.message


@pytest.mark.parametrize(
    ("noted", "named", "layer"),
    [
        ({1: "device"}, (1,), "device"),
        ({1: "framework"}, (1,), "framework"),
        ({1: "no such layer"}, (1,), "device"),
        ({0: "", 1: ""}, (), "framework"),  # both had it: the loss itself is judged
        ({}, (), "framework"),
    ],
)
def test_whose_own_part_was_wrong_is_named_when_its_exchange_does_not_end(
    noted: dict[int, str], named: tuple[int, ...], layer: str
) -> None:
    ranks = (
        records.entered(0, "mean", "all_reduce float32[]"),
        records.entered(1, "backward", "all_gather float32[8]"),
    )
    for rank, told in noted.items():
        ranks[rank].note["fault"] = ["local", "places of tokens: expected 1, got 2", told]
    found = judge(ModeRecord("expert-parallel", 1.0, ranks))
    assert (found.state, found.named, found.layer) == ("crashed", named, layer), found.message
    assert ("this rank's own part of places of tokens: expected 1, got 2; then" in found.message) == (named == (1,))


def test_a_note_of_a_fault_that_is_none_is_not_read() -> None:
    for told in ("local", ["nowhere", "words", ""], ["local", 3, ""], None):
        ranks = (
            records.entered(0, "mean", "all_reduce float32[]"),
            records.entered(1, "backward", "all_gather float32[8]"),
        )
        ranks[1].note["fault"] = told
        assert "entered different" in judge(ModeRecord("ddp", 1.0, ranks)).message


@pytest.mark.parametrize(("step", "layer"), [(0, "collectives"), (1, "device")])
def test_a_parameter_that_changes_between_two_steps_came_by_no_exchange(step: int, layer: str) -> None:
    one = records.wrong(1)
    assert one.result is not None
    one.result["faults"][0].update(stage="before", step=step)
    found = judge(ModeRecord("ddp", 1.0, (records.right(0), one)))
    assert (found.named, found.layer) == ((1,), layer)


def test_a_rank_that_waits_for_a_lock_is_told_with_the_file() -> None:
    inside = '  File "/torch/distributed/distributed_c10d.py", line 9 in all_reduce'
    victim = RankRecord(0, silent=True, process_state="S", stack=inside, note={"seq": 1})
    waiting = RankRecord(1, silent=True, process_state="S", stack="", note={"seq": 1}, lock="/root/.cache/db.lock")
    found = judge(ModeRecord("ddp", 1.0, (victim, waiting)))
    assert found.named == (1,)
    assert found.layer == "configuration"
    assert "waited for the lock of /root/.cache/db.lock, which another process holds" in found.message


def _waiting(rank: int, seq: int) -> RankRecord:
    one = records.entered(rank, "mean", "all_reduce float32[]")
    one.note["seq"] = seq
    one.stack = 'Current thread:\n  File "/v/torch/autograd/graph.py", line 979 in _engine_run_backward\n'
    return one


def test_whose_connection_closed_while_all_wait_accuses_nobody() -> None:
    lost = RankRecord(1, result={"state": "crashed", "kind": "victim", "message": "Connection closed by peer"})
    lost.note.update(mark="mean", call="all_reduce float32[]", seq=7)
    found = judge(ModeRecord("ddp", 1.0, (_waiting(0, 7), lost)))
    assert (found.state, found.named, found.layer) == ("crashed", (), "collectives"), found.message
    assert "it is not clear at which end" in found.message
    behind = judge(ModeRecord("ddp", 1.0, (_waiting(0, 6), lost)))  # one has not come to the exchange of the others
    assert behind.named == (0,)

"""Who is named: from records of ranks alone, without running any."""

from __future__ import annotations

from typing import Any

from rocdoctor.smoke.blame import judge
from rocdoctor.smoke.pool import ModeRecord, RankRecord


def _wrong(rank: int, origins: list[int] | None = None, layer: str = "", stage: str = "value") -> RankRecord:
    fault: dict[str, Any] = {
        "stage": stage, "step": 0, "turn": 0, "name": "weight", "error": 1.0, "tolerance": 0.0, "words": "differs",
    }  # fmt: skip
    if origins:
        fault["origins"] = origins
    if layer:
        fault["layer"] = layer
    return RankRecord(rank, result={"state": "fail", "errors": {}, "tolerances": {}, "faults": [fault]})


def _right(rank: int) -> RankRecord:
    return RankRecord(rank, result={"state": "pass", "errors": {}, "tolerances": {}})


def _named(*ranks: RankRecord) -> tuple[int, ...]:
    return judge(ModeRecord("mode", 1.0, ranks)).named


def test_who_sent_what_all_others_got_wrong_is_named() -> None:
    assert _named(_wrong(0, [1]), _wrong(1, [1]), _wrong(2, [1]), _wrong(3, [1])) == (1,)
    assert _named(_wrong(0, [1]), _right(1), _wrong(2, [1]), _wrong(3, [1])) == (1,)


def test_both_ends_are_named_where_only_one_rank_got_it_wrong() -> None:
    assert _named(_wrong(0, [1]), _right(1), _right(2)) == (0, 1)


def test_who_got_wrong_what_several_sent_is_named_alone() -> None:
    assert _named(_wrong(0, [1, 2]), _right(1), _right(2)) == (0,)
    assert _named(_wrong(0, [0]), _right(1)) == (0,)


def test_where_not_all_ranks_know_who_sent_it_nobody_is_accused_of_it() -> None:
    assert _named(_wrong(0, [1]), _wrong(1), _right(2)) == (0, 1)
    assert _named(_wrong(0, [1]), _wrong(1, [0]), _right(2)) == (0, 1)


def test_what_breaks_alike_on_all_ranks_is_no_device() -> None:
    one = judge(ModeRecord("mode", 1.0, (_wrong(0, layer="device"), _right(1))))
    every = judge(ModeRecord("mode", 1.0, (_wrong(0, layer="device"), _wrong(1, layer="device"))))
    assert (one.layer, every.layer) == ("device", "framework")


def _stuck(rank: int, call: str) -> RankRecord:
    return RankRecord(rank, silent=True, note={"seq": 3, "call": call, "mark": "step 0"})


def test_a_collective_of_another_size_is_found() -> None:
    calls = ["all_gather_single float32[8] float32[2]"] * 3 + ["all_gather_single bfloat16[8] bfloat16[2]"]
    found = judge(ModeRecord("mode", 1.0, tuple(_stuck(rank, call) for rank, call in enumerate(calls))))
    assert (found.named, found.layer) == ((3,), "framework")
    assert "entered different collectives" in found.message


def test_groups_may_differ_in_what_they_do() -> None:
    calls = ["all_reduce float32[2] among 0,1"] * 2 + ["all_reduce float32[9] among 2,3"] * 2
    found = judge(ModeRecord("mode", 1.0, tuple(_stuck(rank, call) for rank, call in enumerate(calls))))
    assert "entered different collectives" not in found.message
    calls[3] = "broadcast float32[9] among 2,3"
    found = judge(ModeRecord("mode", 1.0, tuple(_stuck(rank, call) for rank, call in enumerate(calls))))
    assert "rank 3 entered broadcast" in found.message
    assert 0 not in found.named and 1 not in found.named

"""Which layer follows from what was seen."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from rocdoctor.train.smoke.judge.late_rank import waits
from rocdoctor.train.smoke.judge.layers import EVIDENCE, SAME_PARTS, Seen, layer_of
from rocdoctor.train.smoke.judge.verdicts import judge, located
from rocdoctor.train.smoke.run.pool import ModeRecord, RankRecord
from rocdoctor.train.smoke.run.second_look import looked_again
from rocdoctor.train.smoke.worker.mode import all_modes
from tests.train.smoke.judge import records

_WHOLE: dict[str, Any] = {"whole": True, "every": True}


@pytest.mark.parametrize(
    ("seen", "layer"),
    [
        (Seen("local"), "device"),
        (Seen("local", everyone=True), "framework"),  # not all devices break alike
        (Seen("input", told="configuration"), "configuration"),
        (Seen("param", told="device", everyone=True), "framework"),
        (Seen("param", told="device", everyone=True, several=False), "device"),
        (Seen("value"), "collectives"),
        (Seen("value", on_gpus=True), "link"),
        (Seen("value", on_gpus=True, everyone=True), "collectives"),
        (Seen("grad", everyone=True, several=False), "device"),
        (Seen("before"), "collectives"),
        (Seen("before", step=1), "device"),
        # A second look at the rank's own work.
        (Seen("local", work=False, **_WHOLE), "device"),
        (Seen("local", work=True, **_WHOLE), "framework"),
        (Seen("local", work=True, whole=True), "device"),  # one tensor of many
        (Seen("local", work=True, step=1, **_WHOLE), "device"),  # once, and not again
        # And at the exchanges.
        (Seen("grad", exchanges=True, **_WHOLE), "framework"),
        (Seen("grad", exchanges=True, on_gpus=True, **_WHOLE), "framework"),
        (Seen("grad", exchanges=False, **_WHOLE), "collectives"),
        (Seen("grad", exchanges=False, on_gpus=True, **_WHOLE), "link"),
        (Seen("grad", exchanges=True, whole=True), "collectives"),  # one message of many
        (Seen("grad", exchanges=True), "collectives"),  # a bit on the way
        (Seen("grad", exchanges=True, step=1, **_WHOLE), "collectives"),
        (Seen("grad", exchanges=True, everyone=True, whole=True), "framework"),
        (Seen("grad", exchanges=True, everyone=True), "collectives"),
        (Seen("grad", exchanges=False, everyone=True, whole=True), "collectives"),
        (Seen("before", exchanges=True, **_WHOLE), "framework"),
    ],
)
def test_evidence_leaves_one_layer(seen: Seen, layer: str) -> None:
    assert layer_of(seen)[0] == layer


def test_a_verdict_says_what_a_second_look_decided() -> None:
    assert layer_of(Seen("grad", exchanges=True, **_WHOLE))[1].startswith("all exchanges by themselves are right")
    assert layer_of(Seen("local", work=True, **_WHOLE))[1].startswith("right by itself")
    assert layer_of(Seen("grad"))[1] == ""


def test_no_row_is_of_no_use() -> None:
    """Each row changes what is said of something: one that does not would only seem to be evidence."""
    stages = ("input", "local", "before", "value", "grad", "param")
    flags = (True, False)
    every = [
        Seen(stage, step, everyone, several, gpus, "", whole, whole, work, exchanges)
        for stage in stages
        for step in (0, 1)
        for everyone in flags
        for several in flags
        for gpus in flags
        for whole in flags
        for work in (None, True, False)
        for exchanges in (None, True, False)
    ]
    for row in EVIDENCE:
        rest = [one for one in EVIDENCE if one is not row]
        assert any(layer_of(one) != layer_of(one, rest) for one in every), row[0]


def _faulty(rank: int, stage: str, **more: Any) -> RankRecord:
    one = records.wrong(rank, stage=stage)
    for fault in (one.result or {}).get("faults", ()):
        fault.update(more)
    return one


def _looked(*works: bool, exchanges: tuple[str, ...] = ()) -> tuple[dict[str, Any], ...]:
    return tuple({"work": work, "exchanges": [*exchanges] if not rank else []} for rank, work in enumerate(works))


def test_who_computes_wrongly_by_itself_spoils_what_all_get() -> None:
    everyone = ModeRecord("ddp-longer", 1.0, tuple(_faulty(rank, "loss", whole=True) for rank in range(3)))
    spoilt = judge(replace(everyone, again=_looked(True, False, True)))
    assert (spoilt.named, spoilt.layer) == ((1,), "device"), spoilt.message
    assert "rank 1 computes its part wrongly by itself" in spoilt.message
    assert judge(replace(everyone, again=_looked(True, True, True))).layer == "framework"
    assert judge(replace(everyone, again=_looked(False, False, False))).named == (0, 1, 2)
    wrong = judge(replace(everyone, again=_looked(True, True, True, exchanges=("all_reduce",))))
    assert (wrong.named, wrong.layer) == ((0, 1, 2), "collectives")


def test_who_computes_wrongly_by_itself_is_named_without_its_group() -> None:
    """A sum in a group of two is wrong at both, and one of them alone computes wrongly."""
    ranks = tuple(_faulty(rank, "grad", whole=True) if rank in (1, 3) else records.right(rank) for rank in range(4))
    group = ModeRecord("fsdp-tp", 1.0, ranks)
    assert judge(group).named == (1, 3)
    found = judge(replace(group, again=_looked(True, True, True, False)))
    assert (found.named, found.layer) == ((3,), "device"), found.message
    assert "rank 3 computes its part wrongly by itself; ranks 1, 3: " in found.message
    for one in ranks:
        for fault in (one.result or {}).get("faults", ()):
            fault["layer"] = "framework"  # as of a tensor that is missing: what it is, it says itself
    assert judge(replace(group, again=_looked(True, True, True, False))).layer == "framework"


def test_what_one_rank_gets_wrongly_is_asked_of_the_exchanges_of_all() -> None:
    ranks = (records.right(0), _faulty(1, "grad", **_WHOLE))
    at_one = ModeRecord("ddp", 1.0, ranks)
    assert judge(at_one).layer == "collectives"
    assert judge(replace(at_one, again=_looked(True, True))).layer == "framework"
    assert judge(replace(at_one, again=_looked(True, True, exchanges=("broadcast",)))).layer == "collectives"


def test_what_is_right_by_itself_counts_only_where_it_is_the_same_work() -> None:
    """Kernels of short types and groups of some ranks are not tried by the second look."""
    for mode, layers in (("fsdp2", ("framework", "framework")), ("qlora", ("device", "collectives"))):
        for stage, layer in zip(("local", "grad"), layers, strict=True):
            ranks = (records.right(0), _faulty(1, stage, **_WHOLE))
            found = judge(ModeRecord(mode, 1.0, ranks, again=_looked(True, True)))
            assert found.layer == layer, (mode, stage)
    known = {one.name for one in all_modes()}
    assert known >= SAME_PARTS


def test_a_second_look_is_for_wrong_numbers_of_ranks_that_are_all_there() -> None:
    asked: list[str] = []

    def run(mode: str, answers: int) -> ModeRecord:
        asked.append(mode)
        found = [RankRecord(rank, result={"state": "pass"}) for rank in range(2)]
        for one in found[:answers]:
            one.result = {"state": "pass", "facts": {"work": True, "exchanges": []}}
        return ModeRecord(mode, 0.1, tuple(found))

    wrong = ModeRecord("ddp", 1.0, (records.right(0), records.wrong(1)))
    assert looked_again(wrong, partial(run, answers=2)).again == _looked(True, True)
    assert looked_again(wrong, partial(run, answers=1)) is wrong  # what some saw alone proves nothing
    asked.clear()
    lost = RankRecord(1, exit_signal=9)
    for mode, ranks in (
        ("ddp", (records.right(0), records.right(1))),
        ("ddp", (records.wrong(0), lost)),
        ("ddp", (records.wrong(0),)),
        ("all-reduce", (records.right(0), records.wrong(1))),
        ("checkpoint-shapes", (records.right(0), records.wrong(1))),
    ):
        assert not looked_again(ModeRecord(mode, 1.0, ranks), partial(run, answers=2)).again
    assert not asked


def test_of_several_faults_at_one_place_the_one_that_knows_its_layer_is_told() -> None:
    both = records.wrong(1, stage="local")
    (loss,) = (both.result or {})["faults"]
    known = {**loss, "name": "embedding.weight", "words": "it is 32 times the expected tensor", "layer": "framework"}
    (both.result or {})["faults"].append(known)
    found = judge(ModeRecord("ddp", 1.0, (records.right(0), both)))
    assert found.layer == "framework"
    assert "32 times" in found.message


@pytest.mark.parametrize(
    ("computing", "layer"),
    [([], "collectives"), ([1], "device"), (None, "collectives")],  # None: a rank that does not tell it
)
def test_what_one_rank_gives_is_its_arithmetic_where_what_it_only_hands_on_comes_right(
    computing: list[int] | None, layer: str
) -> None:
    facts = {"suspects": [1]} | ({} if computing is None else {"computing": computing})
    record = ModeRecord("locate", 1.0, tuple(RankRecord(rank, result={"facts": facts}) for rank in range(3)))
    everyone = judge(ModeRecord("ddp", 1.0, tuple(records.wrong(rank) for rank in range(3))))
    assert (located(everyone, record).named, located(everyone, record).layer) == ((1,), layer)


@pytest.mark.parametrize(
    ("frame", "inside"),
    [
        ('File "/usr/lib/python3.11/threading.py", line 327 in wait', False),  # a queue, a lock
        ('File "/usr/lib/python3.11/concurrent/futures/thread.py", line 9 in wait', False),
        ('File "/v/torch/distributed/distributed_c10d.py", line 2810 in all_reduce', True),
        ('File "/x/smoke/worker/exchange.py", line 23 in move', True),  # work that C++ waits for
        ('File "/x/smoke/worker/exchange.py", line 55 in apply', False),
    ],
)
def test_who_waits_for_a_thread_waits_for_no_other_rank(frame: str, inside: bool) -> None:
    assert waits(f"Current thread:\n  {frame}\n") is inside

"""What the modes of one run tell of each other."""

from __future__ import annotations

from dataclasses import replace

from rocdoctor.parsers.own.smoke_results import Layer, ModeResult, RankResult, State
from rocdoctor.train.smoke.judge.by_modes import weighed
from rocdoctor.train.smoke.judge.verdicts import alike_everywhere
from rocdoctor.train.smoke.run.pool import ModeRecord, RankRecord

_EXCHANGES = ("all-reduce", "one-to-all", "all-gather", "reduce-scatter")


def _mode(
    name: str, state: State = "pass", layer: Layer = "", named: tuple[int, ...] = (), world: int = 2
) -> ModeResult:
    words = "the gradients: differ" if state == "fail" else ""
    ranks = tuple(
        RankResult(rank, "fail" if rank in named else "pass", words if rank in named else "", None, rank in named)
        for rank in range(world)
    )
    return ModeResult(name, state, 1.0, words, layer=layer, ranks=ranks)


def _of(results: list[ModeResult], name: str) -> tuple[str, tuple[int, ...]]:
    found = next(one for one in weighed(results, {name: "grad"}) if one.mode == name)
    return found.layer, found.named


def test_what_is_wrong_alike_everywhere_is_the_frameworks_where_all_exchanges_were_right() -> None:
    right = [_mode(name) for name in _EXCHANGES]
    everywhere, at_one = _mode("ddp", "fail", "collectives", (0, 1)), _mode("fsdp2", "fail", "collectives", (1,))
    assert _of([*right, everywhere], "ddp") == ("framework", (0, 1))
    assert "the exchanges by themselves were right" in weighed([*right, everywhere], {"ddp": "grad"})[-1].message
    assert _of([*right, at_one], "fsdp2") == ("collectives", (1,))  # a bit may have flipped once
    # One exchange was not run, or went wrong, or another one did.
    assert _of([*right[1:], everywhere], "ddp") == ("collectives", (0, 1))
    assert _of([*right[1:], _mode("all-reduce", "fail", "collectives", (1,)), everywhere], "ddp")[0] == "collectives"
    assert _of([*right, _mode("subgroups", "crashed", "collectives", (1,)), everywhere], "ddp")[0] == "collectives"


def test_an_exchange_that_is_wrong_everywhere_stays_the_librarys() -> None:
    results = [*(_mode(name) for name in _EXCHANGES), _mode("expert-parallel", "fail", "framework", (0, 1))]
    assert _of(results, "expert-parallel") == ("framework", (0, 1))
    wrong = [_mode(name) for name in _EXCHANGES[1:]] + [_mode("all-reduce", "fail", "collectives", (0, 1))]
    assert _of(wrong, "all-reduce") == ("collectives", (0, 1))


def test_a_rank_whose_arithmetic_is_wrong_by_itself_spoils_what_all_get() -> None:
    everywhere = _mode("ddp-grad-scaler", "fail", "collectives", (0, 1, 2), 3)
    alone = _mode("compute", "fail", "device", (1,), 3)
    assert _of([alone, everywhere], "ddp-grad-scaler") == ("device", (1,))
    assert (
        "rank 1 computes wrongly by itself (mode compute)"
        in weighed([alone, everywhere], {"ddp-grad-scaler": "grad"})[1].message
    )
    # What each rank computed was compared before the exchange, and was right; an optimizer comes after it.
    compared = replace(everywhere, max_error={"local": 0.0, "grad": 1.0})
    assert weighed([alone, compared], {"ddp-grad-scaler": "grad"}) == [alone, compared]
    assert weighed([alone, compared], {"ddp-grad-scaler": "param"})[1].named == (1,)
    program = _mode("optimizers", "fail", "framework", (1,), 3)  # no arithmetic, so others need not meet it
    assert _of([program, everywhere], "ddp-grad-scaler") == ("collectives", (0, 1, 2))
    # All ranks alike, or nobody: nothing follows.
    assert _of([_mode("compute", "fail", "framework", (0, 1, 2), 3), everywhere], "ddp-grad-scaler")[0] == "collectives"


def test_ranks_that_differ_in_what_is_wrong_first_are_no_single_fault() -> None:
    one = _mode("ddp", "fail", "collectives", (0, 1))
    results = [*(_mode(name) for name in _EXCHANGES), one]
    assert weighed(results, {}) == results
    assert alike_everywhere(ModeRecord("ddp", 1.0, (_wrong(0, "head"), _wrong(1, "head")))) == "grad"
    # A few values may have been spoilt on the way to all.
    assert not alike_everywhere(ModeRecord("ddp", 1.0, (_wrong(0, "head", False), _wrong(1, "head", False))))
    assert not alike_everywhere(ModeRecord("ddp", 1.0, (_wrong(0, "loss"), _wrong(1, "norm"))))
    assert not alike_everywhere(ModeRecord("ddp", 1.0, (_wrong(0, "loss"), RankRecord(1, result={"state": "pass"}))))
    assert not alike_everywhere(ModeRecord("ddp", 1.0, (_wrong(0, "loss"),)))


def _wrong(rank: int, name: str, whole: bool = True) -> RankRecord:
    fault = {"stage": "grad", "step": 0, "turn": 0, "name": name, **({"whole": True} if whole else {})}
    return RankRecord(rank, result={"state": "fail", "faults": [fault]})

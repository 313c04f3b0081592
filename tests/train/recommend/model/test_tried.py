"""What a trial does to the estimates of its own plan, of its kind, and of others on the same GPU."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from rocdoctor.train.recommend.estimate import Result, solve
from rocdoctor.train.recommend.fleet.gpu_figures import GIB
from rocdoctor.train.recommend.fleet.trials import MOST, read_trials
from rocdoctor.train.recommend.memory.gpu_memory import TRIED_CUT, TRIED_WHOLE
from rocdoctor.train.recommend.model.tried import kind_of, plan_of

SPEC: dict[str, Any] = {
    "model": "llama-3-8b",
    "gpu": {"name": "MI300X"},
    "gpus": 8,
    "seq": 4096,
    "micro_batch": 2,
    "parallel": {"fsdp": 8},
    "framework": "fsdp2",
    "recompute": "full",
    "precision": "bf16",
}


def _trial(spec: dict[str, Any] = SPEC, **changes: Any) -> dict[str, Any]:
    work = solve(spec).work
    made = {
        "day": "2026-11-20",
        "kind": kind_of(work),
        "plan": plan_of(work),
        "layers": [3, 6],
        "whole": False,
        "live": 1.1,
        "reserved": 1.2,
        "speed": 0.8,
        "outside_gib": 3.0,
    }
    return {**made, **changes}


def _solved(*trials: dict[str, Any], **changes: Any) -> Result:
    return solve({**SPEC, "gpu": {"name": "MI300X", "trials": list(trials)}, **changes})


def _said(found: Result) -> str:
    from rocdoctor.train.recommend.estimate import answer_of

    return "\n".join(answer_of(found)["why"])


@pytest.mark.parametrize(("whole", "error"), [(False, TRIED_CUT), (True, TRIED_WHOLE)])
def test_its_own_plan_takes_what_was_measured(whole: bool, error: float) -> None:
    bare, found = _solved(), _solved(_trial(whole=whole))
    assert found.memory.live_peak == pytest.approx(1.1 * bare.memory.live_peak)
    assert found.memory.reserved == pytest.approx(1.2 * bare.memory.reserved)
    assert found.memory.low == pytest.approx(1.1 * bare.memory.live_peak * (1 - error))
    assert found.memory.high == pytest.approx(1.2 * bare.memory.reserved * (1 + error) + 3 * GIB)
    assert bare.speed is not None and found.speed is not None
    assert found.speed.tokens_per_s_per_gpu == pytest.approx(0.8 * bare.speed.tokens_per_s_per_gpu)
    assert found.speed.mfu == pytest.approx(0.8 * bare.speed.mfu)
    assert "memory measured here on 2026-11-20" in _said(found)
    assert "speed measured here on 2026-11-20: this plan ran at 0.80" in _said(found)


def test_others_of_its_kind_are_never_said_to_need_less() -> None:
    """A trial that took less than estimated must not make another plan fit."""
    bare = _solved(micro_batch=4)
    more, less = _solved(_trial(), micro_batch=4), _solved(_trial(reserved=0.6, live=0.6), micro_batch=4)
    assert more.memory.high == pytest.approx(bare.memory.high + 0.2 * bare.memory.reserved)
    assert (more.memory.low, more.memory.live_peak) == (bare.memory.low, bare.memory.live_peak)
    assert less.memory == bare.memory
    assert "a similar plan took 1.20 times its estimate" in _said(more)
    assert "memory measured" not in _said(less)


def test_other_kinds_keep_their_memory_and_share_the_speed() -> None:
    """Else the plan that was tried would look slow beside all that nobody tried."""
    ddp = {"framework": "ddp", "parallel": {"dp": 8}}
    bare, found = _solved(**ddp), _solved(_trial(), **ddp)
    assert found.memory == bare.memory
    assert bare.speed is not None and found.speed is not None
    assert found.speed.tokens_per_s_per_gpu == pytest.approx(0.8 * bare.speed.tokens_per_s_per_gpu)
    assert "the nearest plan that was tried" in _said(found)


@pytest.mark.parametrize("micro_batch", [2, 4])
def test_the_nearest_trial_speaks(micro_batch: int) -> None:
    """That of the plan itself, and for another plan that of its kind, before one that was made later."""
    compiled = {**SPEC, "compile": True}
    found = _solved(_trial(speed=0.8), _trial(compiled, speed=0.5), micro_batch=micro_batch)
    bare = _solved(micro_batch=micro_batch)
    assert bare.speed is not None and found.speed is not None
    assert found.speed.tokens_per_s_per_gpu == pytest.approx(0.8 * bare.speed.tokens_per_s_per_gpu)


@pytest.mark.parametrize("key", ["estimate", "rate"])
def test_a_ratio_to_another_estimate_says_nothing(key: str) -> None:
    """Of another release, or of other rates of this GPU."""
    old = _trial()
    old["kind"], old["plan"] = {**old["kind"], key: 0.5}, {**old["plan"], key: 0.5}
    assert _solved(old).memory == _solved().memory
    assert _solved(old).speed == _solved().speed


@pytest.mark.parametrize(
    "raw",
    [
        None,
        "trials",
        [None, 3, "x"],
        [_trial(live=0)],
        [_trial(live="1.1")],
        [_trial(reserved=float("nan"))],
        [_trial(reserved=1e9)],
        [_trial(day="yesterday")],
        [_trial(day=16**5000)],
        [_trial(layers=[True])],
        [_trial(layers=[])],
        [_trial(layers=[True, "6"])],
        [_trial(kind="fsdp2")],
        [_trial(plan={"x": "y" * 5000})],
    ],
)
def test_what_is_no_trial_is_left_out(raw: Any) -> None:
    assert read_trials(raw) == ()


def test_a_trial_reads_back_and_the_latest_are_kept() -> None:
    many = [_trial(day=f"2026-10-{day:02}") for day in range(1, 29)]
    found = read_trials(many)
    assert [one.day for one in found] == [one["day"] for one in many[-MOST:]]
    assert read_trials([found[0].as_json()]) == found[:1]


@pytest.mark.parametrize("key", ["day", "on", True])
@pytest.mark.parametrize("day", ["2026-11-20", datetime.date(2026, 11, 20), datetime.datetime(2026, 11, 20, 8, 30)])
def test_a_day_may_be_written_as_yaml_reads_it(key: Any, day: Any) -> None:
    trial = {name: value for name, value in _trial().items() if name != "day"}
    assert [one.day for one in read_trials([{**trial, key: day}])] == ["2026-11-20"]

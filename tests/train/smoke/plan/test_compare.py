"""The whole plan from the depths that ran: the straight line, the ratio, and what is kept of it."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, Literal

import pytest

from rocdoctor.parsers.own.smoke_results import ModeResult, SmokeRun
from rocdoctor.train.recommend.estimate import solve
from rocdoctor.train.smoke.plan import perform
from rocdoctor.train.smoke.plan.compare import Compared, compared, corrected, read_run
from rocdoctor.train.smoke.plan.depths import guess
from rocdoctor.train.smoke.plan.order import cut
from rocdoctor.train.smoke.run import request
from tests.report.trial_kit import GIB, SPEC

DAY = "2026-11-28"


def _result(
    layers: int, live: list[float], reserved: list[float], seconds: list[float], outside: float | None = 2 * GIB
) -> ModeResult:
    rows = [
        {"layers": layers, "seconds": seconds, "live_bytes": one, "reserved_bytes": other, "outside_bytes": outside}
        for one, other in zip(live, reserved, strict=True)
    ]
    return ModeResult("plan", "pass", 1.0, facts={"layers": layers, "vocab": 128256, "trials": rows})


def _two(spec: dict[str, Any] = SPEC, device: Literal["cpu", "cuda"] = "cuda", grow_s: float = 0.1) -> Compared:
    """3 and 6 layers that took 10 + 2 and 12 + 3 GiB a layer, and 0.2 s beside 0.1 s a layer."""
    work = solve(spec).work
    runs = []
    for layers in (3, 6):
        live, held, step_s = (10 + 2 * layers) * GIB, (12 + 3 * layers) * GIB, 0.2 + grow_s * layers
        run = read_run(cut(work, layers), _result(layers, [live, live], [held, held], [step_s, 9.0, step_s / 2]))
        assert run is not None
        runs.append(run)
    return compared(work, runs, device)


def test_two_depths_give_the_whole_by_a_straight_line() -> None:
    found = _two()
    assert found.live == pytest.approx((10 + 2 * 32) * GIB)
    assert found.reserved == pytest.approx((12 + 3 * 32) * GIB)
    assert found.step_s == pytest.approx(0.2 + 0.1 * 32)
    told = guess(found.work)
    assert found.reserved_ratio == pytest.approx(found.reserved / told.memory.reserved)
    assert told.step_s is not None
    assert found.speed == pytest.approx(told.step_s / 3.4)
    assert not found.whole


def test_the_corrected_memory_is_what_was_measured_with_what_stays_open() -> None:
    found = _two()
    memory, speed, fits = corrected(found, DAY)
    assert memory.low == pytest.approx(0.95 * 74 * GIB)
    assert memory.high == pytest.approx((1.05 * 108 + 2) * GIB)
    assert fits == "yes"  # of 174.9 GiB
    assert speed is not None
    assert speed.tokens_per_s_per_gpu == pytest.approx(2 * 4096 / 3.4)


def test_a_plan_that_ran_whole_is_surer_than_one_that_was_cut() -> None:
    work = solve(SPEC).work
    run = read_run(work, _result(32, [74 * GIB] * 2, [108 * GIB] * 2, [3.4]))
    assert run is not None
    found = compared(work, [run], "cuda")
    assert found.whole
    assert corrected(found, DAY)[0].high == pytest.approx((1.02 * 108 + 2) * GIB)


def test_a_deeper_model_that_took_no_longer_tells_no_speed() -> None:
    found = _two(grow_s=0.0)
    assert found.step_s is None
    assert found.speed is None
    assert found.trial(DAY).speed is None


def test_the_cpu_says_nothing_of_gpus() -> None:
    found = _two(device="cpu")
    assert found.speed is None
    assert not found.on_its_own
    assert not found.kept
    assert found.memory_ratio == found.live_ratio


@pytest.mark.parametrize(("more_gib", "odd"), [(1.0, ()), (4.0, ((1, 4.0),))])
def test_a_rank_is_odd_from_a_tenth_on(more_gib: float, odd: tuple[tuple[int, float], ...]) -> None:
    work = solve(SPEC).work
    run = read_run(work, _result(32, [20 * GIB] * 2, [30 * GIB, (30 + more_gib) * GIB], [1.0]))
    assert run is not None
    found = compared(work, [run], "cuda")
    assert tuple((rank, round(size / GIB, 6)) for rank, size in found.odd) == odd
    assert found.kept is (not odd)


@pytest.mark.parametrize(("outside_gib", "busy", "alone"), [(2, False, True), (60, False, False), (2, True, False)])
def test_a_trial_beside_other_programs_is_not_kept(outside_gib: float, busy: bool, alone: bool) -> None:
    work = solve(SPEC).work
    result = _result(32, [74 * GIB] * 2, [108 * GIB] * 2, [34.0], outside_gib * GIB)
    run = read_run(work, replace(result, facts={**result.facts, "busy": busy}))
    assert run is not None
    found = compared(work, [run], "cuda")
    assert (found.kept, "speed" in found.off) == (alone, alone)
    if not alone:  # what others hold counts against no plan
        assert corrected(found, DAY)[0].high == pytest.approx(1.02 * 108 * GIB + guess(work).memory.context)


@pytest.mark.parametrize(("used", "busy"), [((), False), ((1,), True), ((2,), False)])
def test_what_used_a_gpu_before_counts_where_ranks_are_on_it(
    monkeypatch: pytest.MonkeyPatch, used: tuple[int, ...], busy: bool
) -> None:
    run = SmokeRun(2, "nccl", "cuda", "2.9", 1.0, (_result(32, [1.0] * 2, [1.0] * 2, [1.0]),))
    monkeypatch.setattr(perform, "run_plan", lambda *_: run)
    size = int(solve(SPEC).work.gpu.memory_bytes)
    gpus = [{"index": one, "memory_bytes": size, "free_bytes": 0 if one in used else size} for one in range(3)]
    pool: Any = SimpleNamespace(hello={"nccl": True})
    made = request._tried(pool, request.Request(plan=json.dumps(SPEC)), gpus, (), None, 0.0)
    assert made.modes[0].facts.get("busy", False) is busy


def test_small_runs_are_neither_off_nor_kept() -> None:
    """A process differs from the next by more than that."""
    work = solve({**SPEC, "model": {"layers": 2, "hidden": 64, "vocab": 512, "heads": 2, "ffn": 128}}).work
    told = guess(work).memory.reserved
    run = read_run(work, _result(2, [told + 30e6] * 2, [told + 30e6] * 2, [1.0]))
    assert run is not None
    found = compared(work, [run], "cuda")
    assert found.memory_ratio > 1.1
    assert "memory" not in found.off
    assert not found.kept


def test_fewer_words_speak_for_no_other_plan() -> None:
    work = solve(SPEC).work
    run = read_run(cut(work, 1, 1024), _result(1, [20 * GIB] * 2, [30 * GIB] * 2, [1.0]))
    assert run is not None
    found = compared(work, [run], "cuda")
    assert found.vocabulary_cut
    assert not found.kept
    assert not found.whole


@pytest.mark.parametrize(
    "facts",
    [
        {},
        {"trials": "none"},
        {"trials": [None, None]},
        {"trials": [{"seconds": [1.0], "live_bytes": 1, "reserved_bytes": 1}]},  # of two ranks
        {"trials": [{"seconds": [], "live_bytes": 1, "reserved_bytes": 1}] * 2},
        {"trials": [{"seconds": [1.0], "live_bytes": -1, "reserved_bytes": True}] * 2},
    ],
)
def test_facts_that_are_no_measurement_are_none(facts: dict[str, Any]) -> None:
    assert read_run(solve(SPEC).work, replace(_result(1, [], [], []), facts=facts)) is None

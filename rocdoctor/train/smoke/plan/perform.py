"""Runs a plan at one or two depths on a pool of ranks."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import psutil

from rocdoctor.parsers.own.smoke_results import ModeResult, RankResult, SmokeRun
from rocdoctor.train.recommend.errors import SpecError
from rocdoctor.train.recommend.estimate import solve
from rocdoctor.train.recommend.fleet.gpu_figures import GIB
from rocdoctor.train.recommend.model.spec import Work
from rocdoctor.train.smoke.judge.rank_words import kind_of
from rocdoctor.train.smoke.judge.verdicts import judge
from rocdoctor.train.smoke.plan.depths import STEPS, WARM, depths, seconds
from rocdoctor.train.smoke.plan.order import order, refusal
from rocdoctor.train.smoke.run.pool import ModeRecord, Pool
from rocdoctor.train.smoke.run.rank_sets import MAX_WORLD, PlanError
from rocdoctor.train.smoke.run.runner import RunSetting, Told, ended
from rocdoctor.train.smoke.worker.plan_step import NAME

# Of what is free; the rest is for the server, for loaded libraries and for whoever else works here.
_SHARE_CPU = 0.8
_START_S = 60.0
# A step may take this many times its estimate before it counts as hanging; a compiler may take as long as this.
_PATIENCE, _COMPILE_S = 5.0, 300.0
_MOST_S = 3600.0
# Memory of GPUs that go by one name differs by what the board keeps for itself.
_OTHER_GPU = 0.1


def work_of(spec: Any) -> Work:
    """The configuration of a plan; raises PlanError."""
    try:
        return solve(spec).work
    except SpecError as error:
        raise PlanError(f"the plan cannot be read: {error}") from None


def setting_of(
    work: Work, hello: Mapping[str, Any], gpus: Sequence[Mapping[str, Any]], world: int | None, device: str
) -> RunSetting:
    """The ranks that the plan is for; raises PlanError where this machine has not what it needs, with what to do."""
    ranks = work.gpus
    if world not in (None, ranks):
        raise PlanError(f"the plan is for {ranks} ranks; it cannot be used with --world {world}")
    if ranks > MAX_WORLD:
        raise PlanError(f"the plan is for {ranks} ranks, and one machine runs {MAX_WORLD} at most{_ELSEWHERE}")
    if device == "cpu" or work.gpu.name == "CPU":
        if not hello.get("gloo"):
            raise PlanError("without GPUs a plan needs gloo, and this torch was built without it")
        return RunSetting(ranks, "gloo", "cpu", untested=("GPUs",))
    if len(gpus) < ranks:
        seen = f"torch sees {len(gpus)} here" if gpus else "torch sees none here"
        small = "" if gpus else ", or try only its memory with --device cpu"
        raise PlanError(f"the plan is for {ranks} GPU{'s' * (ranks > 1)} and {seen}{_ELSEWHERE}{small}")
    other = [
        one for one in gpus[:ranks] if abs(float(one.get("memory_bytes") or 0) / work.gpu.memory_bytes - 1) > _OTHER_GPU
    ]
    if other:
        size = float(other[0].get("memory_bytes") or 0) / GIB
        raise PlanError(
            f"the plan is for {work.gpu.name} with {work.gpu.memory_bytes / GIB:.0f} GiB, and GPU "
            f"{other[0].get('index')} here ({other[0].get('name')}) has {size:.0f} GiB{_ELSEWHERE}"
        )
    if not hello.get("nccl"):
        raise PlanError("plans are tried on GPUs with the nccl backend, which this torch was built without")
    return RunSetting(ranks, "nccl", "cuda")


_ELSEWHERE = ": try it there, or plan for this machine (rocdoctor recommend --model NAME)"


def room_of(work: Work, setting: RunSetting, available_bytes: float | None = None) -> float:
    """Bytes that a rank may take."""
    if setting.device != "cpu":
        return work.gpu.usable_bytes
    free = float(psutil.virtual_memory().available) if available_bytes is None else available_bytes
    return _SHARE_CPU * free / setting.world


def share_of(setting: RunSetting, cores: int | None = None) -> float | None:
    """The part of a core that each rank has where ranks run on the CPU, one thread each; None on GPUs."""
    if setting.device != "cpu":
        return None
    return min(1.0, (len(os.sched_getaffinity(0)) if cores is None else cores) / setting.world)


def too_long(chosen: Sequence[Work], share: float | None) -> str | None:
    """Why depths are not run on the CPU, as a sentence's end: they would be ended as hanging while they work."""
    if share is None or not chosen or _wait_s(chosen[-1], share) <= _MOST_S:
        return None
    one = chosen[-1]
    layers = f"{one.model.layers} layer{'s' * (one.model.layers > 1)}"
    minutes = (WARM + STEPS) * seconds(one, share) / 60.0
    elsewhere = "" if one.gpu.name == "CPU" else "try it on its GPUs, or "
    wait = f", or give --deadline {_MOST_S:.0f}" if 60.0 * minutes + _START_S <= _MOST_S else ""
    return (
        f"{WARM + STEPS} steps of {layers} would take about {minutes:.0f} minutes on the CPU: {elsewhere}use a "
        f"smaller micro_batch or seq{wait}"
    )


def run_plan(
    pool: Pool,
    work: Work,
    setting: RunSetting,
    told: Told | None = None,
    limit_s: float | None = None,
    steps: tuple[int, int] = (WARM, STEPS),
) -> SmokeRun:
    """The plan at its depths, ``steps`` to warm up and to be measured; these are the run's modes, the
    shallowest first, and what each rank measured is their facts."""
    began = time.monotonic()
    tell = told or (lambda what, mode, rank, state: None)
    results: list[ModeResult] = []
    why = refusal(work)
    share = share_of(setting)
    chosen = depths(work, room_of(work, setting), share) if why is None else ()
    if why is None and not chosen:
        room = room_of(work, setting) / GIB
        least = "two layers fit" if work.model.layers > 1 else "one layer fits"
        why = f"not even {least} into the {room:.1f} GiB that each rank may take here"
    if why is None and limit_s is None:
        why = too_long(chosen, share)
    if why is not None:
        results.append(_none(why, setting.world))
    for one in chosen if why is None else ():
        title = f"{NAME} of {one.model.layers} layers"
        tell("mode", title, -1, "")
        found = _depth(pool, order(one, *steps), one, setting, limit_s or min(_MOST_S, _wait_s(one, share)))
        results.append(replace(found, mode=title))
        tell("done", title, -1, found.state)
        if found.state != "pass":
            break
    return ended(pool, setting, began, results)


def _wait_s(work: Work, share: float | None) -> float:
    """How long a depth may take before it counts as hanging."""
    steps = _PATIENCE * (WARM + STEPS) * seconds(work, share)
    return _START_S + steps + (_COMPILE_S if work.compile else 0.0)


def _none(why: str, world: int) -> ModeResult:
    ranks = tuple(RankResult(rank, "not-applicable") for rank in range(world))
    return ModeResult(NAME, "not-applicable", 0.0, why, ranks=ranks)


def _depth(pool: Pool, told: Mapping[str, Any], work: Work, setting: RunSetting, limit_s: float) -> ModeResult:
    """One depth on ranks made anew: what an earlier depth left in an allocator would be measured too."""
    found = judge(pool.start(setting.world, setting.backend, setting.device, limit_s, max(limit_s, setting.limit_s)))
    if found.state != "pass":
        return found
    record = pool.run(NAME, limit_s, options=told)
    return replace(judge(record), facts=_facts(record, work))


def _facts(record: ModeRecord, work: Work) -> dict[str, Any]:
    listed = [(one.result or {}).get("facts", {}).get("trial") for one in record.ranks]
    facts: dict[str, Any] = {"layers": work.model.layers, "vocab": work.model.vocab}
    if all(isinstance(one, dict) for one in listed):
        facts["trials"] = listed
    short = next((one for one in record.ranks if kind_of(one) == "memory"), None)
    if short is not None:
        facts["out_of_memory"] = {"rank": short.rank, "at": str(short.note.get("mark", ""))}
    return facts

"""Memory and speed of one training configuration: the answer of ``rocdoctor.estimate/1``.

Reading and checking is in ``spec``, counts in ``shapes``, bytes in ``memory`` and ``activations``, seconds in
``speed``, ``communication`` and ``pipeline``; what cannot be computed from first principles stands in
``profiles/efficiency.yaml``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from rocdoctor.knowledge.load import profiles_folder, read_table
from rocdoctor.train.recommend.errors import SpecError
from rocdoctor.train.recommend.explain.cautions import cautions
from rocdoctor.train.recommend.explain.reasons import reasons
from rocdoctor.train.recommend.fleet.gpu_figures import GIB
from rocdoctor.train.recommend.memory.fit import fits
from rocdoctor.train.recommend.memory.fitting_change import smallest_change
from rocdoctor.train.recommend.memory.gpu_memory import GpuMemory, memory
from rocdoctor.train.recommend.memory.unsaid import assumed, covering
from rocdoctor.train.recommend.model.spec import Recompute, Work, read_spec
from rocdoctor.train.recommend.speed.pipeline import Schedule, schedule
from rocdoctor.train.recommend.speed.step_time import Speed, speed

__all__ = ["Result", "SpecError", "answer_of", "efficiency", "estimate", "solve"]


@dataclass(frozen=True, slots=True)
class Result:
    """An estimate with the work it is of.

    ``speed`` is None for a GPU whose peak is not known; ``change`` says what would fit where it does not surely.
    """

    work: Work
    schedule: Schedule
    memory: GpuMemory
    speed: Speed | None
    fits: str
    derived: tuple[str, ...]
    change: str | None


@cache
def efficiency() -> Mapping[str, Any]:
    """The table of efficiencies."""
    return read_table(profiles_folder() / "efficiency.yaml")


def _schedule(work: Work) -> Schedule:
    plan = work.parallel
    return schedule(plan.schedule, plan.pp, plan.chunks, work.microbatches)


def solve(spec: Any, table: Mapping[str, Any] | None = None) -> Result:
    """The estimate of a specification; raises SpecError. ``table`` is the efficiency table, for fitting."""
    rows = table if table is not None else efficiency()
    why: list[str] = []
    nics = {name: float(row["v"]) * 1e9 for name, row in rows["network_gb_s"].items()}
    work, recompute_given = read_spec(spec, nics, why)
    plan = _schedule(work)
    found = memory(work, plan, rows["memory"])
    if not recompute_given:
        # The least recompute with which it may run: nobody publishes a run that did not fit.
        choices: tuple[Recompute, ...] = ("selective", "full")
        for choice in choices:
            if fits(found, work.gpu) != "no":
                break
            work = replace(work, recompute=choice)
            found = memory(work, plan, rows["memory"])
        why.append(f"recompute not given: {work.recompute}, the least that may fit")
    taken = list(assumed(work, found, lambda one: memory(one, plan, rows["memory"])))
    found, unsaid = covering(work, found, lambda one: memory(one, plan, rows["memory"]))
    why += [*unsaid, *taken]
    told = speed(work, plan, {**rows["speed"], "generations": rows["generations"]})
    verdict = fits(found, work.gpu)
    change = None
    if verdict != "yes":
        change = smallest_change(work, rows["memory"]) or "no change of this kind makes it fit: use more or larger GPUs"
    return Result(work, plan, found, told, verdict, tuple(why), change)


def estimate(spec: Any) -> dict[str, Any]:
    """The answer of ``rocdoctor.estimate/1`` for one specification; raises SpecError and nothing else.

    Memory in GiB of one GPU: ``reserved`` is what the allocator holds, ``low`` to ``high`` what the device must have.
    ``tokens_per_s_per_gpu``, ``mfu`` and ``bound_by`` are null where the GPU's peak is not known.
    """
    return answer_of(solve(spec))


def answer_of(one: Result) -> dict[str, Any]:
    """The answer of an estimate that was solved."""
    found, told = one.memory, one.speed
    figures = {
        "states": found.states,
        "gathered": found.gathered,
        "activations": found.activations,
        "logits": found.logits,
        "buffers": found.buffers,
        "live_peak": found.live_peak,
        "reserved": found.reserved,
        "low": found.low,
        "high": found.high,
        "usable": one.work.gpu.usable_bytes,
    }
    return {
        "schema": "rocdoctor.estimate/1",
        "fits": one.fits,
        "memory_gib": {key: round(value / GIB, 2) for key, value in figures.items()},
        "tokens_per_s_per_gpu": round(told.tokens_per_s_per_gpu, 1) if told else None,
        "mfu": round(told.mfu, 4) if told else None,
        "mfu_causal": round(told.mfu_causal, 4) if told else None,
        "bound_by": told.bound_by if told else None,
        "why": [
            *([one.change] if one.change else []),
            *cautions(one.work, found),
            *reasons(one.work, one.schedule, found, told),
            *one.derived,
        ],
    }

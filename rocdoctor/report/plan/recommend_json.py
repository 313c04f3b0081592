"""A recommendation as JSON (``rocdoctor.recommend/1``)."""

from __future__ import annotations

from typing import Any

from rocdoctor.report.plan.recommend_document import headline
from rocdoctor.train.recommend.fleet.gpu_figures import GIB
from rocdoctor.train.recommend.plan import Plan, Recommendation


def _gib(value: float | None) -> float | None:
    return None if value is None else round(value / GIB, 2)


def _plan(plan: Plan) -> dict[str, Any]:
    found, told, work = plan.result.memory, plan.result.speed, plan.work
    terms = ("states", "gathered", "activations", "logits", "buffers", "live_peak", "reserved", "low", "high")
    return {
        "spec": dict(plan.spec),
        "fits": plan.result.fits,
        "memory_gib": {**{key: _gib(getattr(found, key)) for key in terms}, "usable": _gib(work.gpu.usable_bytes)},
        "tokens_per_s_per_gpu": round(told.tokens_per_s_per_gpu, 1) if told else None,
        "mfu": round(told.mfu, 4) if told else None,
        "bound_by": told.bound_by if told else None,
        "global_batch": plan.global_batch,
        "choices": [
            {
                "key": one.key,
                "value": one.value,
                "reason": one.reason,
                "figure": one.figure,
                "instead": one.instead,
                "source": one.source,
            }
            for one in plan.choices
        ],
        "ranks": [
            {
                "rank": one.rank,
                "group": one.group,
                "local_rank": one.seat.local_rank,
                "gpu": one.seat.bdf,
                "torch_index": one.seat.torch_index,
                "numa_node": one.seat.numa_node,
                "cpus": one.seat.cpus,
                "nic": one.seat.nic,
            }
            for one in plan.ranks
        ],
        "environment": [{"name": one.name, "value": one.value, "reason": one.reason} for one in plan.environment],
        "notes": list(plan.notes),
    }


def as_json(answer: Recommendation) -> dict[str, Any]:
    """The answer; ``plan`` is null when nothing fits, and ``needed`` then says what would."""
    fleet, work = answer.fleet, answer.workload
    return {
        "schema": "rocdoctor.recommend/1",
        "headline": headline(answer),
        "fleet": {
            "name": fleet.name,
            "origin": fleet.origin,
            "vendor": fleet.vendor,
            "nodes": fleet.nodes,
            "per_node": fleet.per_node,
            "gfx": fleet.gfx,
            "fabric": fleet.fabric,
            "islands": [list(one) for one in fleet.islands],
            "memory_gib": _gib(fleet.gpu.memory_bytes),
            "host_memory_gib": _gib(fleet.host_memory_bytes),
            "left_out": list(fleet.left_out),
            "sources": dict(fleet.sources),
        },
        "workload": {
            "model": work.model.name,
            "method": work.method,
            "seq": work.seq,
            "global_batch": work.global_batch,
            "goal": work.goal,
            "derived": list(work.derived),
        },
        "plan": _plan(answer.plan) if answer.plan is not None else None,
        "runner_up": {**_plan(answer.runner_up), "margin": answer.margin} if answer.runner_up is not None else None,
        "faster": {**_plan(answer.faster), "gain": answer.gain} if answer.faster is not None else None,
        "needed": [one.text for one in answer.needed],
        "notes": [*answer.unfit, *answer.notes],
        "considered": answer.considered,
    }

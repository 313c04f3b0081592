"""Small plans for CPU ranks, and running them with a fault."""

from __future__ import annotations

import json
from typing import Any

from rocdoctor.train.smoke.plan.outcome import Outcome, outcome
from rocdoctor.train.smoke.plan.perform import run_plan, setting_of, work_of
from tests.train.smoke.kit import healthy_pool, plant

DAY = "2026-11-28"


def spec(**changes: Any) -> dict[str, Any]:
    """A decoder of 5 M parameters for two ranks, some 100 MiB a rank; fp32, since CPUs multiply bf16 slowly."""
    made: dict[str, Any] = {
        "model": {"layers": 2, "hidden": 128, "heads": 4, "kv_heads": 2, "ffn": 256, "vocab": 16384, "gated": True},
        "gpu": {"name": "CPU", "mem_gib": 16, "usable_gib": 12, "per_node": 2},
        "gpus": 2,
        "seq": 128,
        "micro_batch": 2,
        "framework": "ddp",
        "parallel": {"dp": 2},
        "recompute": "none",
        "precision": "fp32",
    }
    return {**made, **changes}


def tried(given: dict[str, Any], fault: str = "", rank: int | str = -1, limit_s: float = 60.0) -> Outcome:
    """The plan run on real ranks of this machine, with one fault at one rank (``all``: every rank); once without."""
    if fault:
        return _tried(given, fault, rank, limit_s)
    key = json.dumps(given, sort_keys=True)
    if key not in _healthy:
        _healthy[key] = _tried(given, "", -1, limit_s)
    return _healthy[key]


_healthy: dict[str, Outcome] = {}


def _tried(given: dict[str, Any], fault: str, rank: int | str, limit_s: float) -> Outcome:
    pool = healthy_pool()
    if fault:
        plant(fault, rank, "plan")
    work = work_of(given)
    run = run_plan(pool, work, setting_of(work, pool.hello, [], None, "auto"), limit_s=limit_s, steps=(1, 2))
    return outcome(given, run, DAY)

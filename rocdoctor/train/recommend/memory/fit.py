"""Whether an estimate fits its GPU."""

from __future__ import annotations

from rocdoctor.train.recommend.fleet.gpu_figures import Gpu
from rocdoctor.train.recommend.memory.gpu_memory import Memory

# Share of usable memory that a run may plan with; the rest is for what no estimate sees.
SHARE = 0.92


def fits(found: Memory, gpu: Gpu) -> str:
    """yes: the high estimate is at most 92 % of usable memory; no: the low one is above it; else tight."""
    limit = SHARE * gpu.usable_bytes
    return "yes" if found.high <= limit else "no" if found.low > limit else "tight"

"""Whether an estimate fits its GPU."""

from __future__ import annotations

from rocdoctor.train.recommend.fleet.gpu_figures import GpuFigures
from rocdoctor.train.recommend.memory.gpu_memory import GpuMemory

# Share of usable memory that a run may plan with; the rest is for what no estimate sees.
SHARE = 0.92


def fits(found: GpuMemory, gpu: GpuFigures) -> str:
    """yes: the high estimate is at most 92 % of usable memory; no: the low one is above it; else tight."""
    limit = SHARE * gpu.usable_bytes
    return "yes" if found.high <= limit else "no" if found.low > limit else "tight"

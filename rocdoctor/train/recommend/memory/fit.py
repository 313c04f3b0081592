"""Whether an estimate fits its GPU."""

from __future__ import annotations

from rocdoctor.train.recommend.fleet.gpu_figures import GpuFigures
from rocdoctor.train.recommend.memory.gpu_memory import GpuMemory

# Share of usable memory that a run may plan with; the rest is for what no estimate sees.
SHARE = 0.92


def fits(found: GpuMemory, gpu: GpuFigures) -> str:
    """yes: the high estimate is at most 92 % of usable memory; no: the low one, with what the driver takes, is above
    all of it; else tight. Four runs of foundation-model-stack/fms-acceleration held 95 to 97 % of an A100."""
    if found.high <= SHARE * gpu.usable_bytes:
        return "yes"
    return "no" if found.low + found.context > gpu.usable_bytes else "tight"

"""Whether an estimate fits its GPU."""

from __future__ import annotations

from rocdoctor.train.recommend.fleet.gpu_figures import GIB, GpuFigures
from rocdoctor.train.recommend.memory.gpu_memory import GpuMemory

# What the driver and a first communicator surely take (context_gib and collective_gib of the efficiency table): the
# others are connected as they are used, so "no" does not rest on them.
_SURELY_OUTSIDE = 1.2 * GIB
# Share of usable memory that a run may plan with; the rest is for what no estimate sees.
SHARE = 0.92


def fits(found: GpuMemory, gpu: GpuFigures) -> str:
    """yes: the high estimate is at most 92 % of usable memory; no: the low one, with what the driver takes, is above
    all of it; else tight. Four runs of foundation-model-stack/fms-acceleration held 95 to 97 % of an A100."""
    if found.high <= SHARE * gpu.usable_bytes:
        return "yes"
    return "no" if found.low + min(found.context, _SURELY_OUTSIDE) > gpu.usable_bytes else "tight"

"""The GPU has counted hardware errors (ECC, RAS) that it could not correct.

Why
  An uncorrectable error means damaged data: the job that used it crashed or computed wrongly. AMD drivers count
  them by block (umc is the memory, sdma the copy engine, xgmi_wafl the links between GPUs ...) since the driver was
  loaded; NVIDIA drivers count "volatile" ones since then and "aggregate" ones over the life of the card. Old
  aggregate errors whose pages were retired are history and only a note.

Fix
  Take this GPU out of the job, power cycle the machine, and have the card replaced if the errors return.

References
  https://docs.kernel.org/gpu/amdgpu/ras.html
  https://docs.nvidia.com/deploy/nvidia-smi/index.html (ECC Errors)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from rocdoctor.insight.gpus.left_out import command_without
from rocdoctor.judging.check import Fix, Outcome, check, cite, each_gpu, error, info, not_applicable, unknown
from rocdoctor.model.evidence import Known, value_or
from rocdoctor.model.facts import Gpu, Machine

_CAUSE = "gpu-hardware-fault"
_FIX = Fix(
    "Take this GPU out of the job, power cycle the machine, and have the GPU replaced if uncorrectable errors return",
    safety="manual",
)
_OF_ITS_LIFE = "aggregate"  # NVIDIA's name for what was counted in all the years of a card


@check(each_gpu)
def ras_uncorrectable(machine: Machine, gpu: Gpu) -> Outcome:
    if not gpu.ras:
        if gpu.vendor not in ("amd", "nvidia"):
            return not_applicable("not an AMD or NVIDIA GPU")
        raise unknown("no error counters in this evidence (many consumer cards have none)")
    counted = [(block, block.uncorrectable) for block in gpu.ras if isinstance(block.uncorrectable, Known)]
    if not counted:
        raise unknown("the counters of uncorrectable errors could not be read")
    bad = [(block.block.lower(), count) for block, count in counted if count.value > 0]
    lately = [(name, count) for name, count in bad if name != _OF_ITS_LIFE]
    if lately:
        words = ", ".join(
            f"{count.value}" if name == "volatile" else f"{count.value} in the {name} block" for name, count in lately
        )
        return error(
            f"Uncorrectable hardware errors (ECC/RAS) since the driver was loaded: {words}.",
            evidence=[cite(count, f"{name}: {count.value} uncorrectable") for name, count in lately],
            fix=replace(_FIX, command=command_without(machine, {one.subject for one in _sick(machine.gpus)})),
            explains=("ras-log-uncorrectable", "gpu-reset-log", "vram-lost", "queue-eviction-failed"),
            cause=_CAUSE,
        )
    if bad:
        ((_, count),) = bad
        return info(
            f"Over its life this GPU has counted {count.value} uncorrectable ECC errors; none since the driver was "
            "loaded.",
            evidence=[cite(count, f"aggregate: {count.value} uncorrectable")],
            fix=Fix("Note the number; if it grows, take the GPU out of jobs and ask for a replacement", safety="safe"),
        )
    return None


def _sick(gpus: Iterable[Gpu]) -> list[Gpu]:
    """All that are found so: one command leaves them all out."""
    return [
        gpu
        for gpu in gpus
        if any(one.block.lower() != _OF_ITS_LIFE and value_or(one.uncorrectable, 0) > 0 for one in gpu.ras)
    ]

"""The GPU has corrected hardware errors (ECC, RAS) by itself.

Why
  A few corrected errors are ordinary in large memories and on fast links; results stay right. Look closer if one GPU
  counts far more than its identical neighbours: such a part often fails later. Errors on the links between GPUs are
  judged by the check xgmi-errors.

Fix
  Nothing to do for a few. Save the counters and compare them after the next long job.

References
  https://docs.kernel.org/gpu/amdgpu/ras.html
  https://docs.nvidia.com/deploy/nvidia-smi/index.html (ECC Errors)
"""

from __future__ import annotations

from rocdoctor.judging.check import Fix, Outcome, check, cite, each_gpu, info, not_applicable, unknown, warning
from rocdoctor.model.evidence import Known, value_or
from rocdoctor.model.facts import Gpu, Machine

_CAUSE = "gpu-hardware-fault"
_LINK_BLOCKS = ("xgmi_wafl", "xgmi", "wafl")
# Far from the neighbours: ten times as many, and more than chance brings (judgements, so they only earn a warning).
_MANY = 1000
_TIMES_NEIGHBOURS = 10
_FIX = Fix("Save the counters and compare them after the next long job", safety="safe")


@check(each_gpu)
def ras_correctable(machine: Machine, gpu: Gpu) -> Outcome:
    if not gpu.ras:
        if gpu.vendor not in ("amd", "nvidia"):
            return not_applicable("not an AMD or NVIDIA GPU")
        raise unknown("no error counters in this evidence (many consumer cards have none)")
    # Lifetime counts say nothing of today.
    wanted = [block for block in gpu.ras if block.block.lower() not in (*_LINK_BLOCKS, "aggregate")]
    counted = [(block, block.correctable) for block in wanted if isinstance(block.correctable, Known)]
    if not counted:
        raise unknown("the counters of corrected errors could not be read")
    found = [(block.block.lower(), count) for block, count in counted if count.value > 0]
    if not found:
        return None
    words = ", ".join(f"{n.value}" if name == "volatile" else f"{n.value} in the {name} block" for name, n in found)
    evidence = [cite(count, f"{name}: {count.value} corrected") for name, count in found]
    name, most = max(found, key=lambda one: one[1].value)
    others = _neighbours(machine, gpu, name)
    if most.value >= _MANY and others and most.value >= _TIMES_NEIGHBOURS * max(1, *others):
        return warning(
            f"Corrected hardware errors (ECC/RAS): {words}; identical GPUs here counted at most {max(others)} in that "
            "block.",
            evidence=evidence,
            fix=_FIX,
            confidence="likely",
            cause=_CAUSE,
        )
    return info(f"Corrected hardware errors (ECC/RAS): {words}. Results are not affected.", evidence=evidence, fix=_FIX)


def _neighbours(machine: Machine, gpu: Gpu, name: str) -> list[int]:
    """What equal GPUs of this machine counted in the same block."""
    model = value_or(gpu.pci_id, None)
    return [
        block.correctable.value
        for other in machine.gpus
        if other.index != gpu.index and model is not None and value_or(other.pci_id, "") == model
        for block in other.ras
        if block.block.lower() == name and isinstance(block.correctable, Known)
    ]

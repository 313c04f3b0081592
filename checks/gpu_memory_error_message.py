"""A program reports an uncorrectable memory or link error of a GPU, or that the GPU is lost.

Why
  "uncorrectable ECC error" and "GPU is lost" come from the hardware: memory cells, the NVLink or the card's connection
  failed. Code, wheels and settings do not cause this. The same job runs on other GPUs or nodes.

Fix
  Take the GPU (on a cluster: the node) out of service, reset it or reboot once, and read its error counters. If the
  error returns, it must be replaced.

References
  https://docs.nvidia.com/deploy/xid-errors/
  https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/
"""

from __future__ import annotations

from rocdoctor.insight.texts.pasted import first_value, in_slurm, said, shown, vendors, when_said
from rocdoctor.judging.check import Fix, Outcome, check, error
from rocdoctor.model.facts import Machine

_KINDS = ("gpu-memory-error", "gpu-lost")
_SUPPLY = ("supply-of-box-told", "weak-power-supply-told")


@check(when_said(*_KINDS), cause="gpu-hardware-fault")
def gpu_memory_error_message(machine: Machine) -> Outcome:
    messages = said(machine, *_KINDS)
    memory = said(machine, "gpu-memory-error")
    what = first_value(memory or messages, "what") or "hardware error"
    bdf = first_value(messages, "bdf")
    card = f"The GPU at {bdf}" if bdf else "A GPU"
    if memory:
        text = f"{card} reported an {what}: a hardware fault of that GPU's memory or link, not of the program."
    else:
        text = f"{card} no longer answers the driver ({what}): its hardware, power or PCIe connection failed."
    supply = not memory and bool(said(machine, *_SUPPLY))  # the writer has found why the card leaves the bus
    amd = vendors(machine) == {"amd"}
    node = (
        " On a cluster drain the node (sbatch --exclude=NODE until then) and tell the administrators."
        if (in_slurm(machine) or memory)
        else " Check its power cables, seat and riser."
    )
    return error(
        text,
        evidence=shown(messages),
        fix=Fix(
            "Reset the GPU or reboot once and read its ECC error counters; if the error returns, take the GPU out of "
            f"service and have it replaced.{node}",
            command="rocm-smi --showrasinfo all; sudo dmesg | grep -i ras"
            if amd
            else "nvidia-smi -q -d ECC,ROW_REMAPPER; sudo dmesg | grep -i xid",
            verify="# run the same job on another GPU",
        ),
        confidence="certain" if memory else "possible" if supply else "likely",
        # Heat that was told before the card was gone is its reason, not what follows from it.
        explains=() if supply or (not memory and said(machine, "hot-and-gone")) else ("thermal-or-power-limit",),
    )

"""A kernel accessed memory that it does not own, or a GPU was reset because a kernel did not finish.

Why
  "Memory access fault by GPU", "an illegal memory access" and "HW Exception ... GPU Hang" mean that the driver stopped
  a kernel. Usually the kernel is at fault: an index outside its range, memory freed too early, a bug in a library, or
  code for another architecture that runs because of an override. The text alone proves no hardware fault.

Fix
  Find the kernel: run with AMD_SERIALIZE_KERNEL=3 (or CUDA_LAUNCH_BLOCKING=1), so that the traceback names the call.
  Unset HSA_OVERRIDE_GFX_VERSION. If simple, known programs fail too, read the kernel log and the error counters.

References
  https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/debugging.html
  https://docs.nvidia.com/cuda/compute-sanitizer/
"""

from __future__ import annotations

from rocdoctor.insight.texts.pasted import first_value, said, shown, vendors, when_said
from rocdoctor.judging.check import Fix, Outcome, check, warning
from rocdoctor.model.facts import Machine
from rocdoctor.model.shell_command import ShellCommand, shell

_FAULT, _HANG = "gpu-memory-fault", "gpu-hang"


@check(when_said(_FAULT, _HANG), cause="not-environment")
def gpu_fault_message(machine: Machine) -> Outcome:
    messages = said(machine, _FAULT) or said(machine, _HANG)
    if any(name.startswith("HSA_OVERRIDE_GFX_VERSION") for name in machine.environment.variables):
        return None  # code of another target may be what faults: the checks of the override speak
    hang = messages[0].kind == _HANG
    node, reason = first_value(messages, "node"), first_value(messages, "reason")
    where = f" (KFD node {node})" if node else ""
    why = f" ({reason.lower()})" if reason and reason != "Unknown" else ""
    text = f"A kernel on the GPU{where} accessed memory that is not mapped for it{why}."
    if hang:
        text = f"The driver reset the GPU{where} because a kernel did not end."
    serial = ShellCommand("CUDA_LAUNCH_BLOCKING=1" if vendors(machine) == {"nvidia"} else "AMD_SERIALIZE_KERNEL=3")
    return warning(
        f"{text} The usual reason is a bug in the program or a library; this text does not prove a hardware fault.",
        evidence=shown(messages),
        fix=Fix(
            f"Run once with {serial}, so that the traceback names the call, and compare with another release of the "
            "library; if known programs fail too, look for the same moment in the kernel log",
            command=shell("{serial} python3 train.py; sudo dmesg | tail -40", serial=serial),
            safety="safe",
        ),
        confidence="possible",
    )

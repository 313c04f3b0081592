"""A program used GPU memory that is not mapped for it: a GPU page fault.

Why
  The driver stops a kernel that reads or writes an address it does not own. That is a fault of the program or of one of
  its libraries (an index out of bounds, a freed buffer, code for another GPU because of HSA_OVERRIDE_GFX_VERSION) far
  more often than of the machine. It does not prove broken memory. With VMID 0 it was the driver or the firmware itself.

Fix
  Find the kernel: run the program with AMD_SERIALIZE_KERNEL=3 and HIP_LAUNCH_BLOCKING=1, without
  HSA_OVERRIDE_GFX_VERSION.

References
  https://docs.kernel.org/gpu/amdgpu/debugging.html (page faults)
  https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/debugging.html
"""

from __future__ import annotations

from rocdoctor.insight.texts.log_events import (
    age,
    by_device,
    events_of,
    gpu_log,
    is_current,
    is_recent,
    number,
    quotes,
    times,
)
from rocdoctor.judging.check import Finding, Fix, Outcome, check, info, warning
from rocdoctor.model.facts import Machine

_CAUSE = "not-environment"
_FIX = Fix(
    "Run the program that faulted with serialised kernels to find the one at fault, without HSA_OVERRIDE_GFX_VERSION",
    command="AMD_SERIALIZE_KERNEL=3 HIP_LAUNCH_BLOCKING=1 python train.py",
    safety="safe",
)


@check(gpu_log("amd", "gpu-page-fault"))
def gpu_page_fault(machine: Machine) -> Outcome:
    found: list[Finding] = []
    for device, events in by_device(machine, events_of(machine, "gpu-page-fault")):
        words = f"GPU page faults were logged {times(len(events))}, last {age(machine, events)}"
        live = [event for event in events if is_current(event) and is_recent(event)]
        evidence = quotes(machine, events)
        if live and all(number(event, "vmid") == 0 for event in live):
            found.append(
                warning(
                    f"{words}, by the driver or the firmware itself (VMID 0).",
                    evidence=evidence,
                    fix=Fix("Try a newer kernel driver and firmware", safety="reboots"),
                    subject=device,
                    cause="gpu-firmware",
                    confidence="possible",
                )
            )
        elif live:
            found.append(
                warning(
                    f"{words}: a program used memory that is not mapped for it, usually through its own fault.",
                    evidence=evidence,
                    fix=_FIX,
                    subject=device,
                    confidence="possible",
                    explains=("queue-eviction-failed",),
                    cause=_CAUSE,
                )
            )
        else:
            found.append(
                info(
                    f"{words}; usually the fault of a program.",
                    evidence=evidence,
                    subject=device,
                    fix=Fix(
                        "If the job failed, start it with AMD_SERIALIZE_KERNEL=3 to find the kernel at fault",
                        safety="safe",
                    ),
                )
            )
    return found

"""A reset wiped the GPUs' memory.

Why
  After a full reset (mode 1, BACO) the content of video memory is gone. Jobs that had data there cannot continue,
  including those of other users on the same GPU; desktops may show garbage until they are restarted.

Fix
  Start the jobs again from their last checkpoint, and fix the cause of the reset.

References
  drivers/gpu/drm/amd/amdgpu/amdgpu_device.c (VRAM is lost due to GPU reset)
"""

from __future__ import annotations

from rocdoctor.insight.texts.log_events import age, events_of, gpu_log, is_recent, quotes, times
from rocdoctor.judging.check import Fix, Outcome, check, info, warning
from rocdoctor.model.facts import Machine


@check(gpu_log("amd", "gpu-vram-lost"))
def vram_lost(machine: Machine) -> Outcome:
    # At resume from suspend the driver saves and restores the memory itself.
    events = tuple(event for event in events_of(machine, "gpu-vram-lost") if not event.during_resume)
    if not events:
        return None
    words = f"A reset wiped the VRAM {times(len(events))}, last {age(machine, events)}"
    evidence = quotes(machine, events)
    if all(event.before_driver_load for event in events) or not is_recent(events[-1]):
        return info(
            f"{words}; the driver has worked since.",
            evidence=evidence,
            fix=Fix("If jobs failed then, start them again from their last checkpoint", safety="safe"),
        )
    return warning(
        f"{words}: jobs that had data on the GPUs lost it.",
        evidence=evidence,
        fix=Fix("Start the lost jobs again from their last checkpoint, and fix the cause of the reset", safety="safe"),
    )

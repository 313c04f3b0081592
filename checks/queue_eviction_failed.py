"""Compute queues could not be taken off the GPU (evicted), stopped or started again.

Why
  The driver takes the queues of a process off the GPU to reset it, to move memory or to switch processes. If the
  command processor (CP) or the scheduler (MES) does not respond, the GPU hangs and is usually reset next. Near a
  hardware error or a reset these lines are a consequence of it; by themselves they mean an endless or stuck kernel, or
  a bug in firmware or driver.

Fix
  Look at what comes before it in the log. If there is nothing, update driver and firmware, and find the kernel that
  never ends.

References
  drivers/gpu/drm/amd/amdkfd/kfd_device_queue_manager.c
"""

from __future__ import annotations

from rocdoctor.insight.texts.log_events import (
    age,
    by_device,
    events_of,
    gpu_log,
    is_current,
    is_recent,
    other_events,
    quotes,
    times,
)
from rocdoctor.judging.check import Finding, Fix, Outcome, check, info, warning
from rocdoctor.model.facts import LogEvent, Machine
from rocdoctor.model.subject import Subject

_KINDS = ("kfd-queue-preemption-failed", "kfd-evict-restore-failed", "mes-no-response")
_ORIGINS = ("ras-uncorrectable", "ras-poison-consumed", "gpu-reset-begin", "gpu-ring-timeout", "smu-no-response")
_NEAR_S = 120.0
_FIX = Fix(
    "Read what the log says before it; if it says nothing, update the driver and the firmware", command="sudo dmesg -T"
)


@check(gpu_log("amd", *_KINDS))
def queue_eviction_failed(machine: Machine) -> Outcome:
    events = events_of(machine, *_KINDS)
    named = [event for event in events if event.bdf is not None]
    # Lines without an address belong to those that name a device; alone they are about the machine.
    groups = by_device(machine, named or events)
    return [_judge(machine, device, members, events) for device, members in groups]


def _judge(machine: Machine, device: Subject, members: tuple[LogEvent, ...], events: tuple[LogEvent, ...]) -> Finding:
    words = (
        f"Compute queues could not be stopped, evicted or restored {times(len(members))}, last {age(machine, members)}"
    )
    unnamed = [event for event in events if event.bdf is None and event not in members]
    evidence = quotes(machine, [*members, *unnamed])
    live = [event for event in members if is_current(event) and is_recent(event)]
    if not live:
        return info(f"{words}.", evidence=evidence, subject=device, fix=_FIX)
    if any(_near(one, event) for one in other_events(machine, *_ORIGINS) for event in live):
        return warning(
            f"{words}; this follows from the error or reset that was logged with it.",
            evidence=evidence,
            fix=_FIX,
            subject=device,
        )
    return warning(
        f"{words}: the command processor or the scheduler (CP, MES) of the GPU did not respond, so jobs hang.",
        evidence=evidence,
        fix=_FIX,
        subject=device,
    )


def _near(one: LogEvent, event: LogEvent) -> bool:
    if one.time_s is not None and event.time_s is not None:
        return abs(one.time_s - event.time_s) <= _NEAR_S
    return abs(one.line - event.line) <= 200

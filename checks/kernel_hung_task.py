"""A process waits in the kernel for minutes and cannot be ended.

Why
  The kernel reports tasks that wait uninterruptibly for more than two minutes. If a GPU driver is in trouble at the
  same time, the GPU or its firmware does not answer, and even SIGKILL does not end the process. Slow network file
  systems cause the same line, which then has nothing to do with GPUs.

Fix
  Read the call trace below the line: the functions name the driver. A GPU that hangs needs a reset or a reboot.

References
  https://docs.kernel.org/admin-guide/sysctl/kernel.html (hung_task_timeout_secs)
"""

from __future__ import annotations

from rocdoctor.insight.texts.log_events import age, events_of, is_current, is_recent, other_events, quotes, times
from rocdoctor.judging.check import Fix, Outcome, check, info, warning, whole_machine
from rocdoctor.model.facts import LogEvent, Machine

_GPU_EVENTS = (
    "gpu-ring-timeout",
    "gpu-reset-begin",
    "gpu-reset-failed",
    "smu-no-response",
    "mes-no-response",
    "gpu-lost",
    "kfd-queue-preemption-failed",
    "kfd-evict-restore-failed",
    "ras-uncorrectable",
    "nvidia-fallen-off-bus",
)
_FATAL_XIDS = frozenset({61, 62, 79, 119, 120})
_GPU_WORDS = ("amdgpu", "kfd", "nvidia", "nv_queue", "xe_", "i915")
_NEAR_S = 600.0


@check(whole_machine)
def kernel_hung_task(machine: Machine) -> Outcome:
    events = events_of(machine, "hung-task")
    if not events:
        return None
    words = f"Processes hung in the kernel (blocked for minutes) {times(len(events))}, last {age(machine, events)}"
    evidence = quotes(machine, events)
    trouble = [
        event
        for event in other_events(machine, *_GPU_EVENTS, "nvidia-xid")
        if is_current(event) and (event.kind != "nvidia-xid" or event.values.get("xid") in _FATAL_XIDS)
    ]
    of_gpu = [event for event in events if _named(event) or any(_near(event, one) for one in trouble)]
    if not of_gpu or not any(is_recent(event) for event in of_gpu):
        return info(
            f"{words}; nothing in the log ties that to a GPU.",
            evidence=evidence,
            fix=Fix(
                "Read the call traces in the log: they usually name a disk or a network file system that did not "
                "answer",
                command="sudo dmesg -T",
                safety="safe",
            ),
        )
    return warning(
        f"{words}, together with trouble in a GPU or its driver: such processes cannot be ended.",
        evidence=[*evidence, *quotes(machine, trouble[:2])],
        fix=Fix("Read the call trace of the blocked task, then reboot if the GPU does not come back", safety="reboots"),
    )


def _named(event: LogEvent) -> bool:
    return any(word in str(event.values.get("process", event.text)).lower() for word in _GPU_WORDS)


def _near(event: LogEvent, one: LogEvent) -> bool:
    return event.time_s is not None and one.time_s is not None and abs(event.time_s - one.time_s) <= _NEAR_S

"""The driver reset GPUs while the machine was running.

Why
  A reset ends every job on the GPU; on machines whose GPUs form a hive (XGMI), all of them are reset together. The
  reset is a consequence: look for what comes before it (hardware error, ring timeout, queue that could not be stopped).
  Resets while the driver is loaded, or at suspend and resume, are ordinary and do not count.

Fix
  Treat the cause that is reported with it. If a reset failed, reboot, or power the machine off and on.

References
  https://docs.kernel.org/gpu/amdgpu/ras.html
  drivers/gpu/drm/amd/amdgpu/amdgpu_device.c (amdgpu_device_gpu_recover)
"""

from __future__ import annotations

from rocdoctor.insight.texts.log_events import (
    age,
    events_of,
    gpu_log,
    is_current,
    is_recent,
    other_events,
    quotes,
    times,
)
from rocdoctor.judging.check import Fix, Outcome, check, error, info, warning
from rocdoctor.model.facts import LogEvent, Machine

_KINDS = ("gpu-reset-begin", "gpu-reset-failed")
_HARDWARE = ("ras-uncorrectable", "ras-poison-consumed")
# One recovery of a hive prints for a minute; lines without times count by distance.
_ONE_RECOVERY_S = 120.0
_ONE_RECOVERY_LINES = 200


@check(gpu_log("amd", *_KINDS))
def gpu_reset_log(machine: Machine) -> Outcome:
    events = events_of(machine, *_KINDS)
    begun = tuple(event for event in events if event.kind == "gpu-reset-begin" and not event.during_resume)
    failed = tuple(event for event in events if event.kind == "gpu-reset-failed" and is_current(event))
    recovered = [event for event in other_events(machine, "gpu-reset-succeeded") if is_current(event)]
    lost = [event for event in failed if not any(one.line > event.line and _same(one, event) for one in recovered)]
    hardware = any(is_current(event) for event in other_events(machine, *_HARDWARE))
    cause = "gpu-hardware-fault" if hardware else ""
    if lost and is_recent(lost[-1]):
        return error(
            f"A GPU reset failed and no later one succeeded, last {age(machine, lost)}: the GPU stays unusable until "
            "a reboot.",
            evidence=quotes(machine, lost),
            fix=Fix("Reboot; if the GPU does not come back, power the machine off and on", safety="reboots"),
            cause="gpu-hardware-fault",
            confidence="likely" if hardware else "possible",
            explains=("vram-lost", "queue-eviction-failed"),
        )
    if not begun:
        return None
    recoveries = _recoveries(begun)
    words = f"The driver reset GPUs {times(len(recoveries))}{_how(machine, begun)}, last {age(machine, begun)}"
    ended = tuple(event for event in recovered if any(_near(event, start) for start in begun))
    evidence = quotes(machine, [*begun, *ended])
    if all(event.before_driver_load for event in begun):
        return info(
            f"{words}; the driver was loaded again since.",
            evidence=evidence,
            cause="",
            fix=Fix(
                "If it happens again, read what the log says before the reset", command="sudo dmesg -T", safety="safe"
            ),
        )
    if not is_recent(begun[-1]):
        return info(
            f"{words}{'; the GPUs came back' if ended else ''}.",
            evidence=evidence,
            cause="",
            fix=Fix(
                "If it happens again, read what the log says before the reset", command="sudo dmesg -T", safety="safe"
            ),
        )
    back = "; the GPUs came back, but the jobs on them were lost" if ended else "; the jobs on them were lost"
    return warning(
        f"{words}{back}.",
        evidence=evidence,
        fix=Fix("Look at what the log says before the reset, and start the lost jobs again", command="sudo dmesg -T"),
        cause=cause,
        explains=("vram-lost", "queue-eviction-failed"),
    )


def _same(one: LogEvent, other: LogEvent) -> bool:
    return one.bdf is None or other.bdf is None or one.bdf == other.bdf


def _near(one: LogEvent, start: LogEvent) -> bool:
    if one.time_s is not None and start.time_s is not None:
        return -1.0 <= one.time_s - start.time_s <= _ONE_RECOVERY_S
    return 0 <= one.line - start.line <= _ONE_RECOVERY_LINES


def _recoveries(begun: tuple[LogEvent, ...]) -> list[LogEvent]:
    """The first event of each recovery: the GPUs of a hive begin within seconds of one another."""
    starts: list[LogEvent] = []
    for event in begun:
        if not starts or not _near(event, starts[-1]):
            starts.append(event)
    return starts


def _how(machine: Machine, begun: tuple[LogEvent, ...]) -> str:
    """Mode and number of GPUs, from the lines that belong to one of the recoveries."""
    methods = [
        event for event in other_events(machine, "gpu-reset-method") if any(_near(event, start) for start in begun)
    ]
    modes = sorted({str(event.values["method"]) for event in methods if "method" in event.values})
    gpus = {event.bdf for event in (*methods, *begun) if event.bdf is not None}
    mode = f"{' and '.join(modes)} reset" if modes else ""
    count = f"{len(gpus)} GPU{'s' if len(gpus) != 1 else ''}" if gpus else ""
    return f" ({', '.join(part for part in (mode, count) if part)})" if mode or count else ""

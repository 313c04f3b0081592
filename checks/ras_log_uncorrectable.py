"""The kernel log reports hardware errors of a GPU that could not be corrected.

Why
  RAS messages come from the GPU's own error detection. "Uncorrectable" (ERREVENT_ATHUB_INTERRUPT is the fatal form)
  and "poison consumption" mean that data was damaged: the driver kills the job or resets every GPU of the hive.
  "Deferred" errors are damaged data that nobody has read yet. Look at the GPU that reports the error, not at those
  that were reset with it.

Fix
  Take the named GPU out of the job, power cycle the machine (a warm reboot keeps some states), and have the GPU
  replaced if the message returns.

References
  https://docs.kernel.org/gpu/amdgpu/ras.html
  drivers/gpu/drm/amd/amdgpu/amdgpu_ras.c
"""

from __future__ import annotations

from dataclasses import replace

from rocdoctor.insight.gpus.left_out import command_without
from rocdoctor.insight.texts.log_events import age, by_device, events_of, gpu_log, is_recent, number, quotes
from rocdoctor.judging.check import Finding, Fix, Outcome, check, error, info, warning
from rocdoctor.model.facts import LogEvent, Machine

_FATAL = ("ras-uncorrectable", "ras-poison-consumed")
_KINDS = (*_FATAL, "ras-deferred")
_FIX = Fix(
    "Take this GPU out of the job, power cycle the machine, and have the GPU replaced if the message returns",
    safety="manual",
)
_FOLLOWS = (
    "gpu-reset-log",
    "vram-lost",
    "queue-eviction-failed",
    "ring-timeout",
    "smu-not-responding",
    "gpu-page-fault",
)


@check(gpu_log("amd", *_KINDS), cause="gpu-hardware-fault")
def ras_log_uncorrectable(machine: Machine) -> Outcome:
    found: list[Finding] = []
    logged = {device for device, _ in by_device(machine, events_of(machine, *_KINDS))}
    fix = replace(_FIX, command=command_without(machine, logged))  # one command leaves them all out
    for device, events in by_device(machine, events_of(machine, *_KINDS)):
        fatal = tuple(event for event in events if event.kind in _FATAL)
        if not fatal:
            found.append(
                (warning if any(is_recent(event) for event in events) else info)(
                    f"The driver logged deferred hardware errors (ECC/RAS){_where(events)}: data "
                    f"is damaged but was not used yet, last {age(machine, events)}.",
                    evidence=quotes(machine, events),
                    fix=fix,
                    subject=device,
                )
            )
            continue
        # After a restart of the driver the GPU has passed its own tests once more.
        reloaded = all(event.before_driver_load for event in fatal)
        make = warning if reloaded or not any(is_recent(event) for event in fatal) else error
        found.append(
            make(
                f"Uncorrectable hardware error{_where(fatal)}, last {age(machine, fatal)}"
                + (", before the driver was loaded again." if reloaded else "."),
                evidence=quotes(machine, fatal),
                fix=fix,
                subject=device,
                explains=_FOLLOWS,
            )
        )
    return found


def _where(events: tuple[LogEvent, ...]) -> str:
    """The blocks that are named, with their counts; ATHUB for the interrupt of the address translation hub."""
    counts: dict[str, int] = {}
    for event in events:
        block = str(event.values.get("block") or ("athub" if "ATHUB" in str(event.values.get("source", "")) else ""))
        if block:
            count = number(event, "total_count") or number(event, "new_count") or 0
            counts[block] = max(counts.get(block, 0), count)
    words = []
    for block, count in counts.items():
        fatal = "fatal, ATHUB (address translation hub)" if block == "athub" and not count else f"{block} block"
        words.append(f"{fatal}: {count}" if count else fatal)
    return f" ({', '.join(words)})" if words else ""

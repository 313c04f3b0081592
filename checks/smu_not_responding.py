"""The GPU's power management firmware (SMU) does not answer the driver.

Why
  The SMU sets clocks, reads sensors and carries out resets. When it stops answering, sensors fail, clocks stay where
  they are, and the GPU often hangs soon after; a reset may not work either. After an unfinished resume of a laptop's
  second GPU this is a known driver weakness, not a broken card.

Fix
  Reboot, or power the machine off and on. If it returns under load, update driver, firmware and firmware setup
  (BIOS), and check power and temperature.

References
  drivers/gpu/drm/amd/pm/swsmu/smu_cmn.c (not done with your previous command)
"""

from __future__ import annotations

from rocdoctor.insight.gpus.gpu_health import is_laptop
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
from rocdoctor.judging.check import Finding, Fix, Outcome, check, error, info, warning
from rocdoctor.model.evidence import Known, value_or
from rocdoctor.model.facts import LogEvent, Machine
from rocdoctor.model.subject import Subject

_FIX = Fix(
    "Reboot; if the firmware stays silent, power the machine off and on, then update driver and firmware",
    safety="reboots",
)
_WATCH = Fix("If it happens again, update driver and firmware, and power the machine off and on", safety="manual")


@check(gpu_log("amd", "smu-no-response"))
def smu_not_responding(machine: Machine) -> Outcome:
    return [_judge(machine, *group) for group in by_device(machine, events_of(machine, "smu-no-response"))]


def _judge(machine: Machine, device: Subject, events: tuple[LogEvent, ...]) -> Finding:
    words = f"The power management firmware (SMU) did not answer {times(len(events))}, last {age(machine, events)}"
    evidence = quotes(machine, events)
    live = [event for event in events if is_current(event)]
    back = [
        event
        for event in other_events(machine, "gpu-reset-succeeded")
        if live and event.line > live[-1].line and (event.bdf is None or event.bdf == live[-1].bdf)
    ]
    if not live or back:
        since = "a reset brought the GPU back" if back else "the driver was loaded again or the machine resumed since"
        return info(f"{words}; {since}.", evidence=evidence, subject=device, fix=_WATCH)
    # Power and clocks come from this firmware: a GPU that tells them now has a firmware that answers.
    named = [gpu for gpu in machine.gpus if gpu.vendor == "amd" and value_or(gpu.bdf, None) in (live[-1].bdf, None)]
    answers = any(isinstance(gpu.power.now_w, Known) for gpu in named)
    if answers or is_laptop(machine.laptop) or not is_recent(live[-1]):
        return warning(
            f"{words}: clocks, sensors and resets of this GPU may not work.",
            evidence=evidence,
            fix=_FIX,
            subject=device,
        )
    return error(
        f"{words}, and nothing in the log brought it back: clocks, sensors and resets of this GPU do not work.",
        evidence=evidence,
        fix=_FIX,
        subject=device,
        cause="gpu-hardware-fault",
        confidence="possible",
        explains=("gpu-reset-log", "queue-eviction-failed"),
    )

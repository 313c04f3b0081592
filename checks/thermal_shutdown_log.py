"""The kernel log says that the GPU became too hot, or that the machine was shut down to save it.

Why
  At its thermal limit (CTF, critical temperature fault) the driver of an AMD GPU orders the machine to shut down. A
  job ends without a trace in its own log, and the machine seems to crash under load. Lines about thermal throttling
  are the milder form: the card only becomes slower.

Fix
  Restore the cooling before the next long job: dust, fans, airflow, inlet temperature, a fan that was set to
  a fixed speed.

References
  https://docs.kernel.org/gpu/amdgpu/thermal.html
  drivers/gpu/drm/amd/pm/swsmu/amdgpu_smu.c (over temperature range)
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
    quotes,
    times,
)
from rocdoctor.judging.check import Finding, Fix, Outcome, check, error, info, warning
from rocdoctor.model.facts import LogEvent, Machine
from rocdoctor.model.subject import Subject

_KINDS = ("gpu-over-temperature", "gpu-thermal-throttling")
_FIX = Fix("Restore the cooling of this GPU before the next long job: dust, fans, airflow, inlet temperature")


@check(gpu_log("", *_KINDS), cause="thermal-or-power-limit")
def thermal_shutdown_log(machine: Machine) -> Outcome:
    groups = by_device(machine, events_of(machine, *_KINDS))
    return [_judge(machine, device, events) for device, events in groups]


def _judge(machine: Machine, device: Subject, events: tuple[LogEvent, ...]) -> Finding:
    hot = tuple(event for event in events if event.kind == "gpu-over-temperature")
    if not hot:
        # Laptops run at their limit by design, and what is long past has been survived.
        now = any(is_current(event) and is_recent(event) for event in events)
        return (warning if now and not is_laptop(machine.laptop) else info)(
            f"The driver logged thermal throttling {times(len(events))}, last {age(machine, events)}.",
            evidence=quotes(machine, events),
            fix=_FIX,
            subject=device,
        )
    # What stands before a later start of the driver has been survived.
    now = any(is_current(event) and is_recent(event) for event in hot)
    make = error if now else warning
    return make(
        f"The GPU went over its temperature range and the driver ordered a thermal shutdown, last {age(machine, hot)}.",
        evidence=quotes(machine, hot),
        fix=_FIX,
        subject=device,
        explains=("gpu-reset-log", "ring-timeout"),
    )

"""A link between GPUs (XGMI, or its control lane WAFL) reported errors.

Why
  Links repeat a transfer that failed, so a few corrected errors cost nothing. Many of them, or errors of the link's
  physical layer (PCS), mean a bad connection between two modules or a failing module: collectives become slow,
  hang, or end in a reset of the whole hive. The GPU that reports is one end of the link; the other end may be the
  bad one.

Fix
  Compare the counters of all GPUs in the hive, power cycle the machine, and have module and baseboard checked if the
  errors return.

References
  https://docs.kernel.org/gpu/amdgpu/xgmi.html
  https://docs.kernel.org/gpu/amdgpu/ras.html
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
    other_events,
    quotes,
)
from rocdoctor.judging.check import Finding, Fix, Outcome, check, cite, error, info, warning
from rocdoctor.model.evidence import Known, NotKnown
from rocdoctor.model.facts import Gpu, LogEvent, Machine
from rocdoctor.model.subject import Subject

_CAUSE = "gpu-hardware-fault"
_KINDS = ("ras-correctable", "xgmi-pcs-error", "xgmi-init-failed")
_HARM = ("ras-uncorrectable", "gpu-reset-begin", "gpu-ring-timeout", "kfd-queue-preemption-failed")
_NEAR_S = 600.0
_FIX = Fix(
    "Compare the XGMI counters of all GPUs, power cycle the machine, and have the module and its neighbours checked "
    "if the "
    "errors return",
    command="rocm-smi --showrasinfo xgmi_wafl",
    safety="safe",
)


@check(gpu_log("amd", *_KINDS))
def xgmi_errors(machine: Machine) -> Outcome:
    counted = [finding for gpu in machine.gpus if gpu.vendor == "amd" and (finding := _counter(gpu)) is not None]
    try:
        events = [event for event in events_of(machine, *_KINDS) if _is_link(event)]
    except NotKnown:
        if not counted:
            raise
        return counted
    logged = [_judge(machine, device, members) for device, members in by_device(machine, events)]
    named = {finding.subject for finding in logged}
    return [*logged, *(finding for finding in counted if finding.subject not in named)]


def _is_link(event: LogEvent) -> bool:
    return event.kind != "ras-correctable" or _block(event).startswith(("xgmi", "wafl"))


def _block(event: LogEvent) -> str:
    return str(event.values.get("block", "")).lower()


def _judge(machine: Machine, device: Subject, events: tuple[LogEvent, ...]) -> Finding:
    when = age(machine, events)
    failed = tuple(event for event in events if event.kind == "xgmi-init-failed" and is_current(event))
    if failed:
        return error(
            f"The XGMI links between the GPUs could not be set up, last {age(machine, failed)}.",
            evidence=quotes(machine, failed),
            fix=_FIX,
            subject=device,
            cause=_CAUSE,
        )
    corrected = [number(event, "total_count") or number(event, "new_count") or 1 for event in events if _block(event)]
    count = max(corrected, default=0)
    physical = [event for event in events if event.kind == "xgmi-pcs-error" and is_current(event) and is_recent(event)]
    words = (
        f"{count} correctable hardware errors on the XGMI links (xgmi_wafl block)"
        if count
        else "XGMI link errors (PCS)"
    )
    if physical or _harm(machine, events):
        after = "" if physical else " together with a GPU reset or a hang"
        return warning(
            f"{words}{after}, last {when}.",
            evidence=quotes(machine, events),
            fix=_FIX,
            subject=device,
            confidence="likely",
            cause=_CAUSE,
        )
    return info(
        f"{words}, last {when}; corrected errors do not affect results.",
        evidence=quotes(machine, events),
        fix=_FIX,
        subject=device,
    )


def _harm(machine: Machine, events: tuple[LogEvent, ...]) -> bool:
    """Whether something failed within minutes of the errors."""
    harm = [event.time_s for event in other_events(machine, *_HARM) if is_current(event) and event.time_s is not None]
    return any(abs(event.time_s - time) <= _NEAR_S for event in events if event.time_s is not None for time in harm)


def _counter(gpu: Gpu) -> Finding | None:
    for block in gpu.ras:
        count = block.correctable
        if block.block.lower().startswith("xgmi") and isinstance(count, Known) and count.value > 0:
            return info(
                f"The XGMI links have {count.value} correctable hardware errors (xgmi_wafl block) since the driver was "
                "loaded; corrected errors do not affect results.",
                evidence=[cite(count)],
                fix=_FIX,
                subject=gpu.subject,
            )
    return None

"""The NVIDIA driver reported an error of a GPU by number (Xid).

Why
  Each Xid number is a kind of error. Some come from programs and say nothing about the machine (13 and 69 exceptions
  of the engine, 31 page fault, 43 and 45 channels that were ended). Some are the hardware or its firmware: 48, 95
  and 140 uncorrected ECC errors, 64 a failed retirement of memory, 74 NVLink, 79 the GPU has fallen off the bus,
  119 and 120 its system processor (GSP). 63, 92 and 94 mean errors that were contained.

Fix
  Hardware: take the GPU out of the job, reset it or reboot, look at power, temperature and seating, and replace it if
  the Xid returns. Programs: debug them.

References
  https://docs.nvidia.com/deploy/xid-errors/index.html
  https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/index.html
"""

from __future__ import annotations

from rocdoctor.insight.texts.log_events import age, by_device, events_of, gpu_log, is_recent, number, quotes, times
from rocdoctor.judging.check import Finding, Fix, Outcome, check, error, info, warning
from rocdoctor.knowledge.messages.kernel_log import kernel_signatures
from rocdoctor.model.facts import LogEvent, Machine
from rocdoctor.model.subject import Subject

_CAUSE = "gpu-hardware-fault"
_PROGRAM = frozenset({13, 31, 32, 43, 45, 69})
_HARDWARE = {
    48: "gpu-hardware-fault",
    61: "gpu-hardware-fault",
    62: "gpu-hardware-fault",
    64: "gpu-hardware-fault",
    74: "gpu-hardware-fault",
    79: "gpu-hardware-fault",
    95: "gpu-hardware-fault",
    140: "gpu-hardware-fault",
    119: "gpu-firmware",
    120: "gpu-firmware",
}
_AT_RISK = frozenset({63, 92, 94, 121, 136, 143})
_LIKELY = frozenset({61, 62, 74, 79, 119, 120})  # power, cables, switches or driver releases cause these as well
_FIX = Fix(
    "Take this GPU out of the job, reset it or reboot, check power, temperature and seating; replace it if the Xid "
    "returns",
    safety="manual",
)


@check(gpu_log("nvidia", "nvidia-xid"))
def nvidia_xid(machine: Machine) -> Outcome:
    found: list[Finding] = []
    for device, events in by_device(machine, events_of(machine, "nvidia-xid")):
        codes = sorted({code for event in events if (code := number(event, "xid")) is not None})
        for code in codes:
            members = tuple(event for event in events if number(event, "xid") == code)
            found.append(_judge(machine, device, code, members))
    return found


def _judge(machine: Machine, device: Subject, code: int, events: tuple[LogEvent, ...]) -> Finding:
    signature = kernel_signatures().signature("nvidia-xid")
    meaning = signature.codes[code][1].rstrip(".") if signature is not None and code in signature.codes else ""
    words = (
        f"Xid {code}{f' ({meaning})' if meaning else ''} was logged {times(len(events))}, last {age(machine, events)}"
    )
    evidence = quotes(machine, events)
    reloaded = all(event.before_driver_load for event in events)
    # A GPU can be reset without a restart of the driver, and has worked since.
    past = reloaded or not any(is_recent(event) and not event.before_driver_load for event in events)
    if code in _PROGRAM:
        return info(
            f"{words}; such errors come from programs.",
            evidence=evidence,
            subject=device,
            fix=Fix(
                "If a job failed, start it with CUDA_LAUNCH_BLOCKING=1 or compute-sanitizer to find the access",
                safety="safe",
            ),
        )
    if code in _HARDWARE:
        make = warning if past else error
        since = "; the driver was loaded again since" if reloaded else ""
        return make(
            f"{words}{since}.",
            evidence=evidence,
            fix=_FIX,
            subject=device,
            cause=_HARDWARE[code],
            confidence="likely" if code in _LIKELY else "certain",
        )
    if code in _AT_RISK and not past:
        return warning(f"{words}.", evidence=evidence, fix=_FIX, subject=device, confidence="likely", cause=_CAUSE)
    more = "" if meaning else "; the vendor's list of Xid errors says what it means"
    return info(
        f"{words}{more}.",
        evidence=evidence,
        subject=device,
        fix=Fix(
            "Look it up in the vendor's list of Xid errors; act if it happens again",
            command="sudo dmesg | grep -i xid",
            safety="safe",
        ),
    )

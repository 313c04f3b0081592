"""An NVSwitch, which joins the GPUs by NVLink, reported an error (SXid).

Why
  A fatal SXid ends all NVLink work that goes through the switch; GPUs and fabric need a reset. Non-fatal ones were
  handled and matter only if there are many of them. SXid numbers are the switch's own and have nothing to do with Xid
  numbers.

Fix
  Fatal: stop all jobs, reset GPUs and NVSwitches together (or reboot), and look at the fabric manager's log.

References
  https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/index.html
  https://docs.nvidia.com/deploy/xid-errors/index.html
"""

from __future__ import annotations

from rocdoctor.insight.texts.log_events import age, events_of, gpu_log, is_recent, number, quotes, times
from rocdoctor.judging.check import Finding, Fix, Outcome, check, error, info, warning
from rocdoctor.model.facts import LogEvent, Machine

_CAUSE = "gpu-hardware-fault"
_FATAL, _OTHER = "nvswitch-sxid-fatal", "nvswitch-sxid"
_FIX = Fix(
    "Stop all jobs, reset the GPUs and NVSwitches together or reboot, and read its log",
    command="journalctl -u nvidia-fabricmanager",
    safety="reboots",
)
_WATCH = Fix(
    "If it comes back, look the SXid up in the fabric manager's guide and read its log",
    command="journalctl -u nvidia-fabricmanager",
    safety="safe",
)


@check(gpu_log("nvidia", _FATAL, _OTHER))
def nvswitch_error(machine: Machine) -> Outcome:
    events = events_of(machine, _FATAL, _OTHER)
    found: list[Finding] = []
    if fatal := tuple(event for event in events if event.kind == _FATAL):
        reloaded = all(event.before_driver_load for event in fatal) or not is_recent(fatal[-1])
        make = warning if reloaded else error
        found.append(
            make(
                f"NVSwitch fatal error: {_words(machine, fatal)}; NVLink work through that switch ended.",
                evidence=quotes(machine, fatal),
                fix=_FIX,
                confidence="likely",
                cause=_CAUSE,
            )
        )
    if other := tuple(event for event in events if event.kind == _OTHER):
        found.append(
            info(f"NVSwitch non-fatal error: {_words(machine, other)}.", evidence=quotes(machine, other), fix=_WATCH)
        )
    return found


def _words(machine: Machine, events: tuple[LogEvent, ...]) -> str:
    codes = sorted({code for event in events if (code := number(event, "sxid")) is not None})
    named = ", ".join(f"SXid {code}" for code in codes[:5]) or "SXid"
    return f"{named} logged {times(len(events))}, last {age(machine, events)}"

"""The kernel log reports hardware errors in the processor, main memory or mainboard.

Why
  Machine checks (MCE) and EDAC are the processor's and the memory controller's own reports. Corrected errors are
  handled and harmless while they are rare. Uncorrected ones mean damaged data or a crash. A machine check in the
  first minute of a log is the record of an earlier crash, kept across the restart.

Fix
  Uncorrected: find the module in the firmware's event log (`ipmitool sel list`) or with rasdaemon, and replace it.

References
  https://docs.kernel.org/driver-api/edac.html
  https://docs.kernel.org/arch/x86/x86_64/machinecheck.html
"""

from __future__ import annotations

from rocdoctor.insight.texts.log_events import age, events_of, is_recent, quotes, times
from rocdoctor.judging.check import Fix, Outcome, check, error, info, warning, whole_machine
from rocdoctor.model.facts import LogEvent, Machine

_KINDS = ("machine-check", "machine-check-corrected", "edac-corrected", "edac-uncorrected", "firmware-hardware-error")
_BOOT_S = 60.0
_UNCORRECTED_BIT = 61  # UC of MCi_STATUS, the same on AMD and Intel (arch/x86/include/asm/mce.h)
_FIX = Fix(
    "Find the module in the firmware's event log or with rasdaemon, and have it replaced",
    command="sudo ipmitool sel list; sudo ras-mc-ctl --errors",
    safety="manual",
)


@check(whole_machine)
def hardware_error_log(machine: Machine) -> Outcome:
    events = events_of(machine, *_KINDS)
    uncorrected = tuple(event for event in events if _uncorrected(event))
    if uncorrected:
        live = [event for event in uncorrected if event.time_s is None or event.time_s > _BOOT_S]
        fresh = [event for event in live if is_recent(event)]
        words = f"Uncorrected hardware errors of processor or main memory were logged {times(len(uncorrected))}"
        make = error if fresh else warning
        kept = "" if live else "; they were recorded before this boot"
        return make(
            f"{words}, last {age(machine, uncorrected)}{kept}.", evidence=quotes(machine, uncorrected), fix=_FIX
        )
    if events:
        return info(
            f"Corrected hardware errors of processor or main memory were logged {times(len(events))}, last "
            f"{age(machine, events)}.",
            evidence=quotes(machine, events),
            fix=Fix(
                "Note the module or bank that the log names, and have it replaced if the errors continue",
                safety="manual",
            ),
        )
    return None


def _uncorrected(event: LogEvent) -> bool:
    if event.kind == "edac-uncorrected":
        return True
    if event.kind == "firmware-hardware-error":
        return str(event.values.get("severity", "")).lower() in ("fatal", "recoverable")
    if event.kind != "machine-check":
        return False
    # The kernel prints corrected ones in the same form; the status register tells them apart.
    try:
        return bool(int(str(event.values["status"]), 16) >> _UNCORRECTED_BIT & 1)
    except (KeyError, ValueError):
        return "class" in event.values

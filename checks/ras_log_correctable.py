"""The kernel log reports hardware errors of a GPU that were corrected.

Why
  Corrected errors do not affect results. They are worth a note because a part that needs more and more corrections
  often fails later. It is a warning if the same GPU also had an error that it could not correct. Errors on the links
  between GPUs (block xgmi_wafl) are judged by the check xgmi-errors.

Fix
  Nothing to do for a few. Save the log and compare the counts after the next long job.

References
  https://docs.kernel.org/gpu/amdgpu/ras.html
"""

from __future__ import annotations

from rocdoctor.insight.texts.log_events import age, by_device, events_of, gpu_log, number, other_events, quotes
from rocdoctor.judging.check import Finding, Fix, Outcome, check, info, warning
from rocdoctor.model.facts import LogEvent, Machine

_CAUSE = "gpu-hardware-fault"
_FIX = Fix("Save the log and compare the counts after the next long job", safety="safe")
_WORSE = ("ras-uncorrectable", "ras-poison-consumed", "ras-deferred")


@check(gpu_log("amd", "ras-correctable"))
def ras_log_correctable(machine: Machine) -> Outcome:
    events = [event for event in events_of(machine, "ras-correctable") if not _is_link(event)]
    worse = {event.bdf for event in other_events(machine, *_WORSE) if event.bdf is not None}
    found: list[Finding] = []
    for device, members in by_device(machine, events):
        words = f"Corrected hardware errors (ECC/RAS): {_counts(members)}, last {age(machine, members)}"
        evidence = quotes(machine, members)
        if members[0].bdf in worse:
            found.append(
                warning(
                    f"{words}; the same GPU also had errors that it could not correct.",
                    evidence=evidence,
                    fix=_FIX,
                    subject=device,
                    cause=_CAUSE,
                )
            )
        else:
            found.append(info(f"{words}. Results are not affected.", evidence=evidence, subject=device, fix=_FIX))
    return found


def _is_link(event: LogEvent) -> bool:
    return str(event.values.get("block", "")).lower().startswith(("xgmi", "wafl"))


def _counts(events: tuple[LogEvent, ...]) -> str:
    counts: dict[str, int] = {}
    for event in events:
        block = str(event.values.get("block", "an unnamed"))
        count = number(event, "total_count") or number(event, "new_count") or 1
        counts[block] = max(counts.get(block, 0), count)
    return ", ".join(f"{count} correctable in the {block} block" for block, count in counts.items())

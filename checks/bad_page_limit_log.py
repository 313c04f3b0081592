"""The GPU's list of bad memory pages has grown, or has reached its limit.

Why
  The driver of an AMD accelerator writes damaged memory pages into the card's EEPROM and never uses them again. At
  the limit of the list it declares the card bad (by default it then refuses to initialise it). Pages that were
  added during this boot show that more pages are failing.

Fix
  Save the log. If the limit is reached, have the card replaced. Until then, watch whether the list grows.

References
  drivers/gpu/drm/amd/amdgpu/amdgpu_ras_eeprom.c
  https://docs.kernel.org/gpu/amdgpu/module-parameters.html (bad_page_threshold)
"""

from __future__ import annotations

from rocdoctor.insight.texts.log_events import age, by_device, events_of, gpu_log, number, quotes
from rocdoctor.judging.check import Finding, Fix, Outcome, check, error, warning
from rocdoctor.model.facts import LogEvent, Machine
from rocdoctor.model.subject import Subject

_LIMIT = "ras-bad-page-threshold"
_NEAR = "ras-bad-page-near-threshold"
_ADDED = "ras-bad-pages-recorded"


@check(gpu_log("amd", _LIMIT, _NEAR, _ADDED), cause="gpu-hardware-fault")
def bad_page_limit_log(machine: Machine) -> Outcome:
    groups = by_device(machine, events_of(machine, _LIMIT, _NEAR, _ADDED))
    return [finding for device, events in groups if (finding := _judge(machine, device, events)) is not None]


def _judge(machine: Machine, device: Subject, events: tuple[LogEvent, ...]) -> Finding | None:
    for kind, make, words in (
        (_LIMIT, error, "has reached the limit of bad memory pages"),
        (_NEAR, warning, "is near the limit of bad memory pages"),
    ):
        if hit := tuple(event for event in events if event.kind == kind):
            pages, limit = number(hit[-1], "bad_pages"), number(hit[-1], "threshold")
            count = f" ({pages} of {limit})" if pages is not None and limit is not None else ""
            return make(
                f"This GPU {words}{count}, last {age(machine, hit)}.",
                evidence=quotes(machine, hit),
                fix=Fix("Save the log and have this GPU replaced", safety="manual"),
                subject=device,
            )
    added = tuple(event for event in events if number(event, "new_bad_pages"))
    if not added:
        return None
    total = sum(number(event, "new_bad_pages") or 0 for event in added)
    return warning(
        f"{total} bad memory page{'s were' if total != 1 else ' was'} added to the card's list, last "
        f"{age(machine, added)}.",
        evidence=quotes(machine, added),
        fix=Fix("Watch whether the list grows in the next jobs; if it does, have this GPU replaced", safety="manual"),
        subject=device,
        confidence="likely",
    )

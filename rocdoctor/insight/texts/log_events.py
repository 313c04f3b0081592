"""What checks of the kernel log share: which events count, how old they are in words, which device they are about."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rocdoctor.judging.check import Selector, quote
from rocdoctor.judging.selectors import none_here
from rocdoctor.model.evidence import Known, known, unknown
from rocdoctor.model.facts import LogEvent, Machine
from rocdoctor.model.finding import Evidence, Selected, Subjects
from rocdoctor.model.subject import MACHINE, Subject

# Older events are history: the machine has worked for a day since. (A judgement; no source states such a limit.)
RECENT_S = 86400.0
# While a machine starts, links come up and go down again. (A judgement; no source states such a limit.)
_AFTER_BOOT_S = 300.0

_VENDOR_WORDS = {"amd": "AMD GPU", "nvidia": "NVIDIA GPU"}


def gpu_log(vendor: str, *kinds: str) -> Selector[None]:
    """The machine, when it has a GPU of the vendor or its kernel log has such an event ("" for AMD or NVIDIA)."""
    vendors = (vendor,) if vendor else ("amd", "nvidia")

    def select(machine: Machine) -> Subjects[None]:
        if any(gpu.vendor in vendors for gpu in machine.gpus) or _matching(machine, kinds):
            return [Selected(MACHINE, None)]
        words = _VENDOR_WORDS.get(vendor, "AMD or NVIDIA GPU")
        return none_here(machine, words)

    return select


def _matching(machine: Machine, kinds: tuple[str, ...]) -> tuple[LogEvent, ...]:
    log = machine.kernel.log
    return log.value.of(*kinds) if isinstance(log, Known) else ()


def events_of(machine: Machine, *kinds: str) -> tuple[LogEvent, ...]:
    """The events of these kinds; none means that nothing happened. Raises ``NotKnown`` where the log cannot say so."""
    log = known(machine.kernel.log)
    found = log.of(*kinds)
    if not found and not log.complete:
        raise unknown("the kernel log here does not reach back to the boot", "undecided")
    return found


def other_events(machine: Machine, *kinds: str) -> tuple[LogEvent, ...]:
    """Events that only add to a judgement: none where there is no log."""
    return _matching(machine, kinds)


def is_current(event: LogEvent) -> bool:
    """True when no reload of the driver came after it and it is no part of a suspend or resume."""
    return not event.before_driver_load and not event.during_resume


def is_late(event: LogEvent) -> bool:
    """True after the first minutes, when links come up, and outside of suspend; also where the log has no times."""
    return not event.during_resume and (event.time_s is None or event.time_s > _AFTER_BOOT_S)


def is_recent(event: LogEvent) -> bool:
    """True within ``RECENT_S``, and where the log has no times."""
    return event.age_s is None or event.age_s <= RECENT_S


def by_device(machine: Machine, events: Iterable[LogEvent]) -> list[tuple[Subject, tuple[LogEvent, ...]]]:
    """Events by the device that they name; those that name none are the machine's."""
    gpus = {gpu.bdf.value: gpu.subject for gpu in machine.gpus if isinstance(gpu.bdf, Known)}
    groups: dict[Subject, list[LogEvent]] = {}
    for event in events:
        about = gpus.get(event.bdf, Subject("device", address=event.bdf)) if event.bdf else MACHINE
        groups.setdefault(about, []).append(event)
    return [(about, tuple(members)) for about, members in groups.items()]


def duration(seconds: float) -> str:
    """A span of time in coarse words: ``5 min``, ``2 h``, ``3 days``."""
    if seconds < 60:
        return "less than a minute"
    if seconds < 5400:
        return f"{round(seconds / 60)} min"
    if seconds < 172800:
        return f"{round(seconds / 3600)} h"
    return f"{round(seconds / 86400)} days"


def age(machine: Machine, events: Iterable[LogEvent]) -> str:
    """How long ago the youngest of the events was: ``2 h before the end of the log``."""
    ages = [(event.age_s, event.time_s) for event in events if event.age_s is not None]
    if not ages:
        return "at a time that the log does not give"
    seconds, time_s = min(ages, key=lambda one: one[0])
    # With the uptime at hand ages count back from the moment of asking instead.
    end = "the machine was asked" if isinstance(machine.kernel.uptime_s, Known) and time_s is not None else ""
    return f"{duration(seconds)} before {end or 'the end of the log'}"


def times(count: int) -> str:
    """How often, in words."""
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def quotes(machine: Machine, events: Sequence[LogEvent], most: int = 4) -> tuple[Evidence, ...]:
    """The lines of the log as evidence: the first ones, and the last when there are more."""
    log = known(machine.kernel.log)
    shown = [*events] if len(events) <= most else [*events[: most - 1], events[-1]]
    return tuple(quote(log.source, event.text, event.line) for event in shown)


def number(event: LogEvent, name: str) -> int | None:
    """A whole number among the values of an event."""
    value = event.values.get(name)
    return value if isinstance(value, int) else None

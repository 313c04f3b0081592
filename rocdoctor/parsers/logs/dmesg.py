"""The kernel log as a person has it: whole, cut off, pasted, quoted, from dmesg, a journal or a syslog file.

Which texts are events is data (the signatures); this module knows the frame: time, boots, driver loads, suspend.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.logs import log_frame, log_match
from rocdoctor.parsers.logs.log_frame import Extent
from rocdoctor.parsers.logs.log_lines import LogLine, bdf_of, split
from rocdoctor.parsers.logs.log_match import Matcher, Value

# A storm of one message says no more after this many; the counts go on.
MAX_EVENTS_OF_A_KIND = 2000
# How far the lines of one event may be apart: other processors print in between.
_NEAR_LINES = 24

_REFUSED = regex(
    r"(?:dmesg: .{0,80}(?:Operation not permitted|Permission denied)"
    r"|klogctl: Operation not permitted|No journal files were opened due to insufficient permissions"
    r"|You are currently not seeing messages from other users and the system)"
)
# A command that somebody typed is no message, whatever words it holds.
_TYPED = regex(r"(?:\S{0,80}[$#%] ?)?(?:sudo )?(?:dmesg|journalctl|z?grep|egrep|cat|tail|less)\b")

# Who speaks for which driver: what they said before that driver was loaded again is about the earlier load.
_DRIVER_OF = {
    "amdgpu": "amdgpu",
    "kfd": "amdgpu",
    "drm": "amdgpu",
    "radeon": "radeon",
    "NVRM": "nvidia",
    "nvidia": "nvidia",
}
# One load prints several marks within this time (or this many lines, in a log without times).
_LOAD_S = 5.0
_LOAD_LINES = 40


@dataclass(frozen=True, slots=True)
class KernelEvent:
    """One thing that the kernel said, of a known kind; ``line`` counts from 1, ``age_s`` back from the log's end.

    ``values`` are what the text tells (numbers, addresses, names; units in the key). ``before_driver_load``: its GPU
    driver said it before that driver was loaded (again) or the machine restarted.
    """

    kind: str
    line: int
    text: str
    bdf: str | None = None
    time_s: float | None = None
    age_s: float | None = None
    before_driver_load: bool = False
    during_resume: bool = False
    values: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class KernelLogText:
    """A kernel log.

    ``extent``: "boot" reaches back to the start of the (last) boot, "tail" begins later, "excerpt" is a few lines:
    only in the first may something count as absent. ``refused`` is the sentence with which a tool refused to read the
    log; ``dropped`` counts the messages that the kernel or the journal says it lost.
    """

    lines: tuple[LogLine, ...] = ()
    events: tuple[KernelEvent, ...] = ()
    extent: Extent = "excerpt"
    refused: str | None = None
    dropped: int = 0

    @property
    def complete(self) -> bool:
        """True when what is not in the log did not happen: it reaches back to the boot and nothing was lost."""
        return self.extent == "boot" and self.refused is None and not self.dropped

    def of(self, *kinds: str, bdf: str | None = None) -> tuple[KernelEvent, ...]:
        """The events of these kinds, of one device when ``bdf`` is given."""
        return tuple(event for event in self.events if event.kind in kinds and (bdf is None or event.bdf == bdf))

    def link_flaps(self) -> dict[str, int]:
        """How often each network link went down after it had been up."""
        up: set[str] = set()
        flaps: dict[str, int] = {}
        for event in self.of("network-link-up", "network-link-down"):
            name = event.values.get("interface")
            if not isinstance(name, str):
                continue
            if event.kind == "network-link-up":
                up.add(name)
            elif name in up:
                up.discard(name)
                flaps[name] = flaps.get(name, 0) + 1
        return flaps


def parse(text: str, signatures: Matcher) -> KernelLogText:
    """The log in ``text``; never raises. Times are seconds since boot, ages seconds."""
    lines, other = split(text)
    refused = next((line for _, line in other if _REFUSED.search(line)), None)
    refused = refused or next((one.text for one in lines if not one.stamped and _REFUSED.search(one.text)), None)
    lines = [line for line in lines if line.stamped or not _REFUSED.search(line.text)]
    boots = log_frame.boots(lines, other)
    suspends = log_frame.suspends(lines)
    events = _events(lines, signatures)
    last_boot = len(boots) - 1 if boots else 0
    loads = _last_loads(events)
    end = next((line for line in reversed(lines) if line.stamped), None)
    finished: list[KernelEvent] = []
    by_number = {line.number: line for line in lines}
    for event in events:
        line = by_number[event.line]
        boot = max(bisect_right(boots, event.line) - 1, 0)
        finished.append(
            replace(
                event,
                age_s=log_frame.age(line, end, boot == last_boot),
                before_driver_load=_before(event, line.subsystem, loads, boot < last_boot),
                during_resume=log_frame.within(suspends, event.line),
            )
        )
    return KernelLogText(
        lines=tuple(lines),
        events=tuple(finished),
        extent=log_frame.extent(lines, boots),
        refused=refused.strip() if refused else None,
        dropped=log_frame.dropped(lines, other),
    )


def _last_loads(events: list[KernelEvent]) -> dict[str, KernelEvent]:
    """The first mark of the last load of each GPU driver."""
    starts: dict[str, KernelEvent] = {}
    for event in reversed(events):
        driver = event.values.get("driver")
        if event.kind != "driver-load" or not isinstance(driver, str):
            continue
        if driver not in starts or _close(event, starts[driver]):
            starts[driver] = event
    return starts


def _close(first: KernelEvent, second: KernelEvent) -> bool:
    if first.time_s is not None and second.time_s is not None:
        return 0 <= second.time_s - first.time_s <= _LOAD_S
    return second.line - first.line <= _LOAD_LINES


def _before(event: KernelEvent, subsystem: str | None, loads: Mapping[str, KernelEvent], earlier_boot: bool) -> bool:
    driver = _DRIVER_OF.get(subsystem or "")
    if driver is None or earlier_boot:
        return driver is not None
    load = loads.get(driver)
    # The kernel speaks of a module (its signature, its parameters) just before the module itself does.
    return (
        load is not None and event.line < load.line and not (event.kind.startswith("module-") and _close(event, load))
    )


def _events(lines: list[LogLine], signatures: Matcher) -> list[KernelEvent]:
    events: list[KernelEvent] = []
    counts: dict[str, int] = {}
    latest: dict[str, list[int]] = {}  # kind -> places of its latest events
    for line, candidates in log_match.with_candidates(signatures, lines, [line.text for line in lines]):
        if not line.stamped and _TYPED.match(line.text):
            continue
        found = log_match.first_of(candidates, line.text)
        if found is None:
            continue
        signature, wording, values = found
        named = values.pop("bdf", None)
        bdf = named if isinstance(named, str) else bdf_of(line.text)
        if wording.join:
            place = _place(events, latest, wording.join, line.number, bdf, values)
            if place is not None:
                events[place] = replace(events[place], values={**events[place].values, **values})
                continue
            if not wording.alone or any(counts.get(kind, 0) > MAX_EVENTS_OF_A_KIND for kind in wording.join):
                continue
        if wording.inherit and (places := latest.get(wording.inherit)):
            before = events[places[-1]]
            if line.number - before.line <= 2:
                bdf, values = bdf or before.bdf, {**before.values, **values}
        counts[signature.kind] = counts.get(signature.kind, 0) + 1
        if counts[signature.kind] > MAX_EVENTS_OF_A_KIND:
            continue
        latest.setdefault(signature.kind, []).append(len(events))
        events.append(KernelEvent(signature.kind, line.number, line.text.strip(), bdf, line.time_s, values=values))
    return events


def _place(
    events: list[KernelEvent],
    latest: Mapping[str, list[int]],
    kinds: tuple[str, ...],
    number: int,
    bdf: str | None,
    values: Mapping[str, Value],
) -> int | None:
    """The latest event nearby that the line continues: same device, and no value that contradicts."""
    # Eight GPUs print at once at most a few events between the lines of one.
    candidates = sorted((place for kind in kinds for place in latest.get(kind, ())[-8:]), reverse=True)
    for place in candidates:
        event = events[place]
        if number - event.line > _NEAR_LINES:
            break
        if bdf is not None and event.bdf is not None and bdf != event.bdf:
            continue
        if all(event.values.get(key, value) == value for key, value in values.items()):
            return place
    return None

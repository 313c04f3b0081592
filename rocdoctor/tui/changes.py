"""What has changed on a live machine between two looks at it, with the time: findings, values, the kernel log. Pure.

What stays as it is where nobody changes anything is compared by the table that ``diff`` uses; beside it the few values
of the moment that a person who watches a machine asks for.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from rich.text import Text

from rocdoctor.compare.differences import compare
from rocdoctor.compare.numbers import same_message
from rocdoctor.compare.snapshot import snapshot
from rocdoctor.insight.gpus.gpu_health import telling
from rocdoctor.judging.subjects import is_whole, subject_parts
from rocdoctor.model.evidence import value_or
from rocdoctor.model.facts import Gpu, LogEvent, Machine
from rocdoctor.model.finding import SEVERITIES, Diagnosis, Severity, Verdict
from rocdoctor.model.printable import one_line
from rocdoctor.model.subject import MACHINE, Subject
from rocdoctor.model.units import binary_size
from rocdoctor.report.text import wrap
from rocdoctor.tui.overview.dashboard import lanes
from rocdoctor.tui.style import SEVERITY_STYLE, UNKNOWN

Kind = Literal["found", "gone", "value", "kernel", "device"]
_MOST_LINES = 5  # of the kernel log, of one look
_MUCH = 0.25  # of a GPU's memory: so much more or less in use is worth a line
_NOT_KNOWN = "not known"
_LANES = "PCIe lanes in use"  # the trait


@dataclass(frozen=True, slots=True)
class SeenChange:
    """One change: when it was seen (seconds since 1970), of what part ("" for the machine), in words."""

    at: float
    kind: Kind
    where: str
    words: str
    severity: Severity | None = None

    @property
    def said(self) -> str:
        """Where, and what."""
        return f"{self.where}: {self.words}" if self.where else self.words

    @property
    def clock(self) -> str:
        """The time of day."""
        return _clock(self.at)


_Said = tuple[Kind, str, Severity | None]  # what happened, in words, and how grave that is


def changes(before: Diagnosis, now: Diagnosis, at: float) -> tuple[SeenChange, ...]:
    """All that differs for a person, the gravest finding first; what is alike of several GPUs is one.

    ``at`` is when it was seen, in seconds since 1970.
    """
    found: dict[_Said, list[Subject]] = {}
    for subject, said in (*_findings(before.verdicts, now.verdicts), *_values(before, now)):
        found.setdefault(said, []).append(subject)
    graves = sorted(found, key=lambda said: SEVERITIES.index(said[2]) if said[2] is not None else len(SEVERITIES))
    return tuple(_change(at, said, found[said]) for said in graves)


def _change(at: float, said: _Said, subjects: Sequence[Subject]) -> SeenChange:
    kind, words, severity = said
    often = len(subjects) // len({*subjects})  # equal lines of the kernel log
    return SeenChange(at, kind, _where(subjects), words + (f" ({often} times)" if often > 1 else ""), severity)


def _findings(before: Sequence[Verdict], now: Sequence[Verdict]) -> Iterator[tuple[Subject, _Said]]:
    old, new = _found(before), _found(now)
    for (check, subject), (message, severity) in new.items():
        if (check, subject) not in old:
            yield subject, ("found", f"{message} ({check})", severity)
        elif not same_message(old[check, subject][0], message):
            yield subject, ("value", f"{message} ({check})", severity)
    states = {(one.check, one.subject): one.state for one in now}
    for check, subject in old:
        if (check, subject) not in new:
            open_ = states.get((check, subject), "unknown") in ("unknown", "crashed")
            yield subject, ("gone", f"{check} {'is unknown now' if open_ else 'is not found any more'}", None)


def _found(verdicts: Sequence[Verdict]) -> dict[tuple[str, Subject], tuple[str, Severity]]:
    return {
        (one.check, one.subject): (one_line(one.finding.message), one.finding.severity)
        for one in verdicts
        if one.finding is not None
    }


def _where(subjects: Sequence[Subject]) -> str:
    return "" if is_whole(subjects) else subject_parts(subjects)[0]


def _values(before: Diagnosis, now: Diagnosis) -> Iterator[tuple[Subject, _Said]]:
    sides = [snapshot(name, one.machine, ()) for name, one in (("before", before), ("now", now))]
    told: set[tuple[str, str]] = set()
    for one in compare(sides).differences:
        old, new = (_NOT_KNOWN if value is None else one_line(value) for value in one.values)
        told.add((_where([one.subject]), one.what))
        yield one.subject, ("value", f"{one.what}: {old} before, {new} now", None)
    earlier = {_key(gpu): gpu for gpu in before.machine.gpus}
    for gpu in now.machine.gpus:
        if _key(gpu) in earlier:
            old, new = lanes(earlier[_key(gpu)]), lanes(gpu)
            # In a virtual machine no trait stands for it.
            if old != new and (_where([gpu.subject]), _LANES) not in told:
                yield gpu.subject, ("value", f"PCIe link: {old or _NOT_KNOWN} before, {new or _NOT_KNOWN} now", None)
            for words in _moment(earlier[_key(gpu)], gpu):
                yield gpu.subject, ("value", words, None)
    for subject, words in _kernel(before.machine, now.machine):
        yield subject, ("kernel", words, None)


def _key(gpu: Gpu) -> str:
    return value_or(gpu.bdf, "") or f"gpu {gpu.index}"


def _moment(before: Gpu, now: Gpu) -> Iterator[str]:
    """What a GPU does at the moment and did not before, as far as it tells something."""
    hot, heat = telling(before), telling(now)
    if heat is not None and heat.crit_c is not None and heat.near_critical != (hot is not None and hot.near_critical):
        name = one_line(heat.sensor.label)
        words = "near its limit" if heat.near_critical else "below its limit again"
        yield f"{name} {heat.input_c:.0f} of {heat.crit_c:.0f} °C, {words}"
    total = value_or(now.vram_bytes, 0)
    used, held = value_or(before.vram_used_bytes, None), value_or(now.vram_used_bytes, None)
    if used is not None and held is not None and total and abs(held - used) >= _MUCH * total:
        yield f"memory in use: {binary_size(used)} before, {binary_size(held)} now"
    slow = [one for one in value_or(now.throttle, ()) if one not in value_or(before.throttle, ())]
    if slow:
        yield f"throttling is reported: {one_line(', '.join(slow))}"


def _kernel(before: Machine, now: Machine) -> Iterator[tuple[Subject, str]]:
    old, log = value_or(before.kernel.log, None), value_or(now.kernel.log, None)
    if old is None or log is None:
        return
    left = Counter(map(_said, old.events))
    fresh: list[LogEvent] = []
    for event in log.events:
        if left[_said(event)]:
            left[_said(event)] -= 1
        else:
            fresh.append(event)
    gpus = {value_or(gpu.bdf, ""): gpu.subject for gpu in now.gpus}
    for event in fresh[:_MOST_LINES]:
        yield gpus.get(event.bdf or "", MACHINE), f"kernel: {one_line(event.text)}"
    if len(fresh) > _MOST_LINES:
        yield MACHINE, f"kernel: {len(fresh) - _MOST_LINES} more lines of this kind"


def _said(event: LogEvent) -> tuple[object, ...]:
    return event.kind, event.bdf, event.time_s, event.text


def change_lines(newest: Sequence[SeenChange], since: float, most: int, width: int) -> Text:
    """The changes with their times, those of the newest look first; ``since``: when the first look was done."""
    text = Text()
    if not newest:
        return text.append(f"nothing since {_clock(since)}", style=UNKNOWN)
    for at, one in enumerate(newest[:most]):
        text.append("\n" if at else "")
        head, *rest = wrap(one.said, max(20, width - 10), "", "  ")
        text.append(f"{one.clock}  ", style="bold")
        style = SEVERITY_STYLE[one.severity] if one.severity is not None else ""
        text.append("\n".join([head, *(f"{'':<10}{line}" for line in rest)]), style=style or "not bold")
    if len(newest) > most:
        text.append(f"\nand {len(newest) - most} before that, since {_clock(since)}", style=UNKNOWN)
    return text


def _clock(seconds: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(seconds))

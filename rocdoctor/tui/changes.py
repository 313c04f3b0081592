"""What has changed on a live machine between two looks at it, with the time: findings, values, the kernel log. Pure.

What stays as it is where nobody changes anything is compared by the table that ``diff`` uses; beside it the few values
of the moment that a person who watches a machine asks for. Only what both looks know from the same source can have
changed; what one of them did not know is known now, and was perhaps so before.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from rich.text import Text

from rocdoctor.compare.differences import compare
from rocdoctor.compare.numbers import parts, same_message
from rocdoctor.compare.two_looks import TwoLooks, path_known, same_source, two_looks
from rocdoctor.insight.gpus.gpu_health import TemperatureReading, readings
from rocdoctor.judging.subjects import is_whole, subject_parts
from rocdoctor.model.evidence import Known, NotKnown, value_or
from rocdoctor.model.facts import Gpu, LogEvent, Machine
from rocdoctor.model.finding import SEVERITIES, Diagnosis, Finding, Severity, State, Verdict
from rocdoctor.model.printable import one_line
from rocdoctor.model.subject import MACHINE, Subject
from rocdoctor.model.units import binary_size
from rocdoctor.report.text import wrap
from rocdoctor.tui.overview.dashboard import lanes
from rocdoctor.tui.style import SEVERITY_STYLE, UNKNOWN

# "known": what is known has changed, of the machine itself nobody can say so.
Kind = Literal["found", "gone", "known", "value", "kernel", "device"]
_MOST_LINES = 5  # of the kernel log, of one look
_MUCH = 0.25  # of a GPU's memory: so much more or less in use is worth a line
_KNOWN_NOW = "was unknown; now: "
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


_Said: TypeAlias = tuple[Kind, str, Severity | None]  # what happened, in words, and how grave that is


def changes(before: Diagnosis, now: Diagnosis, at: float) -> tuple[SeenChange, ...]:
    """All that differs for a person, the gravest finding first; what is alike of several GPUs is one.

    ``at`` is when it was seen, in seconds since 1970.
    """
    found: dict[_Said, list[Subject]] = {}
    looks = two_looks(before.machine, now.machine)
    for subject, said in (*_findings(before, now, looks), *_values(looks)):
        found.setdefault(said, []).append(subject)
    graves = sorted(found, key=lambda said: SEVERITIES.index(said[2]) if said[2] is not None else len(SEVERITIES))
    return tuple(_change(at, said, found[said]) for said in graves)


def _change(at: float, said: _Said, subjects: Sequence[Subject]) -> SeenChange:
    kind, words, severity = said
    often = len(subjects) // len({*subjects})  # equal lines of the kernel log
    return SeenChange(at, kind, _where(subjects), words + (f" ({often} times)" if often > 1 else ""), severity)


def _findings(before: Diagnosis, now: Diagnosis, looks: TwoLooks) -> Iterator[tuple[Subject, _Said]]:
    places = {old.subject: gpu.subject for old, gpu in looks.pairs}
    lost = {gpu.subject for gpu in looks.gone}
    earlier = [replace(one, subject=_place(one.subject, places)) for one in before.verdicts if one.subject not in lost]
    old, new = _found(earlier), _found(now.verdicts)
    judged = _Judged(before.machine, earlier, True)
    for (check, subject), finding in new.items():
        words, was = f"{one_line(finding.message)} ({check})", old.get((check, subject))
        if was is None:
            known = judged(check, subject) and not finding.undecided and not _other_log(finding, looks)
            yield subject, ("found" if known else "known", ("" if known else _KNOWN_NOW) + words, finding.severity)
        elif not _same(one_line(was.message), one_line(finding.message), looks.renumbered):
            yield subject, ("value", words, finding.severity)
    judged = _Judged(now.machine, now.verdicts, False)
    for (check, subject), finding in old.items():
        if (check, subject) in new or finding.undecided:  # what a symptom leaves open gives way to what is surer
            continue
        if judged(check, subject) and not _other_log(finding, looks):
            yield subject, ("gone", f"{check} is no longer found", None)
        else:
            yield subject, ("known", f"{check} is unknown now", None)


def _place(subject: Subject, places: Mapping[Subject, Subject]) -> Subject:
    """Where the new look has it; a GPU that it does not show is named by its address, its number may be another's."""
    if subject in places or subject.kind != "gpu" or not subject.address:
        return places.get(subject, subject)
    return Subject("device", address=subject.address)


def _found(verdicts: Iterable[Verdict]) -> dict[tuple[str, Subject], Finding]:
    return {(one.check, one.subject): one.finding for one in verdicts if one.finding is not None}


def _same(before: str, now: str, renumbered: bool) -> bool:
    return same_message(before, now) or (renumbered and parts(before)[0] == parts(now)[0])


class _Judged:
    """Whether a check could judge a subject; of evidence that may not show every GPU "not applicable" is no answer."""

    def __init__(self, machine: Machine, verdicts: Iterable[Verdict], earlier: bool) -> None:
        """``earlier``: of the look before, which may lack a subject because that was not there yet."""
        self._earlier, self._complete = earlier, machine.gpus_complete
        self._open = {"unknown", "crashed"} if machine.gpus_complete else {"unknown", "crashed", "not-applicable"}
        self._states: dict[str, dict[Subject, State]] = {}
        for one in verdicts:
            self._states.setdefault(one.check, {})[one.subject] = one.state

    def __call__(self, check: str, subject: Subject) -> bool:
        states = self._states.get(check)
        if not states or states.get(MACHINE) in self._open:
            return False
        return states[subject] not in self._open if subject in states else MACHINE in states or self._may_lack(subject)

    def _may_lack(self, subject: Subject) -> bool:
        return self._earlier and (subject.kind != "gpu" or self._complete)


def _other_log(finding: Finding, looks: TwoLooks) -> bool:
    """Whether a finding rests on the kernel log, and the two looks did not read the same one."""
    logs = [one.kernel.log for one in (looks.before, looks.now)]
    sources = {log.source.question for log in logs if isinstance(log, Known)}
    return not same_source(*logs) and any(one.source in sources for one in finding.evidence)


def _where(subjects: Sequence[Subject]) -> str:
    return "" if is_whole(subjects) else subject_parts(subjects)[0]


def _values(looks: TwoLooks) -> Iterator[tuple[Subject, _Said]]:
    for gpu, words in (
        *((one, "is no longer there") for one in looks.gone),
        *((one, "is new") for one in looks.new),
    ):
        place = value_or(gpu.bdf, "") or gpu.label
        yield (
            MACHINE,
            ("device", f"GPU {one_line(value_or(gpu.name, 'without a known name'))} at {place} {words}", None),
        )
    told: set[tuple[Subject, str]] = set()
    for one in compare(looks.sides()).differences:
        old, new = (one_line(value) for value in one.values if value is not None)
        subject = looks.pairs[one.subject.index or 0][1].subject if one.subject.kind == "gpu" else one.subject
        told.add((subject, one.what))
        yield subject, ("value", f"{one.what}: {old} before, {new} now", None)
    for before, gpu in looks.pairs:
        old, new = lanes(before), lanes(gpu)
        # In a virtual machine no trait stands for it.
        shown = old and new and path_known(before) == path_known(gpu)
        if shown and old != new and (gpu.subject, _LANES) not in told:
            yield gpu.subject, ("value", f"PCIe link: {old} before, {new} now", None)
        for said in _moment(before, gpu):
            yield gpu.subject, said
    for subject, words in _kernel(looks.before, looks.now):
        yield subject, ("kernel", words, None)


def _moment(before: Gpu, now: Gpu) -> Iterator[_Said]:
    """What a GPU does at the moment and did not before, as far as it tells something."""
    earlier = {one.sensor.label: one for one in _limited(before)}
    for heat in _limited(now):
        was = earlier.get(heat.sensor.label)
        known = was is not None and same_source(was.sensor.input_c, heat.sensor.input_c)
        if heat.near_critical == (known and was is not None and was.near_critical):
            continue
        words = "near its limit" if heat.near_critical else "below its limit again"
        yield _said_now(known, f"{one_line(heat.sensor.label)} {heat.input_c:.0f} of {heat.crit_c:.0f} °C, {words}")
    total = value_or(now.vram_bytes, 0)
    used, held = value_or(before.vram_used_bytes, 0), value_or(now.vram_used_bytes, 0)
    known = same_source(before.vram_used_bytes, now.vram_used_bytes)
    if known and total and abs(held - used) >= _MUCH * total:
        yield "value", f"memory in use: {binary_size(used)} before, {binary_size(held)} now", None
    known = same_source(before.throttle, now.throttle)
    slow = [one for one in value_or(now.throttle, ()) if not known or one not in value_or(before.throttle, ())]
    if slow:
        yield _said_now(known, f"throttling is reported: {one_line(', '.join(slow))}")


def _said_now(known: bool, words: str) -> _Said:
    """``known``: the look before knew it too, and otherwise."""
    return ("value", words, None) if known else ("known", _KNOWN_NOW + words, None)


def _limited(gpu: Gpu) -> list[TemperatureReading]:
    """The temperatures whose limit is known."""
    try:
        return [one for one in readings(gpu) if one.crit_c is not None]
    except NotKnown:
        return []


def _kernel(before: Machine, now: Machine) -> Iterator[tuple[Subject, str]]:
    old, log = value_or(before.kernel.log, None), value_or(now.kernel.log, None)
    if old is None or log is None or old.source != log.source or (log.complete and not old.complete):
        return  # another log, or more of it, has lines that are not new
    left = Counter(map(_line, old.events))
    fresh: list[LogEvent] = []
    for event in log.events:
        if left[_line(event)]:
            left[_line(event)] -= 1
        else:
            fresh.append(event)
    gpus = {value_or(gpu.bdf, ""): gpu.subject for gpu in now.gpus}
    for event in fresh[:_MOST_LINES]:
        yield gpus.get(event.bdf or "", MACHINE), f"kernel: {one_line(event.text)}"
    if len(fresh) > _MOST_LINES:
        yield MACHINE, f"kernel: {len(fresh) - _MOST_LINES} more such lines"


def _line(event: LogEvent) -> tuple[object, ...]:
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


def change_line(newest: Sequence[SeenChange], since: float) -> str:
    """The same in one line: the newest change, and how many there were before it."""
    if not newest:
        return f"nothing since {_clock(since)}"
    more = f"; {len(newest) - 1} before that" if len(newest) > 1 else ""
    return f"{newest[0].clock} {newest[0].said}{more}"


def _clock(seconds: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(seconds))

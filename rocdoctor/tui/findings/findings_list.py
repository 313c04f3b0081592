"""The list of findings: grouped by root cause in the order of the diagnosis, and filtered. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from rocdoctor.judging.subjects import grouped, is_whole, sentence, subject_parts
from rocdoctor.knowledge.lookup import told_title
from rocdoctor.model.finding import SEVERITIES, Cause, Diagnosis, Finding, State, Verdict
from rocdoctor.model.printable import one_line
from rocdoctor.model.subject import Subject
from rocdoctor.tui.findings.machine_parts import AREAS, OTHER, area_of
from rocdoctor.tui.story import heading_words

# What can be looked at, with the words for it; "" is all.
STATES: tuple[tuple[str, str], ...] = (
    ("fail", "found"),
    ("unknown", "unknown"),
    ("crashed", "crashed"),
    ("not-applicable", "not applicable"),
    ("pass", "passed"),
    ("", "all"),
)
Key = tuple[str, str, str]
_SURE = {"certain": "", "likely": " (likely)", "possible": " (possible)"}


@dataclass(frozen=True, slots=True)
class FindingsRow:
    """The verdicts that say the same of several subjects. ``follows`` is the cause that explains it, else empty."""

    state: State
    check: str
    members: tuple[Verdict, ...]
    cause: str = ""
    follows: str = ""
    area: str = OTHER

    @property
    def finding(self) -> Finding | None:
        """The finding, of the first subject."""
        return self.members[0].finding

    @property
    def why(self) -> str:
        """The reason of a verdict that is no finding."""
        return self.members[0].why

    @property
    def subjects(self) -> tuple[Subject, ...]:
        """What it is about."""
        return tuple(dict.fromkeys(one.subject for one in self.members))

    @property
    def where(self) -> str:
        """The subjects in few words; nothing for the whole machine."""
        return "" if is_whole(self.subjects) else subject_parts(self.subjects)[0]

    @property
    def said(self) -> str:
        """The sentence of a finding as it reads beside its subjects, else the reason."""
        return sentence(self.finding.message, self.subjects) if self.finding is not None else self.why

    @property
    def word(self) -> str:
        """Severity of a finding, else the state."""
        return self.finding.severity if self.finding is not None else dict(STATES)[self.state]

    @property
    def key(self) -> tuple[str, str, str]:
        """What stays the same when the machine is judged again."""
        return (self.state, self.check, self.finding.message if self.finding is not None else self.why)


@dataclass(frozen=True, slots=True)
class FindingsSection:
    """Rows below one heading."""

    heading: str
    rows: tuple[FindingsRow, ...]


@dataclass(frozen=True, slots=True)
class Filter:
    """Which rows are shown; empty fields let everything through. ``severity`` only concerns findings.

    ``subject``: only what is of this part of the machine.
    """

    state: str = "fail"
    severity: str = ""
    area: str = ""
    text: str = ""
    subject: Subject | None = None

    def lets(self, row: FindingsRow, title: str = "") -> bool:
        """Whether a row is shown; ``title`` is what its check's manual page says in one line."""
        if self.state and row.state != self.state:
            return False
        if self.severity and row.finding is not None and row.finding.severity != self.severity:
            return False
        if self.area and row.area != self.area:
            return False
        if self.subject is not None and self.subject not in row.subjects:
            return False
        return not self.text or _has(row, title, self.text)


def _has(row: FindingsRow, title: str, text: str) -> bool:
    found = row.finding
    said = [row.check, row.where, row.word, row.why, title, *(one.label for one in row.subjects)]
    if found is not None:
        said += [found.message, found.cause, told_title(found.cause, found.finer)]
        said += [found.fix.text, found.fix.command] if found.fix is not None else []
        said += [
            part for one in row.members if one.finding for e in one.finding.evidence for part in (e.value, e.source)
        ]
    whole = " ".join(said).lower()
    return all(word in whole for word in text.lower().split())


def sections(diagnosis: Diagnosis, preliminary: bool = False) -> tuple[FindingsSection, ...]:
    """All verdicts: causes with what follows from them, other findings, notes, then what is no finding.

    ``preliminary``: questions are open, so no heading is a verdict.
    """
    rows = _found(diagnosis.verdicts)
    causes = diagnosis.causes
    parents = _parents(rows, causes)
    result: list[FindingsSection] = []
    for number, cause in enumerate(causes):
        own = [row for row in rows if row.cause == cause.cause and _grave(row)]
        own.sort(key=lambda row: row.check != cause.check)
        explained = {row.check for row in own} & set(cause.explains) - {cause.check}
        own = [replace(row, follows=cause.cause) if row.check in explained else row for row in own]
        own.sort(key=lambda row: bool(row.follows))
        below = [replace(row, follows=cause.cause) for row in rows if parents.get(row.key) == cause.cause]
        result.append(FindingsSection(_heading(number, cause, preliminary), (*own, *below)))
    standing = {cause.cause for cause in causes}
    others = [row for row in rows if _grave(row) and row.cause not in standing and row.key not in parents]
    words = "other findings" if causes else "no root cause is known; start with the first"
    result.append(FindingsSection(words, tuple(others)))
    graver = any(_grave(row) for row in rows)
    result.append(
        FindingsSection(
            "worth knowing" if graver or preliminary else "nothing to fix; worth knowing",
            tuple(r for r in rows if not _grave(r)),
        )
    )
    for state, heading in _SILENT:
        result.append(FindingsSection(heading, tuple(_silent(diagnosis.verdicts, state))))
    return tuple(section for section in result if section.rows)


_SILENT: tuple[tuple[State, str], ...] = (
    ("crashed", "crashed: the check itself broke"),
    ("unknown", "unknown: not enough evidence"),
    ("not-applicable", "not applicable: nothing to judge here"),
    ("pass", "passed"),
)


def _found(verdicts: Sequence[Verdict]) -> list[FindingsRow]:
    """The findings as a report groups them."""
    members: dict[tuple[str, str, str], list[Verdict]] = {}
    for one in verdicts:
        if one.finding is not None:
            members.setdefault((one.check, one.finding.severity, one.finding.message), []).append(one)
    return [
        FindingsRow(
            "fail",
            name,
            tuple(members[name, found.severity, found.message]),
            found.cause,
            "",
            area_of(name, found.cause),
        )
        for found, name, _ in grouped(verdicts)
    ]


def _grave(row: FindingsRow) -> bool:
    return row.finding is not None and row.finding.severity != "info"


def _heading(number: int, cause: Cause, preliminary: bool) -> str:
    title = told_title(cause.cause, cause.finding.finer if cause.finding is not None else "")
    return f"{heading_words(preliminary) if number == 0 else f'cause {number + 1}'}: {title}{_SURE[cause.confidence]}"


def _parents(rows: Sequence[FindingsRow], causes: Sequence[Cause]) -> dict[tuple[str, str, str], str]:
    """Which cause the findings follow from whose own cause does not stand, through as many steps as it takes."""
    standing = {cause.cause for cause in causes}
    left = [row for row in rows if _grave(row) and row.cause not in standing]
    parents: dict[tuple[str, str, str], str] = {}
    for cause in causes:
        # What the diagnosis names are findings with causes of their own; those without one follow just as well.
        explained = set(cause.explains) | _explained(row for row in rows if row.cause == cause.cause and _grave(row))
        more = True
        while more:
            reached = [row for row in left if row.key not in parents and {row.check, row.cause} & explained]
            parents.update((row.key, cause.cause) for row in reached)
            explained |= _explained(reached)
            more = bool(reached)
    return parents


def _explained(rows: Iterable[FindingsRow]) -> set[str]:
    return {what for row in rows for one in row.members if one.finding for what in one.finding.explains}


def _silent(verdicts: Iterable[Verdict], state: State) -> list[FindingsRow]:
    groups: dict[tuple[str, str], list[Verdict]] = {}
    for one in verdicts:
        if one.state == state:
            groups.setdefault((one.check, one_line(one.why)), []).append(one)
    return [FindingsRow(state, name, tuple(members), area=area_of(name)) for (name, _), members in groups.items()]


# -- filtering


def filtered(
    whole: Iterable[FindingsSection], wanted: Filter, titles: Mapping[str, str], beside: Collection[Key] = ()
) -> tuple[FindingsSection, ...]:
    """What is left of the sections. ``beside`` are rows that stand beside the findings whatever their state is."""
    any_state = replace(wanted, state="") if wanted.state == "fail" else wanted

    def lets(row: FindingsRow) -> bool:
        return (any_state if row.key in beside else wanted).lets(row, titles.get(row.check, ""))

    kept = (replace(one, rows=tuple(row for row in one.rows if lets(row))) for one in whole)
    return tuple(one for one in kept if one.rows)


def state_counts(whole: Iterable[FindingsSection]) -> Counter[str]:
    """How many there are of each state, as reports count: findings once for all that they are of, else verdicts."""
    counts: Counter[str] = Counter()
    for row in (row for one in whole for row in one.rows):
        counts[row.state] += 1 if row.finding is not None else len(row.members)
    return counts


def next_state(whole: Sequence[FindingsSection], now: str) -> str:
    """The next state that has rows; failed ones and all can always be chosen."""
    counts = state_counts(whole)
    return _next([state for state, _ in STATES if state in ("", "fail") or counts[state]], now)


def next_severity(whole: Sequence[FindingsSection], wanted: Filter) -> str:
    """The next severity that there is among the findings, then all."""
    there = {row.finding.severity for one in whole for row in one.rows if row.finding is not None}
    return _next(["", *(one for one in SEVERITIES if one in there)], wanted.severity)


def next_area(whole: Sequence[FindingsSection], wanted: Filter) -> str:
    """The next area that has rows of the chosen state, then all."""
    there = {row.area for one in whole for row in one.rows if not wanted.state or row.state == wanted.state}
    return _next(["", *(one for one in (*AREAS, OTHER) if one in there)], wanted.area)


def _next(choices: Sequence[str], now: str) -> str:
    return choices[(choices.index(now) + 1) % len(choices)] if now in choices else choices[0]

"""Two or more machines side by side: what differs, from whom, and what is not known where."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from rocdoctor.compare.gpu_alignment import Aligned, align, gpu_words
from rocdoctor.compare.kinds import kinds
from rocdoctor.compare.numbers import same_message, same_words
from rocdoctor.compare.snapshot import Found, Snapshot, SnapshotTable
from rocdoctor.compare.traits import OF_GPU, OF_MACHINE, Group, Trait, same, shown
from rocdoctor.model.finding import SEVERITIES
from rocdoctor.model.subject import MACHINE, Subject

Kind = Group | Literal["finding"]
Values = tuple[str | None, ...]

# Findings about the moment, and about the sources of the evidence: shown, but no drift.
_MOMENT = frozenset(("host-memory-low", "sources-disagree", "swap-heavy", "throttling-now", "vram-held-by-others"))
NO_FINDING = "no finding"


@dataclass(frozen=True, slots=True)
class Difference:
    """One fact or finding that is not the same everywhere.

    ``values``: one for each machine, in words; None where it is not known. Of three or more machines ``majority`` is
    the value of more than half of those that know it (None: there is none), and ``odd`` are the machines that differ
    from it. ``drift``: it counts. ``among``: the machines of one kind that were compared (empty: all); the values of
    others are None.
    """

    subject: Subject
    what: str
    kind: Kind
    values: Values
    majority: str | None
    odd: tuple[int, ...]
    drift: bool = True
    among: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """All differences, and for each machine what others know and it does not.

    ``kinds``: how many kinds of machines there are; the majority is always that of a machine's own kind.
    """

    names: tuple[str, ...]
    differences: tuple[Difference, ...]
    unknown: tuple[tuple[str, ...], ...]
    kinds: int = 1

    @property
    def drift(self) -> bool:
        """Whether anything differs that counts."""
        return any(one.drift for one in self.differences)

    def of(self, machine: int) -> list[Difference]:
        """What sets a machine apart from the majority."""
        return [one for one in self.differences if machine in one.odd and one.drift]


class _Notes:
    """Collects differences and gaps."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.differences: list[Difference] = []
        self.unknown: list[dict[str, None]] = [{} for _ in range(count)]

    def look(
        self,
        subject: Subject,
        what: str,
        kind: Kind,
        values: Sequence[str | None],
        equal: Callable[[str, str], bool],
        show: Callable[[str], str] = str,
        there: Sequence[bool] = (),
        looser: Callable[[str, str], bool] | None = None,
        drift: bool = True,
    ) -> None:
        """Note a difference among values that are known, and who does not know what others do.

        ``there`` is false for machines that have no such subject. ``looser`` is tried for three or more machines when
        ``equal`` finds no majority among them.
        """
        known = [number for number, value in enumerate(values) if value is not None]
        knowing = set(known)
        gaps = [number for number in range(self.count) if number not in knowing and (not there or there[number])]
        if known:
            for number in gaps:
                self.unknown[number][what] = None
        groups = _groups(values, known, equal)
        if len(groups) < 2:
            return
        words: Values = tuple(None if value is None else show(value) for value in values)
        if self.count == 2:
            self.differences.append(Difference(subject, what, kind, words, None, (), drift))
            return
        if looser is not None and len(groups[0]) * 2 <= len(known):
            groups = _groups(values, known, looser)
            if len(groups) < 2:
                return
        if len(groups[0]) * 2 <= len(known):
            self.differences.append(Difference(subject, what, kind, words, None, (), drift))
            return
        usual = set(groups[0])
        odd = tuple(number for number in known if number not in usual)
        self.differences.append(Difference(subject, what, kind, words, words[groups[0][0]], odd, drift))


def _groups(values: Sequence[str | None], known: Sequence[int], equal: Callable[[str, str], bool]) -> list[list[int]]:
    """Machines with the same value together, the largest group first."""
    groups: list[tuple[str, list[int]]] = []
    for number in known:
        value = values[number] or ""
        for first, members in groups:
            if equal(first, value):
                members.append(number)
                break
        else:
            groups.append((value, [number]))
    return [members for _, members in sorted(groups, key=lambda one: (-len(one[1]), one[1][0]))]


def compare(machines: Sequence[Snapshot]) -> Comparison:
    """What differs between two or more machines, of several kinds between those of each: facts first, then findings."""
    members = kinds(machines)
    if len(members) == 1:
        return _of_one_kind(machines)
    differences: list[Difference] = []
    unknown: list[tuple[str, ...]] = [()] * len(machines)
    for among in members:
        part = _of_one_kind([machines[number] for number in among])
        for number, gaps in zip(among, part.unknown, strict=True):
            unknown[number] = gaps
        for one in part.differences:
            values: list[str | None] = [None] * len(machines)
            for number, value in zip(among, one.values, strict=True):
                values[number] = value
            odd = tuple(among[number] for number in one.odd)
            differences.append(replace(one, values=tuple(values), odd=odd, among=among))
    return Comparison(tuple(one.name for one in machines), tuple(differences), tuple(unknown), len(members))


def _of_one_kind(machines: Sequence[Snapshot]) -> Comparison:
    notes = _Notes(len(machines))
    aligned = align(machines)
    words = [gpu_words(machines, aligned, number) for number in range(len(machines))]
    notes.look(MACHINE, "GPUs", "gpu", words, str.__eq__)
    whole = [None not in row and not more for row, more in zip(aligned.rows, aligned.extra, strict=True)]
    for one in OF_MACHINE:
        values = [machine.traits.get(one.trait.key) for machine in machines]
        if one.trait.key == "islands":  # numbers of GPUs mean the same only among equal sets
            values = [value if full else None for value, full in zip(values, whole, strict=True)]
            _trait(notes, one.trait, MACHINE, values, whole)
        else:
            _trait(notes, one.trait, MACHINE, values)
    for place in range(len(machines[aligned.reference].gpus)):
        _gpu(notes, aligned, place)
    _tables(notes, machines)
    _findings(notes, machines, aligned)
    return Comparison(
        tuple(one.name for one in machines), tuple(notes.differences), tuple(tuple(one) for one in notes.unknown)
    )


def _trait(
    notes: _Notes, trait: Trait, subject: Subject, values: Sequence[str | None], there: Sequence[bool] = ()
) -> None:
    notes.look(
        subject, trait.words, trait.group, values, lambda a, b: same(trait, a, b), lambda v: shown(trait, v), there
    )


def _gpu(notes: _Notes, aligned: Aligned, place: int) -> None:
    cards = [row[place] for row in aligned.rows]
    there = [card is not None for card in cards]
    for one in OF_GPU:
        key = one.trait.key
        values = [None if card is None else card.traits.get(key) for card in cards]
        # Addresses of equal sets of GPUs may differ, and sources spell the name of one chip in several ways.
        if key == "bdf" or (key == "name" and all(card is None or card.traits.get("pci_id") for card in cards)):
            continue
        _trait(notes, one.trait, Subject("gpu", place), values, there)


def _tables(notes: _Notes, machines: Sequence[Snapshot]) -> None:
    for title in dict.fromkeys(title for one in machines for title in one.tables):
        tables = [one.tables.get(title) for one in machines]
        for number, table in enumerate(tables):
            if table is None:
                notes.unknown[number][f"{title}s"] = None
        for name in sorted({name for table in tables if table is not None for name in table.values}):
            values = [_entry(table, name) for table in tables]
            # Of a list that may be an excerpt it says nothing that a name is not in it.
            notes.look(
                MACHINE,
                f"{title} {name}",
                "setting" if title == "module parameter" else "version",
                values,
                str.__eq__,
                there=[False] * len(machines),
            )


def _entry(table: SnapshotTable | None, name: str) -> str | None:
    if table is None:
        return None
    return table.values.get(name, "not installed" if table.complete else None)


# -- findings

_Key: TypeAlias = tuple[str, Subject]  # the check, and what it is about


def _findings(notes: _Notes, machines: Sequence[Snapshot], aligned: Aligned) -> None:
    found = [_by_subject(one, aligned, number) for number, one in enumerate(machines)]
    keys = dict.fromkeys(key for one in found for key in one)
    for check, subject in sorted(keys, key=lambda key: (_gravity(found, key), key[0], key[1].label)):
        there = [_there(one, aligned, number, subject) for number, one in enumerate(machines)]
        values = [
            _said(found[number].get((check, subject)), there[number] and _judged(one, aligned, number, check, subject))
            for number, one in enumerate(machines)
        ]
        notes.look(
            subject, check, "finding", values, same_message, there=there, looser=same_words, drift=check not in _MOMENT
        )


def _by_subject(machine: Snapshot, aligned: Aligned, number: int) -> Mapping[_Key, list[Found]]:
    found: dict[_Key, list[Found]] = {}
    for one in machine.findings:
        subject = aligned.place(number, one.subject) or one.subject
        found.setdefault((one.check, subject), []).append(one)
    return found


def _gravity(found: Sequence[Mapping[_Key, list[Found]]], key: _Key) -> int:
    return min(SEVERITIES.index(one.severity) for machine in found for one in machine.get(key, ()))


def _said(found: Sequence[Found] | None, judged: bool) -> str | None:
    """The findings as one text; where there is none, whether that is known."""
    if found:
        return " ".join(sorted(f"{one.severity}: {' '.join(one.message.split())}" for one in found))
    return NO_FINDING if judged else None


def _judged(machine: Snapshot, aligned: Aligned, number: int, check: str, subject: Subject) -> bool:
    """Whether a check could judge a subject of a machine (a finding apart)."""
    gaps = machine.unknown.get(check, frozenset())
    return not gaps or (subject.kind == "gpu" and subject not in set(_places(gaps, aligned, number)))


def _places(subjects: frozenset[Subject], aligned: Aligned, number: int) -> Iterator[Subject]:
    for one in subjects:
        yield aligned.place(number, one) or one
        if one.kind != "gpu":  # the whole machine could not be judged, so none of its GPUs was
            yield from (Subject("gpu", place) for place in range(len(aligned.rows[number])))


def _there(machine: Snapshot, aligned: Aligned, number: int, subject: Subject) -> bool:
    """Whether a machine has the subject of a finding; of a GPU that it has more than others nobody knows."""
    if subject.kind != "gpu":
        return True
    row = aligned.rows[number]
    if not subject.where and subject.index is not None and subject.index < len(row):  # a place of the alignment
        return row[subject.index] is not None
    return machine.gpus_complete

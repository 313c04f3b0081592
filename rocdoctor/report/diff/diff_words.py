"""What the text and markdown forms of a comparison share: equal differences of several GPUs are one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rocdoctor.compare.differences import Comparison, Difference, Kind
from rocdoctor.judging.subjects import number_ranges
from rocdoctor.model.printable import one_line
from rocdoctor.model.subject import MACHINE, Subject

NOT_KNOWN = "not known there"


@dataclass(frozen=True, slots=True)
class DiffRow:
    """One difference for people: ``where`` is "" for the machine itself."""

    where: str
    what: str
    kind: Kind
    values: tuple[str, ...]
    majority: str | None
    drift: bool


def rows(differences: Iterable[Difference]) -> list[DiffRow]:
    """Differences in their order; those with equal values on several GPUs in one row (``gpu 0-7``)."""
    groups: dict[tuple[object, ...], list[Subject]] = {}
    for one in differences:
        groups.setdefault((one.what, one.kind, one.values, one.majority, one.drift), []).append(one.subject)
    found: list[DiffRow] = []
    for (what, kind, values, majority, drift), subjects in groups.items():
        shown = tuple(one_line(value) if value is not None else NOT_KNOWN for value in values)  # type: ignore[attr-defined]
        most = one_line(str(majority)) if majority is not None else None
        found.append(DiffRow(_where(subjects), one_line(str(what)), kind, shown, most, bool(drift)))  # type: ignore[arg-type]
    return found


def _where(subjects: Sequence[Subject]) -> str:
    numbers = {one: one.index for one in subjects if one.kind == "gpu" and not one.where and one.index is not None}
    others = [one_line(one.label) for one in subjects if one not in numbers and one != MACHINE]
    places = [f"gpu {number_ranges(numbers.values())}"] if numbers else []
    return ", ".join([*places, *others])


def reason(row: DiffRow, number: int) -> str:
    """What sets a machine apart from the majority, in a few words."""
    head = " ".join(part for part in (row.where, row.what) if part)
    return f"{head}: {row.values[number]} (others: {row.majority})"


def reasons(found: Comparison, number: int) -> list[str]:
    """All that sets a machine apart from the majority."""
    return [reason(row, number) for row in rows(found.of(number))]


def undecided(found: Comparison) -> list[DiffRow]:
    """Differences among three or more machines without a majority."""
    return rows(one for one in found.differences if one.majority is None and one.drift)


def parties(found: Comparison, row: DiffRow) -> list[tuple[str, str]]:
    """(value, who has it), the most common first."""
    groups: dict[str, list[str]] = {}
    for name, value in zip(found.names, row.values, strict=True):
        if value != NOT_KNOWN:
            groups.setdefault(value, []).append(one_line(name))
    return [(value, several(names)) for value, names in sorted(groups.items(), key=lambda one: -len(one[1]))]


def several(names: Sequence[str], most: int = 3) -> str:
    """A few names and how many more."""
    left = len(names) - most
    return ", ".join(names[:most]) + (f" and {left} more" if left > 0 else "")


def gaps(found: Comparison) -> list[tuple[str, tuple[str, ...]]]:
    """(machine, what others know and it does not)."""
    return [(one_line(name), missing) for name, missing in zip(found.names, found.unknown, strict=True) if missing]


def headline(found: Comparison) -> str:
    """The answer in one sentence."""
    count = len(found.names)
    if not found.drift:
        return (
            f"No drift between {count} machines, as far as both are known."
            if count == 2
            else (f"No drift among {count} machines, as far as they are known.")
        )
    if count == 2:
        number = len(rows(one for one in found.differences if one.drift))
        return f"{number} difference{'s' if number != 1 else ''} between {one_line(found.names[0])} and " + (
            f"{one_line(found.names[1])}."
        )
    odd = sum(bool(found.of(number)) for number in range(count))
    usual = f"majority of their kind (there are {found.kinds} kinds)" if found.kinds > 1 else "majority"
    most = f"{odd} of {count} machines differ{'s' if odd == 1 else ''} from the {usual}."
    rest = len(undecided(found))
    return most + (f" {rest} difference{'s have' if rest != 1 else ' has'} no majority." if rest else "")

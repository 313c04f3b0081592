"""A judged machine as the record of its node."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Mapping, Sequence

from rocdoctor.compare.snapshot import Snapshot
from rocdoctor.fleet.record import NodeRecord, SeenGpu, Sighting
from rocdoctor.model.facts import SmokeRun
from rocdoctor.model.finding import Diagnosis
from rocdoctor.model.printable import one_line

_MOST_FINDINGS = 64
_MOST_SIGNS = 240
_MOST_UNKNOWN = 16
_MOST_CHECKS = 40


class KeyedNames:
    """Names for what names a machine or a card: equal for equal things, and without the key nobody finds the thing."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def of(self, kind: str, original: str) -> str:
        """``g-`` and twelve digits for a GPU, and so on; kinds do not share names."""
        told = f"{kind}\0{original.strip().lower()}".encode()
        return f"{kind[:1]}-{hmac.new(self._key, told, hashlib.sha256).hexdigest()[:12]}"


def sightings(diagnosis: Diagnosis) -> tuple[Sighting, ...]:
    """What the checks found, the gravest first, with the cause that each stands for."""
    found = [
        Sighting(
            one.check,
            one.finding.cause,
            one.finding.severity,
            one.finding.confidence,
            one.subject.index if one.subject.kind == "gpu" else None,
            one_line(one.finding.message)[:_MOST_SIGNS],
        )
        for one in diagnosis.verdicts
        if one.finding is not None
    ]
    order = {"error": 0, "warning": 1, "info": 2}
    return tuple(sorted(found, key=lambda one: order[one.severity])[:_MOST_FINDINGS])


def seen_again(first: Sequence[Sighting], second: Iterable[Sighting]) -> tuple[Sighting, ...]:
    """The findings of a second look, each with in how many of the two it was there."""
    before = {one.key for one in first}
    return tuple(
        Sighting(
            one.check, one.cause, one.severity, one.confidence, one.gpu, one.message, 2 if one.key in before else 1
        )
        for one in second
    )


def record_of(
    node: str,
    taken_at: int,
    look: Snapshot,
    diagnosis: Diagnosis,
    *,
    tool: str,
    rules: str,
    boot: str | None = None,
    ids: Mapping[int, str] | None = None,
    findings: Sequence[Sighting] | None = None,
    bundle: Mapping[str, str] | None = None,
) -> NodeRecord:
    """The record; ``ids`` are the pseudonyms of GPUs by index, ``findings`` those of several looks."""
    machine, known = diagnosis.machine, ids or {}
    return NodeRecord(
        node,
        taken_at,
        boot,
        tool,
        rules,
        look.gpus_complete,
        tuple(SeenGpu(one.bdf, one.chip, known.get(one.index)) for one in look.gpus),
        {key: value for key, value in look.traits.items() if value is not None},
        # The address stands with the GPU itself, and differs between machines of one kind.
        tuple(
            {key: value for key, value in one.traits.items() if value is not None and key != "bdf"} for one in look.gpus
        ),
        {title: digest(table.values) for title, table in look.tables.items()},
        tuple(findings) if findings is not None else sightings(diagnosis),
        _unknown(diagnosis),
        {one.question[:160]: one.reason for one in machine.unanswered[:_MOST_UNKNOWN]},
        figures(machine.smoke, len(look.gpus)),
        bundle,
    )


def digest(values: Mapping[str, str]) -> str:
    """A table in twelve digits: equal ones have the same."""
    told = "\n".join(f"{name}={value}" for name, value in sorted(values.items()))
    return hashlib.sha256(told.encode()).hexdigest()[:12]


def _unknown(diagnosis: Diagnosis) -> dict[str, tuple[str, ...]]:
    """The checks that could not judge, by the reason."""
    found: dict[str, dict[str, None]] = {}
    for one in diagnosis.verdicts:
        if one.state in ("unknown", "crashed"):
            why = "the check crashed" if one.state == "crashed" else one_line(one.why)[:_MOST_SIGNS]
            found.setdefault(why, {})[one.check] = None
    return {why: tuple(checks)[:_MOST_CHECKS] for why, checks in list(found.items())[:_MOST_UNKNOWN]}


def figures(runs: Iterable[SmokeRun], gpus: int) -> dict[str, tuple[float | None, ...]]:
    """What was measured on each GPU, by name; a GPU without a value has None."""
    found: dict[str, tuple[float | None, ...]] = {}
    for run in runs:
        for name, rows in run.figures.items():
            values: list[float | None] = [None] * gpus
            for row in rows if isinstance(rows, list) else ():
                at, value = row.get("gpu"), row.get("value")
                if isinstance(at, int) and 0 <= at < gpus and isinstance(value, int | float):
                    values[at] = float(value)
            if any(value is not None for value in values):
                found[name] = tuple(values)
    return found

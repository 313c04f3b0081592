"""A judged machine as the record of its node."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from rocdoctor.compare.snapshot import Snapshot
from rocdoctor.fleet.classes import CERTAIN, LIKELY
from rocdoctor.fleet.record import NodeRecord, SeenGpu, Sighting
from rocdoctor.model.evidence import Known
from rocdoctor.model.facts import KernelLog, SmokeRun
from rocdoctor.model.finding import Diagnosis, Finding
from rocdoctor.model.printable import one_line

_MOST_FINDINGS = 64
_MOST_SIGNS = 240
_MOST_UNKNOWN = 16
_MOST_CHECKS = 40
_CRASHED = "the check crashed"


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
    log = diagnosis.machine.kernel.log
    found = [
        Sighting(
            one.check,
            one.finding.cause,
            one.finding.severity,
            one.finding.confidence,
            one.subject.index if one.subject.kind == "gpu" else None,
            one_line(one.finding.message)[:_MOST_SIGNS],
            logged_s=_logged(one.finding, log.value) if isinstance(log, Known) else None,
        )
        for one in diagnosis.verdicts
        if one.finding is not None
    ]
    order = {"error": 0, "warning": 1, "info": 2}
    return tuple(sorted(found, key=lambda one: order[one.severity])[:_MOST_FINDINGS])


def _logged(finding: Finding, log: KernelLog) -> float | None:
    """When the last line was written on which it rests; 0 where lines have no times, None where it rests on more.

    The first log lines of a finding may scroll out of the log, the last stays the longest.
    """
    if not finding.evidence or any(one.source != log.source for one in finding.evidence):
        return None
    lines = {one.line for one in finding.evidence}
    return max((one.time_s for one in log.events if one.line in lines and one.time_s is not None), default=0.0)


def seen_again(first: Sequence[Sighting], second: Diagnosis) -> tuple[Sighting, ...]:
    """The findings of a second look, each with in how many of the two it was there.

    And those of the first, seen once, of which the second look tells nothing: what hangs may hide the GPUs as well.
    """
    before = {one.key for one in first}
    again = sightings(second)
    now = {one.key for one in again}
    told = {(one.check, one.subject.index) for one in second.verdicts if one.state == "pass"}
    gaps = {one.check for one in second.verdicts if one.state in ("unknown", "crashed")}

    def untold(one: Sighting) -> bool:
        return one.check in gaps or told.isdisjoint({(one.check, one.gpu), (one.check, None)})

    left = (one for one in first if one.key not in now and untold(one))
    return (*(replace(one, looks=2 if one.key in before else 1) for one in again), *left)


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
        unknown_of(diagnosis),
        {one.question[:160]: one.reason for one in machine.unanswered[:_MOST_UNKNOWN]},
        figures(machine.smoke, len(look.gpus)),
        bundle,
    )


def digest(values: Mapping[str, str]) -> str:
    """A table in twelve digits: equal ones have the same."""
    told = "\n".join(f"{name}={value}" for name, value in sorted(values.items()))
    return hashlib.sha256(told.encode()).hexdigest()[:12]


def unknown_of(diagnosis: Diagnosis) -> dict[str, tuple[str, ...]]:
    """The checks that could not judge, by the reason."""
    found: dict[str, dict[str, None]] = {}
    for one in diagnosis.verdicts:
        if one.state in ("unknown", "crashed"):
            why = _CRASHED if one.state == "crashed" else one_line(one.why)[:_MOST_SIGNS]
            found.setdefault(why, {})[one.check] = None
    for why in [one for one in found if one != _CRASHED][_MOST_UNKNOWN:]:
        found.setdefault("other reasons", {}).update(found.pop(why))
    return {why: _named(checks) for why, checks in found.items()}


def _named(checks: Iterable[str]) -> tuple[str, ...]:
    """As many names as a record may hold, and all that could drain the node: they decide whether it comes back."""
    ordered = sorted(checks, key=lambda one: one not in CERTAIN | LIKELY)
    return tuple(ordered[: max(_MOST_CHECKS, sum(one in CERTAIN | LIKELY for one in ordered))])


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

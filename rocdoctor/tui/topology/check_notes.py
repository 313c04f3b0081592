"""What the checks say of the parts of a drawing: their names stand beside the limb or the GPU that they are about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rocdoctor.model.evidence import value_or
from rocdoctor.model.facts import Gpu, Machine
from rocdoctor.model.finding import SEVERITIES, Severity, Verdict
from rocdoctor.model.question import Question
from rocdoctor.model.subject import MACHINE
from rocdoctor.tui.topology.link_matrix import NONE, cells
from rocdoctor.tui.topology.path_links import Key, Limb, limbs, sources


@dataclass(frozen=True, slots=True)
class CheckNote:
    """A finding: how grave, and the check that says so."""

    severity: Severity
    check: str

    def __str__(self) -> str:
        return f"{self.severity}: {self.check}"


@dataclass(frozen=True, slots=True)
class Notes:
    """Findings by limb; by its index those about a GPU that cite none of its limbs; by name those about a card."""

    limbs: dict[Key, list[CheckNote]] = field(default_factory=dict)
    gpus: dict[int, list[CheckNote]] = field(default_factory=dict)
    nics: dict[str, list[CheckNote]] = field(default_factory=dict)


def about(verdicts: Sequence[Verdict], gpu: Gpu) -> list[Verdict]:
    """The findings that are about a GPU or name it, the gravest first."""
    found: list[tuple[int, Verdict]] = []
    for verdict in verdicts:
        one = verdict.finding
        if one is None:
            continue
        if gpu.subject in (verdict.subject, *one.about.subjects):
            found.append((SEVERITIES.index(one.severity), verdict))
    return [verdict for _, verdict in sorted(found, key=lambda pair: pair[0])]


def lost_links(machine: Machine, verdicts: Sequence[Verdict]) -> dict[tuple[int, int], CheckNote]:
    """The pairs of GPUs without a link that a check finds at fault: two hives are a design, and none of it."""
    of = {gpu.index: gpu for gpu in machine.gpus}
    missing = [pair for pair, kind in cells(machine).items() if kind == NONE and pair[0] < pair[1]]
    lost: dict[tuple[int, int], CheckNote] = {}
    for verdict in verdicts:
        if verdict.check == "xgmi-links-missing" and verdict.finding is not None:
            named = {*verdict.finding.about.subjects}
            for a, b in sorted(missing):
                hives = {value_or(of[one].hive_id, None) for one in (a, b)} - {None}
                if len(hives) < 2 and len(named & {of[a].subject, of[b].subject}) >= min(2, len(named)):
                    lost[a, b] = CheckNote(verdict.finding.severity, verdict.check)
    return lost


def notes(machine: Machine, verdicts: Sequence[Verdict]) -> Notes:
    """A finding belongs to the limbs whose figures it cites as evidence, else to the GPU that it is about."""
    said = Notes()
    ways = {gpu.subject: (gpu.index, limbs(gpu)) for gpu in machine.gpus}
    cards = {nic.name for nic in machine.network}
    read = {limb.key: _read(limb) for _, way in ways.values() for limb in way}
    for verdict in verdicts:
        if verdict.finding is None:
            continue
        note = CheckNote(verdict.finding.severity, verdict.check)
        own = ways.get(verdict.subject)
        if verdict.subject.kind == "nic" and verdict.subject.name in cards:
            said.nics.setdefault(verdict.subject.name, []).append(note)
        if own is None and verdict.subject != MACHINE:
            continue
        cited = {(one.source, one.line) for one in verdict.finding.evidence}
        touched = [key for key in (read if own is None else [limb.key for limb in own[1]]) if cited & read[key]]
        for key in touched:
            if note not in said.limbs.setdefault(key, []):
                said.limbs[key].append(note)
        if not touched and own is not None:
            said.gpus.setdefault(own[0], []).append(note)
    return said


def _read(limb: Limb) -> set[tuple[str, int | None]]:
    """The places where the figures of a limb stand; a whole output of a tool is no such place."""
    found = {(source.question, source.line) for source in sources(limb)}
    return {place for place in found if place[1] is not None or Question.of(place[0]).verb == "read"}

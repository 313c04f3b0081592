"""What the checks say of the parts of a drawing: their names stand beside the limb or the GPU that they are about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rocdoctor.model.facts import Machine
from rocdoctor.model.finding import Severity, Verdict
from rocdoctor.model.question import Question
from rocdoctor.model.subject import MACHINE
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


def lost_links(machine: Machine, verdicts: Sequence[Verdict]) -> dict[tuple[int, int], CheckNote]:
    """The pairs of GPUs, by index and the lower one first, between which a check finds a link at fault."""
    of = {gpu.subject: gpu.index for gpu in machine.gpus}
    lost: dict[tuple[int, int], CheckNote] = {}
    for verdict in verdicts:
        if (found := verdict.finding) is None:
            continue
        for a, b in found.about.pairs:
            if a in of and b in of:
                lost[min(of[a], of[b]), max(of[a], of[b])] = CheckNote(found.severity, verdict.check)
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

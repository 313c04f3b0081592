"""Figure 5: an outage, a broken tool, a broken release of ours; and a week with glitches and nodes that break."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random

from rocdoctor.fleet.judge import Incoming, Memories, judge
from rocdoctor.fleet.record import NodeRecord, Sighting
from rocdoctor.fleet.verdicts import FleetVerdict
from tests.fleet.kit import NOW, node, sick
from tools.fleet_acceptance.rows import Row, Setting, holds, most, none
from tools.fleet_world import GLITCHES, OUTAGE

_STEP_S = 300
_FATAL = "ras-uncorrectable"


class _Fleet:
    """Rounds of equal nodes, changed by whoever asks."""

    def __init__(self, count: int) -> None:
        self.names = [f"n{number}" for number in range(count)]
        self.memories, self.at = Memories(), NOW
        self.base = node("n")

    def round(self, change: Callable[[NodeRecord], NodeRecord]) -> FleetVerdict:
        self.at += _STEP_S
        records = {
            name: change(replace(self.base, node=name, taken_at=self.at, boot=f"b-{name}")) for name in self.names
        }
        return judge(self.memories, Incoming(records, {}), self.at)


def _with(record: NodeRecord, *found: Sighting) -> NodeRecord:
    return replace(record, findings=(*record.findings, *found))


def figure(setting: Setting) -> Iterator[Row]:
    """Each trouble for six rounds in 300 nodes, then a simulated week."""
    random = Random(setting.seed)
    hit = {f"n{number}" for number in random.sample(range(300), 105)}
    lost = [Sighting(check, "", severity, sure, None, "A switch restarted.") for check, severity, sure in OUTAGE]
    troubles: tuple[tuple[str, Callable[[NodeRecord], NodeRecord]], ...] = (
        ("outage on 35 % of the nodes", lambda one: _with(one, *lost[1:]) if one.node in hit else one),
        (
            "a vendor tool that hangs everywhere",
            lambda one: replace(one, unanswered={"run amd-smi metric --json": "timeout"}),
        ),
        ("a release of ours that fails everywhere", lambda one: _with(one, sick(_FATAL, 3, "gpu-hardware-fault"))),
    )
    for what, change in troubles:
        fleet, drains, findings = _Fleet(300), set[str](), set[tuple[str, str]]()
        for number in range(14):
            found = fleet.round(change if 3 <= number < 9 else lambda one: one)
            drains |= {one.node for one in found.nodes if one.proposal == "drain"}
            findings |= {(one.kind, one.what) for one in found.findings}
        yield none(f"{what}: drains, then and after", sorted(drains))
        yield holds(f"{what}: one finding about the fleet", len(findings) == 1, f"{len(findings)}")
    yield from _week(random, min(500, setting.nodes // 5), 2016 if setting.heavy else 200)


def _week(random: Random, count: int, rounds: int) -> Iterator[Row]:
    """2 % break for good, each record has a glitch in 0.05 %, one outage hits 35 % for six rounds."""
    fleet = _Fleet(count)
    breaks = {name: random.randrange(5, rounds - 10) for name in random.sample(fleet.names, max(2, count // 50))}
    outage, number = random.randrange(rounds // 3, rounds // 2), 0
    hit = {name for name in fleet.names if random.random() < 0.35}
    drained, seen, late = set[str](), dict.fromkeys(breaks, 0), list[str]()

    def change(one: NodeRecord) -> NodeRecord:
        if one.node in breaks and number >= breaks[one.node]:
            one = _with(one, sick(_FATAL, 1, "gpu-hardware-fault"))
        if random.random() < 0.0005:
            check, severity, sure = random.choice(GLITCHES)
            one = _with(one, Sighting(check, "", severity, sure, random.randrange(8), "Seen once."))
        if outage <= number < outage + 6 and one.node in hit:
            one = _with(one, sick("infiniband-port-down", None, "", "warning"))
        return one

    for number in range(rounds):
        drains = {one.node for one in fleet.round(change).nodes if one.proposal == "drain"}
        drained |= drains - breaks.keys()
        for name in breaks:
            seen[name] += number >= breaks[name]
            if seen[name] == 3 and name not in drains:
                late.append(name)
    sound = count - len(breaks)
    yield most(f"{rounds} rounds of {count} nodes: sound nodes ever to drain", len(drained) / sound * 100, 0.1, " %")
    yield none(f"  of {len(breaks)} broken ones, not to drain after three records", late)

"""Records for tests: one of a real fixture, and edits of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from rocdoctor.compare.snapshot import snapshot
from rocdoctor.fleet.judge import Incoming, Memories, judge
from rocdoctor.fleet.making import record_of
from rocdoctor.fleet.memory import as_state, from_state
from rocdoctor.fleet.record import NodeRecord, Sighting, as_data
from rocdoctor.fleet.store import Batch, Store
from rocdoctor.fleet.verdicts import FleetVerdict, NodeVerdict
from tests.golden.replay import judged_fixture

NOW = 1_795_527_600
_ROUND_S = 3600


@cache
def fixture_record(fixture: str = "mi300x-8gpu") -> NodeRecord:
    """What a node with the machine of a fixture would record."""
    judged = judged_fixture(fixture)
    look = snapshot("n", judged.machine, judged.verdicts)
    return record_of("n", NOW, look, judged, tool="0.1.0", rules="r1", boot="b-1")


def sick(check: str, gpu: int | None = None, cause: str = "", severity: Any = "error", looks: int = 1) -> Sighting:
    """A finding."""
    return Sighting(check, cause, severity, "certain", gpu, f"The sentence of {check}.", looks)


def node(name: str, at: int = NOW, *findings: Sighting, fixture: str = "mi300x-8gpu", **changes: Any) -> NodeRecord:
    """A node of the fixture with findings."""
    base = fixture_record(fixture)
    return replace(base, node=name, taken_at=at, findings=(*base.findings, *findings), **changes)


def line(record: NodeRecord, by: str = "") -> str:
    """The record as an engine brings it."""
    return f"{by or record.node}: {json.dumps(as_data(record))}"


def fleet_of(folder: Path) -> Path:
    """The store of twelve nodes after two rounds, with a broken one, one that is odd and one that is silent."""
    store = Store(folder)
    for number in range(2):
        at = NOW + 300 * number
        batch = Batch()
        for n in range(12):
            fatal = (sick("ras-uncorrectable", 2, "gpu-hardware-fault"),) if n == 3 else ()
            one = node(f"n{n}", at, *fatal)
            if n == 4:
                one = replace(one, traits={**one.traits, "kernel": "5.4.0-1"})
            # Five of twelve have another driver, so that something is said of the fleet.
            one = replace(one, traits={**one.traits, "amdgpu": "6.10.5"}) if n > 6 else one
            batch.take(line(one).encode() if n != 5 or not number else b"n5: {")
        store.tick(batch, at)
    return folder


def without(gpu: int) -> dict[str, Any]:
    """The changes of a record that shows all GPUs but one."""
    base = fixture_record()
    keep = [n for n in range(8) if n != gpu]
    return {"gpus": tuple(base.gpus[n] for n in keep), "gpu_traits": tuple(base.gpu_traits[n] for n in keep)}


class FleetRounds:
    """Rounds of one fleet; every round goes through what is written to disk."""

    def __init__(self, size: int = 20) -> None:
        self.size, self.at, self.memories = size, NOW, Memories()
        self.verdict: FleetVerdict

    def round(self, *odd: NodeRecord, absent: Sequence[str] = (), problems: Any = None, step: int = _ROUND_S) -> None:
        """One more round of sound nodes, and of those that are ``odd``."""
        self.at += step
        records = {f"n{n}": node(f"n{n}", self.at) for n in range(self.size) if f"n{n}" not in absent}
        records |= {one.node: replace(one, taken_at=self.at) if one.taken_at == NOW else one for one in odd}
        self.verdict = judge(self.memories, Incoming(records, problems or {}), self.at)
        self.memories = {name: from_state(as_state(one)) for name, one in self.memories.items()}

    def of(self, name: str) -> NodeVerdict | None:
        """The verdict of a node."""
        return next((one for one in self.verdict.nodes if one.node == name), None)

    def said(self, name: str) -> tuple[str, str]:
        """Its class and what is proposed."""
        one = self.of(name)
        return (one.node_class, one.proposal) if one is not None else ("well", "none")

    def to_drain(self) -> list[str]:
        """The nodes to drain."""
        return [one.node for one in self.verdict.nodes if one.proposal == "drain"]

"""Records for tests: one of a real fixture, and edits of it."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from typing import Any

from rocdoctor.compare.snapshot import snapshot
from rocdoctor.fleet.making import record_of
from rocdoctor.fleet.record import NodeRecord, Sighting, as_data
from tests.golden.replay import judged_fixture

NOW = 1_795_527_600


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

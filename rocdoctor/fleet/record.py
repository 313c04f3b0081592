"""The record of a node, ``rocdoctor.record/1``: what it is and what our checks said of it, in about 8 KB.

    {"schema": "rocdoctor.record/1", "node": "gpu0012", "taken_at": 1795527600, "boot": "b-3f...", "tool": "0.1.0",
     "rules": "9f2c...", "complete": true, "clock_s": 0.8,
     "gpus": [{"bdf": "0000:0a:00.0", "chip": "1002:74a1", "id": "g-51..."}, ...],
     "traits": {"cpu": "...", ...}, "gpu_traits": {"vbios": "..." or one for each GPU, ...},
     "tables": {"package": "digest", ...},
     "findings": [{"check": "...", "cause": "...", "severity": "error", "confidence": "certain", "gpu": 2 or null,
                   "message": "...", "looks": 2, "logged_s": 5123.4 or null}],
     "unknown": {"why": ["check", ...]}, "unanswered": {"question": "timeout"},
     "figures": {"matmul_bf16_tflops": [613.2, ...]}, "bundle": {"name": "...", "sha256": "..."} or null}

``complete``: the list of GPUs shows all on the bus. ``looks``: in how many looks of one run the finding was there.
``logged_s``: of what rests on lines of the kernel log alone, the time of the last of them, in seconds since boot, and 0
where they bear none. What is not known is null. ``boot`` is a digest of the kernel's id of the boot, and needs no key;
the ids of GPUs are pseudonyms under the key of the fleet, null without one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rocdoctor.fleet import boot
from rocdoctor.fleet.classes import COUNTED, EVENTS
from rocdoctor.model.finding import Confidence, Severity

SCHEMA = "rocdoctor.record/1"
MOST_BYTES = boot.MOST_BYTES
Traits = Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class Sighting:
    """A finding of a record; ``gpu`` is the index of its GPU, None for the machine."""

    check: str
    cause: str
    severity: Severity
    confidence: Confidence
    gpu: int | None
    message: str
    looks: int = 1
    logged_s: float | None = None

    @property
    def event(self) -> bool:
        """Whether it tells of what happened once, by a line of the log, and not of what is so now."""
        return self.check in EVENTS and (self.logged_s is not None or self.check not in COUNTED)

    @property
    def key(self) -> str:
        """What it is, for comparing records of one node and of several: the sentence may differ."""
        return self.check if self.gpu is None else f"{self.check} {self.gpu}"


@dataclass(frozen=True, slots=True)
class SeenGpu:
    """One GPU: its PCI address, its chip (vendor:device), and a pseudonym of the card itself."""

    bdf: str | None
    chip: str | None
    id: str | None = None


@dataclass(frozen=True, slots=True)
class NodeRecord:
    """One look of a node at itself; ``taken_at`` in seconds since 1970, ``gpu_traits`` one mapping for each GPU."""

    node: str
    taken_at: int
    boot: str | None
    tool: str
    rules: str
    complete: bool
    gpus: tuple[SeenGpu, ...] = ()
    traits: Traits = field(default_factory=dict)
    gpu_traits: tuple[Traits, ...] = ()
    tables: Mapping[str, str] = field(default_factory=dict)
    findings: tuple[Sighting, ...] = ()
    unknown: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unanswered: Mapping[str, str] = field(default_factory=dict)
    figures: Mapping[str, tuple[float | None, ...]] = field(default_factory=dict)
    bundle: Mapping[str, str] | None = None


def as_data(record: NodeRecord) -> dict[str, Any]:
    """The record as it is written."""
    return {
        "schema": SCHEMA,
        "node": record.node,
        "taken_at": record.taken_at,
        "boot": record.boot,
        "tool": record.tool,
        "rules": record.rules,
        "complete": record.complete,
        "gpus": [{"bdf": one.bdf, "chip": one.chip, "id": one.id} for one in record.gpus],
        "traits": dict(record.traits),
        "gpu_traits": _folded(record.gpu_traits),
        "tables": dict(record.tables),
        "findings": [
            {
                "check": one.check,
                "cause": one.cause,
                "severity": one.severity,
                "confidence": one.confidence,
                "gpu": one.gpu,
                "message": one.message,
                "looks": one.looks,
                "logged_s": one.logged_s,
            }
            for one in record.findings
        ],
        "unknown": {why: list(checks) for why, checks in record.unknown.items()},
        "unanswered": dict(record.unanswered),
        "figures": {name: list(values) for name, values in record.figures.items()},
        "bundle": None if record.bundle is None else dict(record.bundle),
    }


def _folded(gpus: tuple[Traits, ...]) -> dict[str, Any]:
    """Each trait once where all GPUs have the same value, else as a list."""
    found: dict[str, Any] = {}
    for key in dict.fromkeys(key for one in gpus for key in one):
        values = [one.get(key) for one in gpus]
        found[key] = values[0] if len(set(values)) == 1 else values
    return found

"""What a smoke run showed, as records and as JSON (``rocdoctor.smoke/1``)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

State = Literal["pass", "fail", "unknown", "not-applicable", "crashed"]
Layer = Literal["", "device", "link", "collectives", "framework", "configuration"]


@dataclass(frozen=True, slots=True)
class RankResult:
    """One rank's part; ``gpu`` is a PCI address, None on the CPU; ``named``: the fault lies at this rank."""

    rank: int
    state: State
    message: str = ""
    gpu: str | None = None
    named: bool = False


@dataclass(frozen=True, slots=True)
class ModeResult:
    """What one mode showed. ``layer`` is where the fault most likely lies; errors and tolerances are absolute."""

    mode: str
    state: State
    wall_s: float
    message: str = ""
    max_error: dict[str, float] = field(default_factory=dict)
    tolerance: dict[str, float] = field(default_factory=dict)
    layer: Layer = ""
    step: int | None = None
    ranks: tuple[RankResult, ...] = ()
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def named(self) -> tuple[int, ...]:
        """The ranks at which the fault lies; empty when it cannot be told."""
        return tuple(one.rank for one in self.ranks if one.named)


@dataclass(frozen=True, slots=True)
class SmokeRun:
    """All modes of one pool: the same ranks, back end and device. ``untested`` says what this run cannot show."""

    world: int
    backend: str
    device: str
    torch: str | None
    wall_s: float
    modes: tuple[ModeResult, ...]
    untested: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    memory_bytes: int | None = None


def to_json(run: SmokeRun) -> dict[str, Any]:
    """The contract ``rocdoctor.smoke/1``."""
    return {
        "schema": "rocdoctor.smoke/1", "world": run.world, "backend": run.backend, "device": run.device,
        "torch": run.torch, "wall_s": round(run.wall_s, 3), "memory_bytes": run.memory_bytes,
        "modes": [_mode(one) for one in run.modes], "untested": list(run.untested), "notes": list(run.notes),
        "figures": {},
    }  # fmt: skip


def _mode(one: ModeResult) -> dict[str, Any]:
    return {
        "mode": one.mode, "state": one.state, "wall_s": round(one.wall_s, 3), "message": one.message,
        "max_error": one.max_error, "tolerance": one.tolerance, "layer": one.layer or None, "step": one.step,
        "named": list(one.named), "facts": one.facts,
        "ranks": [
            {"rank": rank.rank, "state": rank.state, "gpu": rank.gpu, "message": rank.message} for rank in one.ranks
        ],
    }  # fmt: skip

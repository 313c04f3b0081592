"""What smoke tests showed: one record a set of ranks, a mode, a rank."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

SmokeState = Literal["pass", "fail", "unknown", "not-applicable", "crashed"]
Layer = Literal["", "device", "link", "collectives", "framework", "configuration"]


@dataclass(frozen=True, slots=True)
class RankResult:
    """One rank's part; ``gpu`` is a PCI address, None on the CPU; ``named``: the fault lies at this rank."""

    rank: int
    state: SmokeState
    message: str = ""
    gpu: str | None = None
    named: bool = False


@dataclass(frozen=True, slots=True)
class ModeResult:
    """What one mode showed. ``layer`` is where the fault most likely lies; errors and tolerances are absolute."""

    mode: str
    state: SmokeState
    wall_s: float
    message: str = ""
    max_error: Mapping[str, float] = field(default_factory=dict)
    tolerance: Mapping[str, float] = field(default_factory=dict)
    layer: Layer = ""
    step: int | None = None
    ranks: tuple[RankResult, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def named(self) -> tuple[int, ...]:
        """The ranks at which the fault lies; empty when it cannot be told."""
        return tuple(one.rank for one in self.ranks if one.named)


@dataclass(frozen=True, slots=True)
class SmokeRun:
    """All modes of one pool: the same ranks, back end and device. ``untested`` says what this run cannot show.

    ``figures``: measured values by name, each a list of objects with ``gpu``, ``value``, ``expected`` and ``share``.
    """

    world: int
    backend: str
    device: str
    torch: str | None
    wall_s: float
    modes: tuple[ModeResult, ...]
    untested: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    memory_bytes: int | None = None
    figures: Mapping[str, Any] = field(default_factory=dict)

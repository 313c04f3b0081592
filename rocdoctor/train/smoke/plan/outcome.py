"""What became of a trial, for reports: the plan, what ran, and how it compares. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from rocdoctor.parsers.own.smoke_results import ModeResult, SmokeRun
from rocdoctor.train.recommend.model.spec import Work
from rocdoctor.train.smoke.plan.compare import Compared, compared, read_run
from rocdoctor.train.smoke.plan.depths import guess
from rocdoctor.train.smoke.plan.order import cut
from rocdoctor.train.smoke.plan.perform import work_of

State = Literal["ran", "out-of-memory", "crashed", "fail", "not-applicable", "unknown"]


@dataclass(frozen=True, slots=True)
class ShortOfMemory:
    """A rank that ran out of memory: at which part of a step, and the most that the estimate gave these layers.

    ``busy``: something else had memory of a GPU before.
    """

    rank: int
    at: str
    layers: int
    told_bytes: float
    busy: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """``compared`` is None where nothing, or not all, could be measured; ``kept``: where the trial was written."""

    spec: Mapping[str, Any]
    work: Work
    run: SmokeRun
    day: str
    state: State
    compared: Compared | None = None
    lost: ModeResult | None = None
    short: ShortOfMemory | None = None
    kept: str = ""


def outcome(spec: Mapping[str, Any], run: SmokeRun, day: str) -> Outcome:
    """The outcome of a run; raises PlanError for a specification that is none."""
    work = work_of(spec)
    lost = next((one for one in run.modes if one.state != "pass"), None)
    if lost is not None:
        short = _short(work, lost)
        state: State = "out-of-memory" if short is not None else _state(lost)
        return Outcome(spec, work, run, day, state, lost=lost, short=short)
    runs = [read_run(_ran(work, one), one) for one in run.modes]
    measured = [one for one in runs if one is not None]
    if not measured or len(measured) != len(runs):
        return Outcome(spec, work, run, day, "unknown")
    return Outcome(spec, work, run, day, "ran", compared(work, measured, "cpu" if run.device == "cpu" else "cuda"))


def _state(lost: ModeResult) -> State:
    return "crashed" if lost.state == "pass" else lost.state


def _ran(work: Work, one: ModeResult) -> Work:
    """The configuration of a depth, as its facts name it."""
    layers, vocab = one.facts.get("layers"), one.facts.get("vocab")
    layers = layers if isinstance(layers, int) and 1 <= layers <= work.model.layers else work.model.layers
    smaller = vocab if isinstance(vocab, int) and 1 <= vocab < work.model.vocab else None
    return cut(work, layers, smaller)


def _short(work: Work, lost: ModeResult) -> ShortOfMemory | None:
    told = lost.facts.get("out_of_memory")
    if not isinstance(told, Mapping):
        return None
    ran, rank = _ran(work, lost), told.get("rank")
    at = str(told.get("at") or "")[:100]
    busy = lost.facts.get("busy") is True
    return ShortOfMemory(rank if isinstance(rank, int) else 0, at, ran.model.layers, guess(ran).memory.high, busy)

"""What a trial measured, beside what the estimate says of the same configurations. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from rocdoctor.parsers.own.smoke_results import ModeResult
from rocdoctor.train.recommend.fleet.gpu_figures import GIB
from rocdoctor.train.recommend.fleet.trials import Trial, canonical
from rocdoctor.train.recommend.memory.fit import fits
from rocdoctor.train.recommend.memory.gpu_memory import GpuMemory
from rocdoctor.train.recommend.model.spec import Work
from rocdoctor.train.recommend.model.tried import kind_of, plan_of
from rocdoctor.train.recommend.speed.step_time import Speed
from rocdoctor.train.smoke.plan.depths import Guess, estimated, guess
from rocdoctor.train.smoke.plan.order import cut

# Ranks of one division hold the same; a rank that holds more by this share of the plan has something of its own.
_ODD_SHARE = 0.1
# Below this a difference of processes is their own noise, not a plan's: two ranks of FSDP2 on a busy CPU were 33 MiB
# apart, since buffers of collectives are in flight for longer or shorter (torch 2.13, gloo).
_NOISE_BYTES = 64 * 2.0**20
# Beside torch's allocator and the context of the estimate a driver keeps a few percent; what is beyond is another's.
_KEPT_SHARE, _KEPT_BYTES = 0.05, 4 * 2.0**30
# What an estimate may be off by before its user should be told first. That of the accuracy page is 10 %.
OFF = 0.1


@dataclass(frozen=True, slots=True)
class DepthRun:
    """One depth that ran: bytes of each rank, seconds of a step of the slowest, and the estimate of the same.

    ``outside``: the most that a GPU held beside torch's allocator; ``busy``: something used a GPU before it began.
    """

    work: Work
    live: tuple[float, ...]
    reserved: tuple[float, ...]
    outside: float | None
    step_s: float
    told: Guess
    busy: bool = False

    @property
    def most_live(self) -> float:
        return max(self.live)

    @property
    def most_reserved(self) -> float:
        return max(self.reserved)


@dataclass(frozen=True, slots=True)
class Compared:
    """The whole plan: by the estimate, and as the depths that ran show it.

    ``speed``: measured over estimated; None where no rate is known, where it was run elsewhere (``device``), or where
    both depths took equally long. ``odd``: ranks that held more than the others, with by how much.
    """

    work: Work
    device: Literal["cpu", "cuda"]
    told: Guess
    runs: tuple[DepthRun, ...]
    live: float
    reserved: float
    step_s: float | None
    speed: float | None
    odd: tuple[tuple[int, float], ...]

    @property
    def whole(self) -> bool:
        """All layers and all words ran."""
        first = self.runs[0].work.model
        return len(self.runs) == 1 and (first.layers, first.vocab) == (self.work.model.layers, self.work.model.vocab)

    @property
    def vocabulary_cut(self) -> bool:
        return self.runs[0].work.model.vocab != self.work.model.vocab

    @property
    def live_ratio(self) -> float:
        """Measured over estimated live memory of the whole plan."""
        return self.live / self.told.memory.live_peak

    @property
    def reserved_ratio(self) -> float:
        return self.reserved / self.told.memory.reserved

    @property
    def memory_ratio(self) -> float:
        """What is said of the memory: of what the GPU must have; of a process, of what is alive at once."""
        return self.live_ratio if self.device == "cpu" else self.reserved_ratio

    @property
    def off(self) -> tuple[str, ...]:
        """What the estimate was off in, beyond what runs differ by."""
        own, told = (self.live, self.told.memory.live_peak)
        if self.device == "cuda":
            own, told = self.reserved, self.told.memory.reserved
        memory = abs(self.memory_ratio - 1) > OFF and abs(own - told) > _NOISE_BYTES
        speed = self.speed is not None and abs(self.speed - 1) > OFF and not self.disturbed
        return tuple(name for name, far in (("memory", memory), ("speed", speed)) if far)

    @property
    def disturbed(self) -> bool:
        """Something else held memory of a GPU meanwhile, and may have computed there: times are not the plan's alone.

        What the ranks allocated is theirs all the same.
        """
        kept = max(_KEPT_BYTES, _KEPT_SHARE * self.work.gpu.memory_bytes)
        return any(one.busy or (one.outside or 0.0) > one.told.memory.context + kept for one in self.runs)

    @property
    def on_its_own(self) -> bool:
        """It ran on what the plan is for, not on the CPU in place of GPUs."""
        return self.device == "cuda" or self.work.gpu.name == "CPU"

    @property
    def kept(self) -> bool:
        """It speaks for the plan itself: not with fewer words, nor where ranks are not alike, nor in the noise, nor
        beside others."""
        told = self.runs[0].most_live > 2 * _NOISE_BYTES
        return told and self.on_its_own and not (self.vocabulary_cut or self.odd or self.disturbed)

    def trial(self, day: str) -> Trial:
        """What is kept of it."""
        outside = None if self.disturbed else self.runs[-1].outside
        return Trial(
            day,
            canonical(kind_of(self.work)),
            canonical(plan_of(self.work)),
            tuple(one.work.model.layers for one in self.runs),
            self.whole,
            self.live_ratio,
            self.reserved_ratio,
            self.speed,
            outside / GIB if outside is not None else None,
        )


def read_run(work: Work, found: ModeResult) -> DepthRun | None:
    """One depth from the facts of its result; None where it is not there or makes no sense."""
    listed = found.facts.get("trials")
    if not isinstance(listed, Sequence) or isinstance(listed, str) or not listed:
        return None
    rows = [one for one in listed if isinstance(one, Mapping)]
    live, reserved = (tuple(_size(one.get(key)) for one in rows) for key in ("live_bytes", "reserved_bytes"))
    times = [_times(one.get("seconds")) for one in rows]
    if len(rows) != work.gpus or not all(live) or not all(reserved) or not all(times):
        return None
    outside = [_size(one.get("outside_bytes")) for one in rows if one.get("outside_bytes") is not None]
    slowest = max(statistics.median(one) for one in times)
    return DepthRun(
        work, live, reserved, max(outside, default=None), slowest, guess(work), found.facts.get("busy") is True
    )


def _size(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value > 0 else 0.0


def _times(value: Any) -> list[float]:
    return [seconds for one in value if (seconds := _size(one))] if isinstance(value, list) else []


def compared(work: Work, runs: Sequence[DepthRun], device: Literal["cpu", "cuda"]) -> Compared:
    """The whole plan from one or two depths that ran."""
    last, layers = runs[-1], work.model.layers
    told = guess(_whole(work, last.work))
    live, reserved = (
        _line(runs, layers, [getattr(one, key) for one in runs]) for key in ("most_live", "most_reserved")
    )
    step = _line(runs, layers, [one.step_s for one in runs])
    grows = len(runs) == 1 or runs[1].step_s > runs[0].step_s
    step_s = step if grows else None
    found = Compared(work, device, told, tuple(runs), live, max(live, reserved), step_s, None, _odd(last))
    if told.step_s is None or step_s is None or not found.on_its_own:
        return found
    return replace(found, speed=told.step_s / step_s)


def _whole(work: Work, ran: Work) -> Work:
    """The plan's layers with the vocabulary and the micro-batches that ran."""
    vocab = ran.model.vocab
    return cut(work, work.model.layers, vocab if vocab != work.model.vocab else None)


def _line(runs: Sequence[DepthRun], layers: int, values: Sequence[float]) -> float:
    """The straight line through what ran, at the plan's depth: all layers are alike."""
    if len(runs) == 1:
        return values[0]
    first, second = (one.work.model.layers for one in runs)
    return values[1] + (layers - second) * max(0.0, values[1] - values[0]) / (second - first)


def _odd(run: DepthRun) -> tuple[tuple[int, float], ...]:
    usual = statistics.median_low(run.reserved)
    limit = max(_ODD_SHARE * usual, _NOISE_BYTES)
    return tuple((rank, size - usual) for rank, size in enumerate(run.reserved) if size - usual > limit)


def corrected(one: Compared, day: str) -> tuple[GpuMemory, Speed | None, str]:
    """Memory and speed of the whole plan by the trial, and whether it fits: what the next estimate will say."""
    work = replace(one.work, gpu=replace(one.work.gpu, trials=(one.trial(day),)))
    found, told = estimated(work)
    return found, told, fits(found, work.gpu)

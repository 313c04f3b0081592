"""Runs modes on pools of ranks in the interpreter under test and judges what they leave behind."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from rocdoctor.parsers.own.smoke_results import ModeResult, RankResult, SmokeRun
from rocdoctor.train.smoke.judge.by_modes import weighed
from rocdoctor.train.smoke.judge.verdicts import alike_everywhere, judge, located
from rocdoctor.train.smoke.run.launch import LaunchPlace, launch
from rocdoctor.train.smoke.run.pool import ModeRecord, Pool
from rocdoctor.train.smoke.run.protocols import forced
from rocdoctor.train.smoke.run.second_look import looked_again
from rocdoctor.train.smoke.run.standstill import wait_of_ranks_s
from rocdoctor.train.smoke.worker import device_choice, locate
from rocdoctor.train.smoke.worker.mode import Mode, all_modes

CPU_LIMIT_S, GPU_LIMIT_S = 30.0, 120.0
_MOST_NAMED = 8


@dataclass(frozen=True, slots=True)
class RunSetting:
    """One set of ranks: how many, on which back end, on ``cpu`` or ``cuda``, and the deadline of a mode in seconds."""

    world: int
    backend: str
    device: str
    limit_s: float = CPU_LIMIT_S
    untested: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    gpus: tuple[int, ...] = ()  # their numbers for torch, where that are not the first ones


class Ranks(Protocol):
    """Ranks that run modes: a pool on one machine, or a team of nodes."""

    hello: dict[str, Any]
    peak_memory_bytes: int | None

    def start(self, world: int, backend: str, device: str, timeout_s: float, limit_s: float) -> ModeRecord:
        """Start them anew."""
        ...

    def run(self, mode: str, limit_s: float, on_rank: Callable[[int, str], None] | None = None) -> ModeRecord:
        """Run one mode on all."""
        ...

    @property
    def whole(self) -> bool:
        """Whether all can run another one."""
        ...

    def stop_ranks(self) -> None:
        """End them."""
        ...


Told = Callable[[str, str, int, str], None]  # what ("mode", "rank", "done"), mode, rank, state


def modes_named(names: Iterable[str], full: bool) -> tuple[Mode, ...]:
    """The modes to run: those named, else the quick or the full set."""
    known = all_modes()
    wanted = set(names)
    return tuple(mode for mode in known if (mode.name in wanted if wanted else full or not mode.full))


def run_modes(
    pool: Ranks, setting: RunSetting, modes: Sequence[Mode], told: Told | None = None, notes: tuple[str, ...] = ()
) -> SmokeRun:
    """Run the modes one after another on one set of ranks; the set is made anew after a loss."""
    began = time.monotonic()
    tell = told or _nobody
    results: list[ModeResult] = []
    alike: dict[str, str] = {}
    up = False
    for mode in modes:
        tell("mode", mode.name, -1, "")
        found = _not_applicable(mode, setting)
        if found is None and mode.launch is not None:
            pool.stop_ranks()  # they would take memory and time from the others
            up = False
            found = _launched(mode, pool, setting, partial(_tell_rank, tell, mode.name))
        if found is None and not up:
            start = judge(_start(pool, setting))
            up = start.state == "pass"
            if not up:
                rest = [one.name for one in modes[len(results) :]]
                notes = (*notes, f"not run because the ranks did not start: {_listed(rest)}")
                results.append(start)
                tell("done", start.mode, -1, start.state)
                break
        if found is None:
            record = pool.run(mode.name, setting.limit_s * mode.slow, partial(_tell_rank, tell, mode.name))
            if pool.whole:
                record = looked_again(record, partial(pool.run, limit_s=setting.limit_s))
            found = judge(record)
            alike[mode.name] = alike_everywhere(record)
            up = pool.whole
            if found.state == "fail" and up and len(found.named) in (0, setting.world) and setting.world > 1:
                found = located(found, pool.run(locate.NAME, setting.limit_s))
                up = pool.whole
            if isinstance(pool, Pool) and setting.backend == "nccl" and _by_protocol(mode, found):
                again = partial(_start, pool, setting)
                found, up = forced(found, pool, again, setting.limit_s * mode.slow), False
            if mode.leaves and setting.device != "cpu" and isinstance(pool, Pool):
                pool.stop_ranks()
                up = False
        results.append(found)
        tell("done", mode.name, -1, found.state)
    return ended(pool, setting, began, weighed(results, alike), (*notes, *setting.notes))


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def ended(
    pool: Ranks, setting: RunSetting, began: float, results: Sequence[ModeResult], notes: tuple[str, ...] = ()
) -> SmokeRun:
    """The record of a run that began at ``began`` (of ``time.monotonic``); its ranks are stopped."""
    pool.stop_ranks()
    return SmokeRun(
        setting.world,
        setting.backend,
        setting.device,
        pool.hello["torch"],
        time.monotonic() - began,
        tuple(results),
        setting.untested,
        notes,
        pool.peak_memory_bytes,
    )


def _start(pool: Ranks, setting: RunSetting, variables: dict[str, str] | None = None) -> ModeRecord:
    variables = dict(variables or {})
    if setting.gpus:
        variables[device_choice.NUMBERS] = ",".join(map(str, setting.gpus))
    more = (variables,) if variables and isinstance(pool, Pool) else ()
    wait_s = wait_of_ranks_s(setting.backend, setting.limit_s)
    return pool.start(setting.world, setting.backend, setting.device, wait_s, setting.limit_s, *more)


# Modes that are one exchange: what a library does with it depends on the protocol that it chooses.
_EXCHANGES = ("all-reduce", "one-to-all", "all-gather", "reduce-scatter", "all-to-all", "large-messages")


def _by_protocol(mode: Mode, found: ModeResult) -> bool:
    """The largest messages are tried by each protocol, others where they went wrong."""
    return mode.name in _EXCHANGES and (
        found.state == "fail" or (mode.name == _EXCHANGES[-1] and found.state == "pass")
    )


def _launched(mode: Mode, pool: Ranks, setting: RunSetting, tell: Callable[[int, str], None]) -> ModeResult:
    if not isinstance(pool, Pool):
        words = "its launcher starts all ranks on one machine; run it on each node separately"
        ranks = tuple(RankResult(rank, "not-applicable") for rank in range(setting.world))
        return ModeResult(mode.name, "not-applicable", 0.0, words, ranks=ranks)
    limit_s = setting.limit_s * mode.slow
    place = LaunchPlace(pool.interpreter, pool.surroundings, setting.world, setting.backend, setting.device, limit_s)
    return launch(mode, place, tell)


def _tell_rank(tell: Told, mode: str, rank: int, state: str) -> None:
    tell("rank", mode, rank, state)


def _nobody(what: str, mode: str, rank: int, state: str) -> None:
    """Nobody wants to know how far it is."""


def _not_applicable(mode: Mode, setting: RunSetting) -> ModeResult | None:
    if setting.world >= mode.min_world:
        return None
    words = f"needs {mode.min_world} ranks or more"
    ranks = tuple(RankResult(rank, "not-applicable") for rank in range(setting.world))
    return ModeResult(mode.name, "not-applicable", 0.0, words, ranks=ranks)

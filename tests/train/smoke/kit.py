"""Running modes with and without a planted fault, on one server for a whole test process."""

from __future__ import annotations

import atexit
import inspect
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TypeAlias

from rocdoctor.host.base import Answer, Kind
from rocdoctor.parsers.own.smoke_results import ModeResult, SmokeRun
from rocdoctor.train.smoke.judge.verdicts import judge
from rocdoctor.train.smoke.run.pool import Pool
from rocdoctor.train.smoke.run.runner import RunSetting, modes_named, run_modes
from rocdoctor.train.smoke.run.second_look import looked_again
from rocdoctor.train.smoke.run.standstill import wait_of_ranks_s

Fault: TypeAlias = Callable[[Callable[[], bool]], None]
PLANTED = Path(__file__).with_name("planted")


@cache
def _server() -> tuple[Pool, Path]:
    handle, name = tempfile.mkstemp(prefix="planted-")
    os.close(handle)
    environment = {**os.environ, "PYTHONPATH": str(PLANTED), "ROCDOCTOR_PLANT": name, "PYTHONDONTWRITEBYTECODE": "1"}
    pool = Pool(sys.executable, environment)
    atexit.register(pool.close)
    atexit.register(Path(name).unlink, missing_ok=True)
    return pool, Path(name)


def healthy_pool() -> Pool:
    """The server's pool, with no fault planted."""
    pool, plant = _server()
    plant.write_text("")
    return pool


def run(mode: str, world: int = 2, limit_s: float = 30.0, beside: Iterable[str] = ()) -> ModeResult:
    """One healthy run of a mode on CPU ranks; with ``beside``, that of one run of all these on the same ranks, as users
    run them: most of a short run is the start of its ranks."""
    if beside:
        return _together(tuple(beside), world, limit_s)[mode]
    return planted("", -1, mode, world, limit_s)


@cache
def _together(modes: tuple[str, ...], world: int, limit_s: float) -> dict[str, ModeResult]:
    found = run_modes(healthy_pool(), RunSetting(world, "gloo", "cpu", limit_s), modes_named(list(modes), True)).modes
    return {one.mode: one for one in found}


def planted(fault: str | Fault, rank: int | str, mode: str, world: int = 2, limit_s: float = 30.0) -> ModeResult:
    """Run a mode with one fault at one rank (``all``: every rank): a name, or a function of the test.

    The function alone runs in the rank: beside its own imports it sees what ``planted/faults.py`` has.
    """
    return _run(_words(fault, rank, mode) if fault else "", mode, world, limit_s)


def plant(fault: str | Fault, rank: int | str, mode: str) -> None:
    """For a test that runs the ranks itself."""
    _server()[1].write_text(_words(fault, rank, mode))


def _words(fault: str | Fault, rank: int | str, mode: str) -> str:
    name = fault if isinstance(fault, str) else f"{inspect.getsourcefile(fault)}:{fault.__name__}"
    return f"{name} {rank} {mode}"


def evidence_file() -> Path:
    """Where the faults that tell what they changed write it, while it exists: ``planted/evidence.py``."""
    return _server()[1].with_suffix(".acted")


def check_fault(
    fault: str, rank: int | str, mode: str, world: int, state: str, named: tuple[int, ...], layer: str, words: str
) -> None:
    """Run a mode with a planted fault; state, named ranks, layer and words of the verdict must be as given."""
    result = planted(fault, rank, mode, world, limit_s=20.0)
    assert (result.state, result.named, result.layer) == (state, named, layer), result.message
    assert words in result.message


def planted_in_turn(
    cases: Sequence[tuple[str | Fault, int | str, str]], world: int, limit_s: float = 30.0
) -> list[ModeResult]:
    """(fault, rank, mode) one after another on the same ranks, which are made anew after a loss only.

    A fault is in place from the start and acts in its own turn alone: most of a short run is the start of its ranks.
    """
    pool, plant = _server()
    turn = plant.with_suffix(".turn")
    plant.write_text("\n".join(_words(*case) for case in cases))
    found = []
    for number, case in enumerate(cases):
        turn.write_text(str(number))
        if not pool.whole or number == 0:
            pool.start(world, "gloo", "cpu", wait_of_ranks_s("gloo", limit_s), limit_s)
        record = pool.run(case[2], limit_s)
        found.append(judge(looked_again(record, partial(pool.run, limit_s=limit_s)) if pool.whole else record))
    pool.stop_ranks()
    turn.unlink()
    return found


def wrong_of(
    cases: Sequence[tuple[str | Fault, int | str, str, int, str, tuple[int, ...], str | None, str]],
    limit_s: float = 20.0,
) -> list[str]:
    """What ``check_fault`` would find of cases that run in turn on the same ranks: a line for each that is not so.

    A layer that is None may be any.
    """
    found = []
    for world in sorted({case[3] for case in cases}):
        chosen = [case for case in cases if case[3] == world]
        results = planted_in_turn([case[:3] for case in chosen], world, limit_s)
        for (fault, rank, mode, _, state, named, layer, words), one in zip(chosen, results, strict=True):
            right = (one.state, one.named) == (state, named) and layer in (None, one.layer) and words in one.message
            told = f"{fault} at {rank} of {world} in {mode}: {one.state} {one.named} {one.layer} {one.message}"
            found += [] if right else [told]
    return found


def planted_for_all_modes(fault: str, rank: int | str, mode: str, world: int, limit_s: float = 30.0) -> ModeResult:
    """The same, but the fault stays when another mode looks at the ranks again, as a broken part would."""
    return _run(f"{fault} {rank} *", mode, world, limit_s)


def _run(words: str, mode: str, world: int, limit_s: float) -> ModeResult:
    pool, plant = _server()
    plant.write_text(words)
    return run_modes(pool, RunSetting(world, "gloo", "cpu", limit_s), modes_named([mode], True)).modes[-1]


def planted_beside(fault: str, rank: int | str, modes: Sequence[str], world: int, limit_s: float) -> list[ModeResult]:
    """The same with several modes, as users run them: their results tell of each other."""
    pool, plant = _server()
    plant.write_text(f"{fault} {rank} *")
    return list(run_modes(pool, RunSetting(world, "gloo", "cpu", limit_s), modes_named(modes, True)).modes)


def processes() -> list[int]:
    """The server's descendants that run now."""
    from rocdoctor.train.smoke.run.processes import marked

    pool, _ = _server()
    return [pid for pid in marked(pool.mark) if pid != pool.hello["pid"]]


class NoSensors:
    """A host without anything to read, as a virtual machine is."""

    kind: Kind = "live"
    origin = "a test"

    def ask(self, question: str) -> Answer:
        return Answer(question, "absent")

    def prefetch(self, questions: Iterable[str]) -> None:
        """Nothing to begin."""

    def available(self) -> tuple[str, ...]:
        return ()

    def forget(self) -> None:
        """Nothing was kept."""


def measured_on_the_cpu(fault: str, rank: int, part: str, world: int = 2) -> SmokeRun:
    """The stage of measured figures with one fault at one rank in one part."""
    from rocdoctor.train.smoke.figures.measure import WantedFigures, measure
    from rocdoctor.train.smoke.figures.sampler import Sampler

    pool, plant = _server()
    plant.write_text(f"{fault} {rank} {part}")
    silent = Sampler(True, NoSensors())
    return measure(pool, RunSetting(world, "gloo", "cpu", 30.0), [], WantedFigures(), sampler=silent, budget_s=120.0)

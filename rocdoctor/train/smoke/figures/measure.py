"""The stage of measured figures: orders the parts on a pool of ranks, watches the sensors meanwhile, gathers.

Nothing here judges: what a figure should be stands in ``expected`` and ``judge_figures``.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rocdoctor.host.live.new_file import folder_for, write_new
from rocdoctor.host.live.regular_files import read_regular
from rocdoctor.parsers.own.smoke_results import ModeResult, SmokeRun
from rocdoctor.train.smoke.figures.figure_math import Figures, Measured, figures_of
from rocdoctor.train.smoke.figures.sampler import Reading, Sampler, summary
from rocdoctor.train.smoke.figures.soak import PIECE_S, SoakRow, soak_figures
from rocdoctor.train.smoke.judge.verdicts import judge
from rocdoctor.train.smoke.run.pool import ModeRecord, Pool
from rocdoctor.train.smoke.run.runner import RunSetting, Told
from rocdoctor.train.smoke.worker.figures import PARTS, SOAK
from rocdoctor.train.smoke.worker.mode import Mode

# After this no further part is begun; one that runs may take _GRACE_S longer before it counts as hanging.
BUDGET_S = {"cpu": 10.0, "cuda": 20.0}
_GRACE_S = 10.0
_COMPILE_LEAST_S = 5.0
_BUSY_PERCENT = 50
_MOST_TRACE_BYTES = 512 << 20
_ON_GPUS = ("figures-host", "figures-pairs", "figures-compiled")


@dataclass(frozen=True, slots=True)
class WantedFigures:
    """What to measure: ``figures``, and ``soak_minutes`` of load (0: none). ``trace``: a file to write, or empty."""

    figures: bool = True
    soak_minutes: float = 0.0
    trace: str = ""


@dataclass(slots=True)
class _Stage:
    """What the stage gathers as it goes; all of it is printed, however it ends."""

    pool: Pool
    setting: RunSetting
    gpus: Sequence[Mapping[str, Any]]
    stop: threading.Event
    records: dict[int, list[Mapping[str, Any]]] = field(default_factory=dict)
    pci: dict[int, str | None] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    lost: list[ModeResult] = field(default_factory=list)
    trace: str = ""

    def start(self) -> bool:
        """Have all ranks up."""
        if self.pool.whole:
            return True
        found = self.pool.start(
            self.setting.world, self.setting.backend, self.setting.device, self.setting.limit_s, self.setting.limit_s
        )
        if not self.pool.whole:
            self.notes.append(f"the ranks did not start: {judge(found).message}")
        return self.pool.whole

    def run(self, part: Mode, limit_s: float, options: Mapping[str, Any] | None = None) -> ModeRecord:
        """One part on all ranks; what went wrong becomes a note, and a rank that died by itself a result."""
        record = self.pool.run(part.name, limit_s, options=options)
        found = judge(record)
        for one in record.ranks:
            self.pci[one.rank] = one.gpu
            for words in (one.result or {}).get("facts", {}).get("skipped", []):
                self.notes.append(f"{part.name.removeprefix('figures-')}, rank {one.rank}: not measured: {words}")
        if found.state in ("fail", "crashed"):
            short = [one.rank for one in record.ranks if (one.result or {}).get("kind") == "memory"]
            if record.late:
                self.notes.append(f"{part.name}: no answer within {limit_s:.0f} s: {found.message}"[:300])
            elif short:
                where = "every rank" if len(short) == len(record.ranks) else f"rank {', '.join(map(str, short))}"
                self.notes.append(f"{part.name}: not enough free memory ({where})")
            else:
                self.lost.append(found)
        return record

    def number(self, rank: int) -> int | None:
        """Torch's number of a rank's device."""
        return rank % len(self.gpus) if self.setting.device != "cpu" and self.gpus else None

    def number_of(self, bdf: str | None) -> int | None:
        """Torch's number of the GPU at an address."""
        return next((number for number, one in enumerate(self.gpus) if bdf and one.get("pci") == bdf), None)

    def measured(self) -> list[Measured]:
        return [
            Measured(rank, self.number(rank), self.pci.get(rank), records)
            for rank, records in sorted(self.records.items())
        ]


def setting_for(settings: Sequence[RunSetting], gpus: Sequence[Mapping[str, Any]]) -> RunSetting:
    """The set of ranks that figures are taken on: one a device, since two on one would measure each other."""
    first = settings[0]
    if first.device != "cpu" and first.world > len(gpus) > 0:
        return replace(first, world=len(gpus))
    return first


def measure(
    pool: Pool,
    setting: RunSetting,
    gpus: Sequence[Mapping[str, Any]],
    wanted: WantedFigures,
    told: Told | None = None,
    stop: threading.Event | None = None,
    sampler: Sampler | None = None,
    budget_s: float | None = None,
) -> SmokeRun:
    """Everything that was asked for, as a run without modes. ``stop`` ends it early with what there is.

    ``budget_s``: after this no further part is begun (20 s on GPUs, 10 s on the CPU).
    """
    stage = _Stage(pool, setting, gpus, stop or threading.Event())
    began = time.monotonic()
    tell = told or (lambda what, mode, rank, state: None)
    sampler = sampler or Sampler(setting.device == "cpu")
    before: list[Reading] = []
    with contextlib.suppress(Exception):  # sensors are an extra
        before = sampler.look()
    figures: Figures = {}
    sampler.start()
    try:
        if stage.start():
            if wanted.figures:
                _parts(stage, wanted, tell, time.monotonic() + (budget_s or BUDGET_S[setting.device]))
                figures = figures_of(stage.measured())
            if wanted.soak_minutes > 0:
                figures.update(_soak(stage, wanted.soak_minutes, tell, sampler))
    finally:
        pool.stop_ranks()
        readings = sampler.stop()
    figures.update(summary(readings, stage.number_of))
    _busy_before(figures, before, stage.number_of)
    return SmokeRun(
        setting.world,
        setting.backend,
        setting.device,
        pool.hello["torch"],
        time.monotonic() - began,
        tuple(stage.lost),
        (),
        tuple(dict.fromkeys(stage.notes)),
        pool.peak_memory_bytes,
        figures,
    )


def _parts(stage: _Stage, wanted: WantedFigures, tell: Told, deadline: float) -> None:
    left = []
    for part in PARTS:
        rest = deadline - time.monotonic()
        if stage.setting.world < part.min_world or (stage.setting.device == "cpu" and part.name in _ON_GPUS):
            continue
        compiling = part.name == "figures-compiled"
        if stage.stop.is_set() or rest <= (_COMPILE_LEAST_S if compiling else 0.0) or not stage.start():
            left.append(part.title)
            continue
        tell("mode", part.name, -1, "")
        options = {"trace": True} if wanted.trace else None
        record = stage.run(part, rest if compiling else rest + _GRACE_S, options)
        for one in record.ranks:
            facts = (one.result or {}).get("facts", {})
            stage.records.setdefault(one.rank, []).extend(facts.get("measured", []))
            if wanted.trace and "trace" in facts:
                stage.notes.append(_keep_trace(str(facts["trace"]), wanted.trace))
        tell("done", part.name, -1, "pass")
    if left:
        why = "stopped" if stage.stop.is_set() else "the time was up"
        stage.notes.append(f"not measured, since {why}: {', '.join(left)}")


def _keep_trace(made: str, wanted: str) -> str:
    """Copy the trace out of the pool's folder; never over another file."""
    try:
        with folder_for(Path(wanted).parent) as folder:
            write_new(Path(wanted), read_regular(Path(made), _MOST_TRACE_BYTES), folder=folder)
    except OSError as error:
        return f"the trace could not be written: {error}"
    return f"a trace of three training steps was written to {wanted}"


def _soak(stage: _Stage, minutes: float, tell: Told, sampler: Sampler) -> Figures:
    rows: list[SoakRow] = []
    began = time.monotonic()
    while (rest := began + minutes * 60 - time.monotonic()) > 0.5 and not stage.stop.is_set():
        if not stage.start():
            break
        at = time.monotonic()
        tell("mode", f"{SOAK.name} {(at - began) / 60:.1f} of {minutes:g} min", -1, "")
        record = stage.run(SOAK, PIECE_S + 60.0, {"seconds": min(PIECE_S, rest)})
        for one in record.ranks:
            for found in (one.result or {}).get("facts", {}).get("measured", []):
                number, pci = stage.number(one.rank), one.gpu
                meanwhile = [look for look in list(sampler.readings) if look.at_s >= at and look.bdf == pci]
                rows.append(SoakRow.of(one.rank, number, pci, at - began, found, meanwhile))
        if not stage.pool.whole:
            stage.notes.append(f"the sustained load ended after {(time.monotonic() - began) / 60:.1f} minutes")
            break
    tell("done", SOAK.name, -1, "pass")
    return soak_figures(rows)


def _busy_before(figures: Figures, before: Sequence[Reading], number_of: Callable[[str | None], int | None]) -> None:
    """GPUs that were at work before anything of ours was."""
    for one in before:
        number = number_of(one.bdf)
        if number is not None and one.busy_percent is not None and one.busy_percent >= _BUSY_PERCENT:
            entry = {"gpu": number, "pci": one.bdf, "value": one.busy_percent, "expected": None, "share": None}
            figures.setdefault("busy_before_percent", []).append(entry)

"""One smoke run on this machine, as the question ``smoke SET [NAME=VALUE ...]`` asks for it.

The question is the key under which the results are recorded: ``smoke quick world=4 backend=gloo``. Names: ``world``,
``backend``, ``device``, ``deadline`` (seconds, of one mode), ``modes`` (separated by commas), ``figures`` (``yes``: how
fast this machine is, too), ``soak`` (minutes of sustained load) and ``plan`` (a specification as JSON without spaces,
which alone is tried); SET is quick, full or none.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from threading import Event
from typing import Any

from rocdoctor.parsers.own.smoke_results import SmokeRun
from rocdoctor.train.smoke.run import gpu_notes
from rocdoctor.train.smoke.run.pool import Pool, PoolError
from rocdoctor.train.smoke.run.rank_sets import plan
from rocdoctor.train.smoke.run.runner import modes_named, run_modes

Told = Callable[[str, str, int, str], None]


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked for; None and empty mean that the machine decides."""

    full: bool = False
    modes: tuple[str, ...] = ()
    world: int | None = None
    backend: str = "auto"
    device: str = "auto"
    deadline_s: float | None = None
    figures: bool = False
    soak_minutes: float = 0.0
    no_modes: bool = False
    plan: str = ""

    def question(self) -> str:
        """The question that asks for it."""
        words = ["smoke", "none" if self.no_modes else "full" if self.full else "quick"]
        words += [f"modes={','.join(self.modes)}"] if self.modes else []
        words += [f"world={self.world}"] if self.world is not None else []
        words += [f"backend={self.backend}"] if self.backend != "auto" else []
        words += [f"device={self.device}"] if self.device != "auto" else []
        words += [f"deadline={self.deadline_s:g}"] if self.deadline_s is not None else []
        words += ["figures=yes"] if self.figures else []
        words += [f"soak={self.soak_minutes:g}"] if self.soak_minutes else []
        words += [f"plan={self.plan}"] if self.plan else []
        return " ".join(words)


def plan_word(spec: Any) -> str:
    """A specification as a word of a question; raises ValueError for what is not JSON."""
    text = json.dumps(spec, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.replace(" ", "\\u0020")  # only in strings


@dataclass(frozen=True, slots=True)
class Aside:
    """What belongs to one run and not to its question: a file for a trace (empty: none), and a way to end it early."""

    trace: str = ""
    stop: Event = field(default_factory=Event)


def request_of(question: str) -> Request:
    """The request of a question.

    Raises:
        ValueError: it is none.
    """
    verb, chosen, *rest = question.split(" ")
    values = dict(word.split("=", 1) for word in rest)
    if verb != "smoke" or chosen not in ("quick", "full", "none") or set(values) - _NAMES:
        raise ValueError(f"no smoke question: {question}")
    return Request(
        chosen == "full",
        tuple(filter(None, values.get("modes", "").split(","))),
        int(values["world"]) if "world" in values else None,
        values.get("backend", "auto"),
        values.get("device", "auto"),
        float(values["deadline"]) if "deadline" in values else None,
        values.get("figures") == "yes",
        float(values.get("soak", 0)),
        chosen == "none",
        values.get("plan", ""),
    )


_NAMES = frozenset(("modes", "world", "backend", "device", "deadline", "figures", "soak", "plan"))


_OPENED = (
    "something that Python runs when it starts (a .pth file, sitecustomize, a package that loads "
    "itself into torch) has opened the GPU. The ranks are forked, so they could not use it. "
    "Disable it, or test without GPUs: --device cpu"
)


def perform(
    request: Request,
    interpreter: str,
    told: Told | None = None,
    aside: Aside | None = None,
    surroundings: Mapping[str, str] | None = None,
) -> list[SmokeRun]:
    """Run it; ``surroundings`` is the environment under test where it is not ours.

    Raises:
        PoolError: the interpreter cannot run smoke tests.
        PlanError: this machine cannot do what was asked for.
    """
    aside = aside or Aside()
    modes = () if request.no_modes else modes_named(request.modes, request.full)
    began = time.monotonic()
    with Pool(interpreter, surroundings) as pool:
        if pool.hello.get("opened") and request.device != "cpu":
            raise PoolError(_OPENED)
        gpus: list[dict[str, Any]] = []
        notes: tuple[str, ...] = ()
        if request.device != "cpu" and (pool.hello.get("hip") or pool.hello.get("cuda")):
            seen = pool.survey()
            gpus = seen["gpus"]
            if seen.get("error"):
                notes = (f"torch cannot use a GPU: {seen['error']}",)
            notes += gpu_notes.hidden(pool.surroundings, bool(pool.hello.get("hip")), len(gpus)) + gpu_notes.busy(gpus)
        if request.plan:
            return [_tried(pool, request, gpus, notes, told, time.monotonic() - began)]
        settings = plan(pool.hello, gpus, request.world, request.backend, request.device, request.deadline_s)
        before_s = time.monotonic() - began  # importing torch: the user waits for it too
        runs = [run_modes(pool, one, modes, told, notes) for one in settings] if modes else []
        if request.figures or request.soak_minutes:
            from rocdoctor.train.smoke.figures import measure as figures

            setting = figures.setting_for(settings, gpus)
            wanted = figures.WantedFigures(request.figures, request.soak_minutes, aside.trace)
            measured = figures.measure(pool, setting, gpus, wanted, told, aside.stop)
            runs = _joined(runs, measured, notes)
        return [replace(runs[0], wall_s=runs[0].wall_s + before_s), *runs[1:]] if runs else runs


def _tried(
    pool: Pool,
    request: Request,
    gpus: list[dict[str, Any]],
    notes: tuple[str, ...],
    told: Told | None,
    before_s: float,
) -> SmokeRun:
    """A plan at a depth or two."""
    from rocdoctor.train.smoke.plan.perform import run_plan, setting_of, work_of

    work = work_of(json.loads(request.plan))
    setting = setting_of(work, pool.hello, gpus, request.world, request.device)
    run = run_plan(pool, work, setting, told, request.deadline_s)
    if setting.device != "cpu" and gpu_notes.busy(gpus[: setting.world]):
        run = replace(run, modes=tuple(replace(one, facts={**one.facts, "busy": True}) for one in run.modes))
    return replace(run, wall_s=run.wall_s + before_s, notes=(*notes, *run.notes))


def _joined(runs: list[SmokeRun], measured: SmokeRun, notes: tuple[str, ...]) -> list[SmokeRun]:
    """Figures stand in the run of the same ranks; by themselves where the modes had others, or there were none."""
    first = runs[0] if runs else None
    if first is None:
        return [replace(measured, notes=(*notes, *measured.notes))]
    if (first.world, first.backend, first.device) != (measured.world, measured.backend, measured.device):
        return [*runs, measured]
    joined = replace(
        first,
        wall_s=first.wall_s + measured.wall_s,
        modes=(*first.modes, *measured.modes),
        notes=(*first.notes, *measured.notes),
        figures=measured.figures,
    )
    return [joined, *runs[1:]]

"""One run of smoke tests as a screen follows it: what was asked for, how far it is, what came of it.

Without Textual. ``perform`` runs in a thread; ``heard`` and ``ended`` are called wherever the state is shown.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Literal, Protocol

from rocdoctor.host.base import Answer, Host
from rocdoctor.model.evidence import Known, Unknown, value_or
from rocdoctor.model.facts import Machine, SmokeRun
from rocdoctor.model.finding import Diagnosis
from rocdoctor.parsers.own.smoke_results import from_text
from rocdoctor.train.smoke.figures.expected import with_expected
from rocdoctor.train.smoke.figures.judge_figures import LowFigure, low_figures
from rocdoctor.train.smoke.run.request import Request
from rocdoctor.train.smoke.run.runner import CPU_LIMIT_S, GPU_LIMIT_S

Told = Callable[[str, str, int, str], None]
State = Literal["running", "ending", "done", "cancelled", "failed"]
FIGURES = "figures-"
_RAN = ("pass", "fail")  # what ran to its end: its seconds tell of another time
_LEAST_MEASURED = 5  # modes, before their median counts for one that was never measured


class Runner(Protocol):
    """What runs smoke tests, and can end them."""

    def perform(self, question: str, told: Told) -> Answer:
        """Run them; ends when all of it has ended."""
        ...

    def cancel(self) -> None:
        """End them."""
        ...


@dataclass(frozen=True, slots=True)
class HostRunner:
    """Runs them on the machine of a host, in a child of its own."""

    host: Host

    def perform(self, question: str, told: Told) -> Answer:
        """Run them; the host keeps the results."""
        from rocdoctor.host.supervised.supervised_host import perform

        return perform(self.host, question, told)

    def cancel(self) -> None:
        """End them with all their processes."""
        from rocdoctor.host.supervised.supervised_host import far_of

        far = far_of(self.host)
        if far is not None:
            far.cancel()


@dataclass(slots=True)
class ModeProgress:
    """One mode that runs or has run: what each rank has answered, and the verdict ("" while it runs)."""

    ranks: dict[int, str] = field(default_factory=dict)
    state: str = ""


@dataclass(slots=True)
class SmokeSession:
    """A run from its begin to its end. ``modes``: those of one set of ranks.

    ``passes``: the modes that were begun, for one set of ranks after another; ``current`` the one that runs.
    ``clock``: when it ended, as time of day. ``usual``: seconds that modes took before on this machine (``usual_s``).
    """

    request: Request
    runner: Runner
    modes: Sequence[str]
    now: Callable[[], float] = time.monotonic
    state: State = "running"
    passes: list[dict[str, ModeProgress]] = field(default_factory=list)
    current: str = ""
    problem: str = ""
    runs: tuple[SmokeRun, ...] = ()
    clock: str = ""
    usual: Mapping[str, float] = field(default_factory=dict)
    _took: dict[str, list[float]] = field(default_factory=dict)
    _mode_began: float = 0.0
    _began: float = 0.0
    _ended: float | None = None

    def __post_init__(self) -> None:
        self._began = self.now()

    @property
    def going_on(self) -> bool:
        """It has not ended yet."""
        return self.state in ("running", "ending")

    @property
    def elapsed_s(self) -> float:
        """How long it runs, or ran."""
        return (self.now() if self._ended is None else self._ended) - self._began

    @property
    def done(self) -> int:
        """Modes of the current set of ranks that have a verdict."""
        return sum(bool(one.state) for one in self.passes[-1].values()) if self.passes else 0

    @property
    def left_s(self) -> float | None:
        """About how long the current set of ranks still takes; None where nothing tells.

        Each mode that is left counts with what it took before, a new one with the median of the modes of this run.
        """
        if self.state != "running" or not self.passes or not self.current or self.current.startswith(FIGURES):
            return None
        known = {**self.usual, **{mode: median(seconds) for mode, seconds in self._took.items()}}
        measured = [seconds for each in self._took.values() for seconds in each]
        new = median(measured) if len(measured) >= _LEAST_MEASURED else None
        left = 0.0
        for mode in self.modes:
            one = self.passes[-1].get(mode)
            seconds = known.get(mode, new)
            if one is not None and one.state:
                continue
            if seconds is None:
                return None
            left += max(0.0, seconds - (self.now() - self._mode_began)) if mode == self.current else seconds
        return left

    def perform(self, tell: Callable[..., object]) -> Answer:
        """Run it, in a thread; ``tell`` brings each event to where ``heard`` may be called."""

        def told(what: str, mode: str, rank: int, state: str) -> None:
            tell(self.heard, what, mode, rank, state)

        return self.runner.perform(self.request.question(), told)

    def heard(self, what: str, mode: str, rank: int, state: str) -> None:
        """An event: a mode begins, a rank has answered, a mode has a verdict."""
        if what == "mode":
            self.current, self._mode_began = mode, self.now()
            if mode.startswith(FIGURES):
                return
            if not self.passes or mode in self.passes[-1]:
                self.passes.append({})  # the same modes again, on other ranks
            self.passes[-1][mode] = ModeProgress()
            return
        if mode.startswith(FIGURES) or not self.passes:
            return
        one = self.passes[-1].setdefault(mode, ModeProgress())
        if what == "rank":
            one.ranks[rank] = state
        elif what == "done":
            one.state = state
            if state in _RAN:
                self._took.setdefault(mode, []).append(self.now() - self._mode_began)

    def cancel(self) -> None:
        """End it; ``ended`` follows when all of it has ended."""
        if self.state == "running":
            self.state = "ending"
        if self.going_on:
            self.runner.cancel()

    def ended(self, answer: Answer) -> None:
        """It has come to its end."""
        self._ended = self.now()
        self.clock = time.strftime("%H:%M:%S")
        self.current = ""
        runs = from_text(answer.text) if answer.ok else ()
        if runs:
            self.runs, self.state = runs, "done"
        elif self.state == "ending":
            self.state = "cancelled"
        else:
            self.state = "failed"
            self.problem = answer.note or ("its results cannot be read" if answer.ok else answer.unknown().why)

    def broke(self, error: Exception) -> None:
        """Running it raised."""
        self._ended = self.now()
        self.current = ""
        self.state, self.problem = "failed", f"{type(error).__name__}: {error}"


def usual_s(runs: Iterable[SmokeRun]) -> dict[str, float]:
    """The median of the seconds that each mode took in these runs, as far as it ran to its end."""
    took: dict[str, list[float]] = {}
    for run in runs:
        for one in run.modes:
            if one.state in _RAN:
                took.setdefault(one.mode, []).append(one.wall_s)
    return {mode: median(seconds) for mode, seconds in took.items()}


def beside_peaks(
    runs: tuple[SmokeRun, ...], machine: Machine | None
) -> tuple[tuple[SmokeRun, ...], tuple[LowFigure, ...]]:
    """The runs with figures beside what this machine could reach, and those that are far too low."""
    if machine is None or not any(run.figures for run in runs):
        return runs, ()
    found = tuple(replace(run, figures=with_expected(run.figures, machine)) for run in runs)
    low = tuple(one for run in found if run.device != "cpu" for one in low_figures(run.figures, machine))
    return found, low


def deadline_words(request: Request, machine: Machine | None, slow: float = 1.0) -> str:
    """How long a mode may take, in words."""
    if request.deadline_s is not None:
        return f"{request.deadline_s * slow:g} s"
    on_cpu = f"{CPU_LIMIT_S * slow:g} s"
    if request.device == "cpu" or (machine is not None and not machine.gpus and machine.gpus_complete):
        return on_cpu
    return f"{GPU_LIMIT_S * slow:g} s on GPUs, {on_cpu} on the CPU"


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why smoke tests cannot run here, in a sentence, and what to do about it."""

    why: str
    remedy: str = ""


_OTHERWISE = "Or start rocdoctor --python PATH with an interpreter that has it; screen 7 has all steps."


def trouble(diagnosis: Diagnosis, platform: str) -> Trouble | None:
    """What stands in the way before anything is run; None where nothing is known to."""
    if not platform.startswith("linux"):
        return Trouble("Smoke tests run on Linux only.")
    torch = diagnosis.machine.torch
    where = value_or(torch.interpreter, "the interpreter under test")
    if isinstance(torch.interpreter, Unknown) and torch.interpreter.reason == "absent":
        return Trouble("No Python interpreter was found to run them.", "Start rocdoctor --python PATH.")
    if isinstance(torch.version, Known) and torch.version.value is None:
        fix = _fix_of(diagnosis, "torch-not-installed")
        return Trouble(f"torch is not installed in {where}.", f"{fix} {_OTHERWISE}".strip())
    error = value_or(torch.import_error, None)
    if error is not None:
        return Trouble(f"torch cannot be imported in {where}: {error}", _fix_of(diagnosis, "torch-import-fails"))
    return None


def _fix_of(diagnosis: Diagnosis, check: str) -> str:
    """What the report advises."""
    for one in diagnosis.verdicts:
        if one.check == check and one.finding is not None and one.finding.fix is not None:
            fix = one.finding.fix
            return f"{fix.text.rstrip('.')}{f': {fix.command}' if fix.command else '.'}"
    return ""


def same_machine(host: Host, session: SmokeSession) -> bool:
    """Whether a host asks the machine on which the tests run or ran."""
    from rocdoctor.host.supervised.supervised_host import far_of

    runner = session.runner
    far = far_of(host)
    return far is not None and isinstance(runner, HostRunner) and far_of(runner.host) is far

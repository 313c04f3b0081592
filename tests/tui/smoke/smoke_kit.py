"""Smoke results and a runner of smoke tests that does what a test says."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from textual.pilot import Pilot

from rocdoctor.host.base import Answer, Host
from rocdoctor.host.overlay import OverlayHost
from rocdoctor.model.facts import ModeResult, RankResult, SmokeRun
from rocdoctor.model.facts.smoke import Layer, SmokeState
from rocdoctor.parsers.own.smoke_results import to_text
from rocdoctor.tui.app import RocdoctorApp
from rocdoctor.tui.smoke.grid import SmokeGrid
from rocdoctor.tui.smoke.run_session import Told
from rocdoctor.tui.smoke.screen import SmokePage
from tests.tui.kit import until

GPUS = [f"0000:{number:x}a:00.0" for number in range(0, 16, 2)]


def ranks(
    world: int,
    states: dict[int, SmokeState] | None = None,
    named: Sequence[int] = (),
    gpus: bool = False,
    words: str = "",
) -> tuple[RankResult, ...]:
    """A rank each; those that are not mentioned passed."""
    states = states or {}
    return tuple(
        RankResult(
            rank, states.get(rank, "pass"), words if rank in named else "", GPUS[rank] if gpus else None, rank in named
        )
        for rank in range(world)
    )


def passed(mode: str, world: int = 2, gpus: bool = False) -> ModeResult:
    """A mode that computes right."""
    return ModeResult(mode, "pass", 0.06, "", {"grad": 1.9e-8}, {"grad": 1e-6}, ranks=ranks(world, gpus=gpus))


def failed(mode: str, world: int = 2, rank: int = 1, layer: Layer = "link", gpus: bool = False) -> ModeResult:
    """Wrong numbers, by the fault of one rank."""
    states: dict[int, SmokeState] = dict.fromkeys(range(world), "fail")
    words = f"rank {rank}: the gradients of step 1, weight: differ by 7.6e-06"
    found = ranks(world, states, (rank,), gpus, "weight: differs by 7.6e-06")
    return ModeResult(mode, "fail", 0.07, words, {"grad": 7.6e-6}, {"grad": 1e-6}, layer, 1, found)


def crashed(mode: str, world: int = 2, rank: int = 0, gpus: bool = False) -> ModeResult:
    """A rank that died."""
    states: dict[int, SmokeState] = dict.fromkeys(range(world), "crashed")
    found = ranks(world, states, (rank,), gpus, "ended by signal 9")
    return ModeResult(mode, "crashed", 1.2, f"rank {rank} was ended by signal 9", layer="device", ranks=found)


def skipped(mode: str, world: int = 2) -> ModeResult:
    """A mode that needs something else."""
    states: dict[int, SmokeState] = dict.fromkeys(range(world), "not-applicable")
    return ModeResult(mode, "not-applicable", 0.0, "needs 4 ranks or more", ranks=ranks(world, states))


def cpu_run(*modes: ModeResult, world: int = 2) -> SmokeRun:
    """Two ranks on the CPU."""
    return SmokeRun(world, "gloo", "cpu", "2.13.0", 4.7, modes, ("GPUs", "NCCL or any link between GPUs"))


def gpu_run(*modes: ModeResult, world: int = 8) -> SmokeRun:
    """A rank a GPU."""
    return SmokeRun(world, "nccl", "cuda", "2.11.0+rocm7.2", 31.0, modes)


def with_results(host: Host, *runs: SmokeRun) -> OverlayHost:
    """Evidence that holds these results."""
    text = to_text(runs)
    return OverlayHost(host, {"smoke quick": Answer("smoke quick", "ok", text.encode(), 0)})


class ScriptedRunner:
    """Tells the events that a test lets happen, and answers as the test says.

    ``tell`` and ``finish`` are called by the test; ``perform`` ends with ``finish`` or after ``cancel``.
    """

    def __init__(self) -> None:
        self.questions: list[str] = []
        self.cancelled = 0
        self.obeys = True  # whether a cancelled run ends by itself
        self.running = threading.Event()
        self._over = threading.Event()
        self._told: Told | None = None
        self._answer: Answer | None = None

    def perform(self, question: str, told: Told) -> Answer:
        """Run until the test says that it is over."""
        self.questions.append(question)
        self._told, self._answer = told, None
        self._over.clear()
        self.running.set()
        assert self._over.wait(60)
        self.running.clear()
        return self._answer or Answer(question, "failed", note="cancelled")

    def cancel(self) -> None:
        """End it."""
        self.cancelled += 1
        if self.obeys:
            self._over.set()

    def tell(self, *events: tuple[str, str, int, str]) -> None:
        """Let events happen."""
        assert self._told is not None
        for one in events:
            self._told(*one)

    def mode(self, name: str, states: Sequence[str], verdict: str) -> None:
        """A whole mode: it begins, each rank answers, a verdict."""
        self.tell(("mode", name, -1, ""))
        self.tell(*(("rank", name, rank, state) for rank, state in enumerate(states)))
        self.tell(("done", name, -1, verdict))

    def finish(self, *runs: SmokeRun, note: str = "") -> None:
        """Let it end: with results, or for this reason."""
        question = self.questions[-1]
        self._answer = (
            Answer(question, "ok", to_text(runs).encode(), 0) if runs else Answer(question, "failed", note=note)
        )
        self._over.set()


# -- the screen


def page(app: RocdoctorApp) -> SmokePage:
    """The screen."""
    assert isinstance(app.screen, SmokePage)
    return app.screen


def state(app: RocdoctorApp) -> str:
    """Where it says that it stands."""
    return " ".join(str(page(app).query_one("#state").render()).split())


def one(app: RocdoctorApp) -> str:
    """The details."""
    return str(page(app).query_one("#one").render())


def form(app: RocdoctorApp) -> str:
    """The choice."""
    return str(page(app).query_one("#form").render()).replace("\N{NO-BREAK SPACE}", " ")


def notices(app: RocdoctorApp) -> list[str]:
    """What was announced; pilots show no notices."""
    return [one.message for one in app._notifications]


async def opened(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
    """Go to the screen."""
    await pilot.press("5")
    await until(pilot, lambda: isinstance(app.screen, SmokePage) and "Looking" not in state(app))
    await until(pilot, lambda: page(app)._choice.titles and page(app).query_one(SmokeGrid).option_count)

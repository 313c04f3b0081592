"""The smoke screen: recorded results, choosing what to run, and what stands in the way."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from rocdoctor.host.base import Host
from rocdoctor.model.facts import SmokeRun
from rocdoctor.parsers.own.smoke_results import from_text
from rocdoctor.train.smoke.worker.mode import all_modes
from rocdoctor.tui.app import RocdoctorApp
from rocdoctor.tui.smoke import screen
from rocdoctor.tui.smoke.screen import SmokePage
from rocdoctor.tui.widgets.ask import Ask
from tests.tui.kit import NARROW, WIDE, driven, fixture_host, same_picture, shown, until
from tests.tui.smoke.smoke_kit import (
    ScriptedRunner,
    cpu_run,
    crashed,
    failed,
    gpu_run,
    notices,
    one,
    opened,
    page,
    passed,
    skipped,
    state,
    with_results,
)
from tests.tui.thermals.live_kit import LiveFixture

MODES = ("all-reduce", "ddp", "zero-1", "fsdp2", "tensor-parallel", "pipeline-1f1b")
RIGHT = (cpu_run(*(passed(mode) for mode in MODES), skipped("fsdp-tp")),)
WRONG = (
    gpu_run(
        passed("all-reduce", 8, True),
        failed("ddp", 8, 3, "link", True),
        crashed("zero-1", 8, 5, True),
        passed("fsdp2", 8, True),
        skipped("pp-fsdp-tp", 8),
    ),
)
SHARED = (
    gpu_run(passed("ddp", 1, True), skipped("all-reduce", 1), world=1),
    SmokeRun(
        2,
        "gloo",
        "cuda",
        "2.11.0+rocm7.2",
        9.0,
        (passed("ddp", 2, True), passed("all-reduce", 2, True)),
        ("RCCL", "links between GPUs"),
        ("2 ranks share one GPU, so they talk over gloo",),
    ),
)


# -- recorded


PICTURES: tuple[tuple[str, str, tuple[SmokeRun, ...], tuple[int, int]], ...] = (
    ("none-h100-8gpu", "h100-8gpu", (), NARROW),
    ("wrong-mi300x-8gpu", "mi300x-8gpu", WRONG, NARROW),
    ("wrong-mi300x-8gpu", "mi300x-8gpu", WRONG, WIDE),
)


@pytest.fixture
def some_modes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The modes that stand in the pictures: a new one changes none of them."""
    names = Path(__file__).with_name("modes_of_pictures.txt").read_text(encoding="utf-8").split()
    monkeypatch.setattr(screen, "all_modes", lambda: tuple(one for one in all_modes() if one.name in names))


@pytest.mark.usefixtures("some_modes")
@pytest.mark.parametrize(("name", "fixture", "runs", "size"), PICTURES)
def test_recorded_results_look_as_they_should(
    request: pytest.FixtureRequest, name: str, fixture: str, runs: tuple[SmokeRun, ...], size: tuple[int, int]
) -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await opened(app, pilot)
        await pilot.pause()
        await same_picture(request, app, pilot, f"smoke-{name}")

    host: Host = fixture_host(fixture)
    driven(with_results(host, *runs) if runs else host, look, size)


def test_evidence_shows_its_results_which_can_be_written_once_and_nothing_can_be_run(tmp_path: Path) -> None:
    file = tmp_path / "results.json"

    def said(app: RocdoctorApp, words: str) -> bool:
        return any(one.startswith(words) for one in notices(app))

    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await opened(app, pilot)
        assert "these results are in the evidence" in state(app)
        assert "2 of 4 modes went wrong, first ddp; look first at the link between two GPUs." in state(app)
        assert "1 could not be tested." in state(app)
        assert "Start" not in shown(app)
        assert "Fault at rank 3 (0000:6a:00.0)." in one(app), "the first fault is selected"
        await pilot.press("s", "space", "plus")
        assert "[ ]" not in shown(app)
        assert "these results are in the evidence" in state(app)
        await until(pilot, lambda: "w Write" in shown(app))
        for words in (f"Written: {file}", "Not written: "):
            await pilot.press("w")
            await until(pilot, lambda: isinstance(app.screen, Ask))
            app.screen.query_one(Input).value = str(file)
            await pilot.press("enter")
            await until(pilot, partial(said, app, words))

    driven(with_results(fixture_host("mi300x-8gpu"), *WRONG), look)
    assert from_text(file.read_text()) == WRONG and file.stat().st_mode & 0o777 == 0o600


def test_none_several_sets_of_ranks_figures_and_hostile_results() -> None:
    figures = {"memory_copy_gb_s": [{"rank": 0, "gpu": None, "pci": None, "value": 12.5}]}

    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await opened(app, pilot)
        assert "w Write" not in shown(app) and not page(app).check_action("write", ()), "without results"
        app.open(with_results(fixture_host("recorded-cpu-vm"), cpu_run(passed("[red]x\x1b[2Jy[/]"))))
        await until(pilot, lambda: "[red]xy[/]" in shown(app))
        app.open(with_results(fixture_host("strix-halo"), *SHARED))
        await until(pilot, lambda: "1 rank on GPUs, backend nccl" in shown(app))
        assert "2 ranks on GPUs, backend gloo" in shown(app)
        assert "Not covered by run 2: RCCL, links between GPUs." in state(app)
        await pilot.press("end")
        await until(pilot, lambda: "not run in this evidence" in one(app))
        for modes in ((), (passed("ddp"),)):
            run = SmokeRun(2, "gloo", "cpu", "2.13.0", 4.0, modes, figures=figures)
            app.open(with_results(fixture_host("recorded-cpu-vm"), run))
            await until(pilot, lambda: not app.look.busy)
            await pilot.press("home")
            await until(pilot, lambda: "12.5 GB/s" in one(app).replace("\N{NO-BREAK SPACE}", " "))
            assert "measured figures" in one(app)

    driven(fixture_host("mi300x-8gpu"), look)


# -- what stands in the way


@pytest.mark.parametrize("name", ["r7-240-display", "recorded-cpu-vm"])
def test_without_torch_the_reason_stands_there_before_anything_is_run(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = LiveFixture(name)
    scripted = ScriptedRunner()
    monkeypatch.setattr(SmokePage, "runner", lambda self, host: scripted)

    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await opened(app, pilot)
        await until(pilot, lambda: "torch is not installed in" in state(app))
        assert "Name the interpreter of the job with --python, or install torch for this machine" in state(app)
        await pilot.press("s")
        await pilot.pause()
        assert scripted.questions == []

    driven(machine, look)

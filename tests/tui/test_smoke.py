"""The smoke screen: recorded results, choosing, a run that fills the grid, faults, cancelling, and a real run."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest
from textual.pilot import Pilot

from rocdoctor.facts import SmokeRun
from rocdoctor.host.base import Answer, Host
from rocdoctor.tui.app import RocdoctorApp
from rocdoctor.tui.screens.smoke import SmokePage
from rocdoctor.tui.smoke_session import Runner
from tests.tui.kit import SIZES, driven, fixture_host, same_picture, shown, until
from tests.tui.live_kit import LiveFixture
from tests.tui.smoke_kit import ScriptedRunner, cpu_run, crashed, failed, gpu_run, passed, skipped, with_results

MODES = ("all-reduce", "ddp", "zero-1", "fsdp2", "tensor-parallel", "pipeline-1f1b")
RIGHT = (cpu_run(*(passed(mode) for mode in MODES), skipped("fsdp-tp")),)
WRONG = (
    gpu_run(
        passed("all-reduce", 8, True), failed("ddp", 8, 3, "link", True), crashed("zero-1", 8, 5, True),
        passed("fsdp2", 8, True), skipped("pp-fsdp-tp", 8),
    ),
)  # fmt: skip
SHARED = (
    gpu_run(passed("ddp", 1, True), skipped("all-reduce", 1), world=1),
    SmokeRun(2, "gloo", "cuda", "2.11.0+rocm7.2", 9.0, (passed("ddp", 2, True), passed("all-reduce", 2, True)),
             ("RCCL", "links between GPUs"), ("2 ranks share one GPU, so they talk over gloo",)),
)  # fmt: skip


def page(app: RocdoctorApp) -> SmokePage:
    assert isinstance(app.screen, SmokePage)
    return app.screen


def state(app: RocdoctorApp) -> str:
    return " ".join(str(page(app).query_one("#state").render()).split())


def one(app: RocdoctorApp) -> str:
    return str(page(app).query_one("#one").render())


def form(app: RocdoctorApp) -> str:
    return str(page(app).query_one("#form").render()).replace("\N{NO-BREAK SPACE}", " ")


def notices(app: RocdoctorApp) -> list[str]:
    """What was announced; pilots show no notices."""
    return [one.message for one in app._notifications]


async def opened(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
    await pilot.press("5")
    await until(pilot, lambda: isinstance(app.screen, SmokePage) and "Looking" not in state(app))
    await until(pilot, lambda: page(app)._choice.titles and page(app)._grid.option_count)


# -- recorded


PICTURES: tuple[tuple[str, str, tuple[SmokeRun, ...]], ...] = (
    ("none-h100-8gpu", "h100-8gpu", ()), ("right-recorded-cpu-vm", "recorded-cpu-vm", RIGHT),
    ("wrong-mi300x-8gpu", "mi300x-8gpu", WRONG), ("shared-strix-halo", "strix-halo", SHARED),
)  # fmt: skip


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("name", "fixture", "runs"), PICTURES, ids=[one[0] for one in PICTURES])
def test_recorded_results_look_as_they_should(
    request: pytest.FixtureRequest, name: str, fixture: str, runs: tuple[SmokeRun, ...], size: tuple[int, int]
) -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await opened(app, pilot)
        await pilot.pause()
        same_picture(request, app, f"smoke-{name}")

    host: Host = fixture_host(fixture)
    driven(with_results(host, *runs) if runs else host, look, size)


def test_evidence_shows_its_results_and_nothing_can_be_run() -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await opened(app, pilot)
        assert "these results stand in the evidence" in state(app)
        assert "2 of 4 modes went wrong, first ddp; look first at the link between two GPUs." in state(app)
        assert "1 could not be tested." in state(app)
        assert "Start" not in shown(app)
        assert "Fault at rank 3 (0000:6a:00.0)." in one(app), "the first fault is selected"
        await pilot.press("s", "space", "plus")
        assert "[ ]" not in shown(app)
        assert "these results stand in the evidence" in state(app)

    driven(with_results(fixture_host("mi300x-8gpu"), *WRONG), look)


def test_several_sets_of_ranks_and_what_was_not_run() -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await opened(app, pilot)
        assert "1 rank on GPUs, back end nccl" in shown(app)
        assert "2 ranks on GPUs, back end gloo" in shown(app)
        assert "Run 2 says nothing of: RCCL, links between GPUs." in state(app)
        await pilot.press("end")
        await until(pilot, lambda: "not run in this evidence" in one(app))

    driven(with_results(fixture_host("strix-halo"), *SHARED), look)


def test_hostile_results_are_text() -> None:
    evil = passed("[red]x\x1b[2Jy[/]")

    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await opened(app, pilot)
        assert "[red]xy[/]" in shown(app)

    driven(with_results(fixture_host("recorded-cpu-vm"), cpu_run(evil)), look)


# -- choosing


@pytest.fixture
def host() -> LiveFixture:
    return LiveFixture("rx7900xtx-2gpu")


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedRunner]:
    scripted = ScriptedRunner()

    def of(self: SmokePage, machine: Host) -> Runner:
        return scripted

    monkeypatch.setattr(SmokePage, "runner", of)
    yield scripted
    scripted.obeys = True
    scripted.cancel()


def test_the_choice_becomes_the_question(host: LiveFixture, runner: ScriptedRunner) -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await opened(app, pilot)
        count, quick = len(page(app)._choice.titles), len(page(app)._choice.whole)
        assert quick < count
        assert f"modes all {quick} " in form(app)
        await pilot.press("plus", "plus", "plus", "minus", "k", "k", "d", "g", "f")
        assert f"set full (f), modes all {count} " in form(app)
        assert "ranks 2 (+ -), back end gloo (k), device CPU (d), figures yes (g)" in form(app)
        await pilot.press("space")
        assert f"modes {count - 1} " in form(app)
        await pilot.press("space")
        assert f"modes all {count} " in form(app), "all but none is all"
        await pilot.press("o", "down", "down", "space", "down", "space", "space")
        assert "modes 2 " in form(app)
        assert shown(app).count("[x]") == 2
        await pilot.press("s")
        await until(pilot, runner.running.is_set)
        first, _, third, *_ = page(app)._choice.titles
        words = f"smoke full modes={first},{third} world=2 backend=gloo device=cpu figures=yes"
        assert runner.questions == [words]
        await pilot.press("space", "f", "plus")
        assert "ranks 2," in form(app), "the choice stands still while it runs"
        runner.finish(note="no more")
        await until(pilot, lambda: "no more" in state(app))
        await pilot.press("a", "minus", "minus", "minus")
        assert f"modes all {count} " in form(app)
        await pilot.press("f")
        assert f"set quick (f), modes all {quick} " in form(app)
        assert "ranks auto" in form(app)

    driven(host, look)


def test_the_choice_and_the_place_survive_other_screens_and_another_size(host: LiveFixture) -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await opened(app, pilot)
        await pilot.press("down", "down", "o")
        mode = list(page(app)._choice.titles)[2]
        await pilot.press("1", "5")
        await until(pilot, lambda: isinstance(app.screen, SmokePage))
        await pilot.resize_terminal(200, 60)
        await pilot.pause()
        assert one(app).startswith(mode)
        assert "modes 1 " in form(app)
        assert shown(app).count("[x]") == 1
        await pilot.press("space")
        assert "one mode at least must be left" in notices(app)
        assert "modes 1 " in form(app)

    driven(host, look)


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


# -- running


def test_the_grid_fills_while_events_arrive_and_the_result_becomes_part_of_the_report(
    host: LiveFixture, runner: ScriptedRunner
) -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await opened(app, pilot)
        await pilot.press("s")
        await until(pilot, runner.running.is_set)
        assert "importing torch" in state(app)
        runner.mode("compute", ["pass", "pass"], "pass")
        runner.tell(("mode", "ddp", -1, ""), ("rank", "ddp", 1, "pass"))
        await until(pilot, lambda: "Running ddp: 1 of" in state(app))
        assert "Deadline of a mode: 120 s on GPUs" in state(app)
        lines = {
            line.split()[1]: line.rstrip(" ▁▂▃▄▅▆▇█").split()[2:]
            for line in shown(app).splitlines()
            if line.startswith(" [x]")
        }
        assert lines["ddp"] == ["...", "ok", "running"]
        assert lines["compute"] == ["ok", "ok", "pass"]
        await until(pilot, lambda: one(app).startswith("ddp"))
        runner.mode("ddp", ["fail", "fail"], "fail")
        runner.finish(cpu_run(passed("compute"), failed("ddp")))
        await until(pilot, lambda: "Finished at" in state(app))
        assert "1 of 2 modes went wrong, first ddp; look first at the link between two GPUs." in state(app)
        assert "This run says nothing of: GPUs" in state(app)
        await until(pilot, lambda: "Fault at rank 1." in one(app))
        assert "7.6 times too large" in one(app)
        await until(pilot, lambda: app.look.diagnosis is not None and not app.look.busy)
        assert app.look.diagnosis is not None
        assert app.look.diagnosis.machine.smoke == (cpu_run(passed("compute"), failed("ddp")),)
        found = [one.check for one in app.look.diagnosis.verdicts if one.state == "fail"]
        assert found == ["smoke-numbers-wrong"]

    driven(host, look)


def test_two_sets_of_ranks_one_after_the_other(host: LiveFixture, runner: ScriptedRunner) -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await opened(app, pilot)
        await pilot.press("s")
        await until(pilot, runner.running.is_set)
        runner.mode("compute", ["pass"], "pass")
        runner.mode("ddp", ["pass"], "pass")
        runner.tell(("mode", "compute", -1, ""))
        await until(pilot, lambda: "set 2 of ranks" in state(app))
        assert "Running compute: 0 of" in state(app)
        runner.tell(("mode", "figures-matmul", -1, ""))
        await until(pilot, lambda: "Measuring matmul" in state(app))

    driven(host, look)


def test_a_person_who_looks_at_another_mode_stays_there(host: LiveFixture, runner: ScriptedRunner) -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await opened(app, pilot)
        await pilot.press("s")
        await until(pilot, runner.running.is_set)
        runner.mode("compute", ["pass", "pass"], "pass")
        runner.tell(("mode", "ddp", -1, ""))
        await until(pilot, lambda: one(app).startswith("ddp"))
        await pilot.press("home")
        await until(pilot, lambda: one(app).startswith("compute"))
        runner.tell(("done", "ddp", -1, "pass"), ("mode", "zero-1", -1, ""))
        await until(pilot, lambda: "Running zero-1" in state(app))
        assert one(app).startswith("compute")

    driven(host, look)


def test_cancel_ends_it_and_says_so(host: LiveFixture, runner: ScriptedRunner) -> None:
    runner.obeys = False

    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await opened(app, pilot)
        assert "Cancel" not in shown(app)
        await pilot.press("s")
        await until(pilot, runner.running.is_set)
        runner.mode("compute", ["pass", "pass"], "pass")
        runner.tell(("mode", "ddp", -1, ""))
        await until(pilot, lambda: "x Cancel" in shown(app) and "Running ddp" in state(app))
        await pilot.press("x")
        await until(pilot, lambda: "Ending everything that runs" in state(app))
        assert runner.cancelled == 1
        runner.finish(note="cancelled")
        await until(pilot, lambda: "Cancelled after 1 of" in state(app))
        assert "everything that ran was ended" in state(app)
        assert "not ended" in next(line for line in shown(app).splitlines() if line.startswith(" [x] ddp "))
        assert app.look.diagnosis is not None
        assert app.look.diagnosis.machine.smoke == ()
        await pilot.press("s")
        await until(pilot, lambda: len(runner.questions) == 2)
        await until(pilot, lambda: "importing torch" in state(app))

    driven(host, look)


def test_leaving_the_screen_lets_it_go_on_and_quitting_ends_it(host: LiveFixture, runner: ScriptedRunner) -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await opened(app, pilot)
        await pilot.press("s")
        await until(pilot, runner.running.is_set)
        await pilot.press("1")
        runner.mode("compute", ["pass", "pass"], "pass")
        await pilot.pause(0.5)
        assert runner.cancelled == 0
        await pilot.press("5")
        await until(pilot, lambda: isinstance(app.screen, SmokePage) and "1 of" in state(app))
        await pilot.press("4", "q")
        await until(pilot, lambda: not app.is_running)

    driven(host, look)
    assert runner.cancelled >= 1


def test_an_end_on_another_screen_is_announced(host: LiveFixture, runner: ScriptedRunner) -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await opened(app, pilot)
        await pilot.press("s")
        await until(pilot, runner.running.is_set)
        await pilot.press("1")
        runner.finish(cpu_run(passed("compute")))
        await until(pilot, lambda: [one for one in notices(app) if one.startswith("Smoke tests: Finished at")])
        await until(pilot, lambda: app.look.diagnosis is not None and bool(app.look.diagnosis.machine.smoke))
        await pilot.press("5")
        await until(pilot, lambda: isinstance(app.screen, SmokePage) and "All 1 modes" in state(app))

    driven(host, look)


def test_a_run_that_cannot_start_says_why(host: LiveFixture, runner: ScriptedRunner) -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await opened(app, pilot)
        await pilot.press("s")
        await until(pilot, runner.running.is_set)
        runner.finish(note="--backend nccl needs a GPU and torch sees none\x1b[2J; use --backend gloo")
        await until(pilot, lambda: "could not run: --backend nccl needs a GPU and torch sees none;" in state(app))

    driven(host, look)


def test_a_runner_that_breaks_is_no_end_of_the_screens(
    host: LiveFixture, runner: ScriptedRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    def perform(question: str, told: object) -> Answer:
        raise OSError("no more processes")

    monkeypatch.setattr(runner, "perform", perform)

    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await opened(app, pilot)
        await pilot.press("s")
        await until(pilot, lambda: "could not run: OSError: no more processes" in state(app))

    driven(host, look)


def test_other_evidence_ends_a_run_of_this_machine(host: LiveFixture, runner: ScriptedRunner) -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await opened(app, pilot)
        await pilot.press("s")
        await until(pilot, runner.running.is_set)
        app.open(with_results(fixture_host("mi300x-8gpu"), *WRONG))
        await until(pilot, lambda: "these results stand in the evidence" in state(app))
        assert runner.cancelled == 1

    driven(host, look)


# -- for real


@pytest.mark.live
def test_a_mode_runs_for_real_on_two_ranks() -> None:
    from rocdoctor.host.far import FarHost

    far = FarHost(20.0, sys.executable)

    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await opened(app, pilot)
        order = list(page(app)._choice.titles)
        await pilot.press(*["down"] * order.index("all-reduce"), "o", "d", "plus", "plus")
        assert "modes 1 " in form(app)
        await pilot.press("s")
        await until(pilot, lambda: "Finished at" in state(app), 120)
        assert "All 1 modes that this machine can run compute the right numbers." in state(app)
        assert "This run says nothing of: GPUs" in state(app)
        assert one(app).startswith("all-reduce")
        assert "passed" in one(app)
        await until(pilot, lambda: app.look.diagnosis is not None and bool(app.look.diagnosis.machine.smoke), 120)

    try:
        driven(far, look)
    finally:
        far.close()

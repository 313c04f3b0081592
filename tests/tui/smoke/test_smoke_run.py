"""Choosing and running on the smoke screen: the grid fills, faults are named, it can be left and cancelled."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest
from textual.pilot import Pilot

from rocdoctor.host.base import Answer, Host
from rocdoctor.tui.app import RocdoctorApp
from rocdoctor.tui.smoke.grid import SmokeGrid
from rocdoctor.tui.smoke.run_session import Runner
from rocdoctor.tui.smoke.screen import SmokePage
from tests.tui.kit import driven, fixture_host, shown, until
from tests.tui.smoke.smoke_kit import (
    ScriptedRunner,
    cpu_run,
    failed,
    form,
    notices,
    one,
    opened,
    page,
    passed,
    state,
    with_results,
)
from tests.tui.thermals.live_kit import LiveFixture

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
        begun = page(app)
        begun._host = None
        assert begun.check_action("start", ()), "the first key bar has it, before what is known is shown"
        begun._host = app.host
        count, quick = len(page(app)._choice.titles), len(page(app)._choice.whole)
        assert quick < count
        assert f"modes all {quick} " in form(app)
        await pilot.press("plus", "plus", "plus", "minus", "e", "e", "d", "g", "f")
        assert f"set full (f), modes all {count} " in form(app)
        assert "ranks 2 (+ -), backend gloo (e), device CPU (d), figures yes (g)" in form(app)
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
        assert "at least one mode must remain" in notices(app)
        assert "modes 1 " in form(app)

    driven(host, look)


# -- running


def test_the_grid_fills_while_events_arrive_and_the_result_becomes_part_of_the_report(
    host: LiveFixture, runner: ScriptedRunner
) -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await opened(app, pilot)
        await pilot.press("s")
        await until(pilot, runner.running.is_set)
        assert "importing torch" in state(app)
        runner.mode("objects", ["pass", "pass"], "pass")
        runner.tell(("mode", "ddp", -1, ""), ("rank", "ddp", 1, "pass"))
        await until(pilot, lambda: "Running ddp: 1 of" in state(app))
        assert "Deadline of a mode: 120 s on GPUs" in state(app)
        lines = {
            line.split()[1]: line.rstrip(" ▁▂▃▄▅▆▇█").split()[2:]
            for line in shown(app).splitlines()
            if line.startswith(" [x]")
        }
        assert lines["ddp"] == ["...", "ok", "running"]
        assert lines["objects"] == ["ok", "ok", "pass"]
        await until(pilot, lambda: one(app).startswith("ddp"))
        runner.mode("ddp", ["fail", "fail"], "fail")
        runner.finish(cpu_run(passed("objects"), failed("ddp")))
        await until(pilot, lambda: "Finished at" in state(app))
        assert "1 of 2 modes went wrong, first ddp; look first at the link between two GPUs." in state(app)
        assert "Not covered by this run: GPUs" in state(app)
        await until(pilot, lambda: "Fault at rank 1." in one(app))
        assert "7.6 times too large" in one(app)
        await until(pilot, lambda: app.look.diagnosis is not None and not app.look.busy)
        assert app.look.diagnosis is not None
        assert app.look.diagnosis.machine.smoke == (cpu_run(passed("objects"), failed("ddp")),)
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
        grid = page(app).query_one(SmokeGrid)
        lines = [str(grid.get_option_at_index(at).prompt) for at in range(grid.option_count)]
        assert "not ended" in next(line for line in lines if line.startswith("[x] ddp "))
        assert grid.selected is not None and grid.selected.mode == "compute", "it leads to what came of it"
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
        await until(pilot, lambda: app.current_mode == "overview")
        runner.mode("compute", ["pass", "pass"], "pass")
        assert runner.cancelled == 0
        await pilot.press("5")
        await until(pilot, lambda: isinstance(app.screen, SmokePage) and "1 of" in state(app))
        assert runner.cancelled == 0
        await pilot.press("4")
        await until(pilot, lambda: app.current_mode == "thermals")
        await pilot.press("q")
        await until(pilot, lambda: any("q again ends that" in one for one in notices(app)))
        assert app.is_running  # a run would be lost, so the first press asks
        await pilot.press("q")
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
        await until(pilot, lambda: isinstance(app.screen, SmokePage) and "The one mode" in state(app))

    driven(host, look)


def test_a_run_that_cannot_start_says_why(host: LiveFixture, runner: ScriptedRunner) -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await opened(app, pilot)
        await pilot.press("s")
        await until(pilot, runner.running.is_set)
        runner.finish(note="--backend nccl needs a GPU, but torch sees none\x1b[2J; use --backend gloo")
        await until(pilot, lambda: "could not run: --backend nccl needs a GPU, but torch sees none;" in state(app))

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
        app.open(with_results(fixture_host("mi300x-8gpu"), cpu_run(failed("ddp"))))
        await until(pilot, lambda: "these results are in the evidence" in state(app))
        assert runner.cancelled == 1
        assert "other evidence was opened: the smoke tests of this machine were ended" in notices(app)

    driven(host, look)


# -- for real


@pytest.mark.live
@pytest.mark.heavy
def test_a_mode_runs_for_real_on_two_ranks() -> None:
    from rocdoctor.host.supervised.supervised_host import FarHost

    far = FarHost(20.0, sys.executable)

    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await opened(app, pilot)
        order = list(page(app)._choice.titles)
        await pilot.press(*["down"] * order.index("all-reduce"), "o", "d", "plus", "plus")
        assert "modes 1 " in form(app)
        await pilot.press("s")
        await until(pilot, lambda: "Finished at" in state(app), 120)
        assert "The one mode that ran gave correct results." in state(app)
        assert "Not covered by this run: GPUs" in state(app)
        assert one(app).startswith("all-reduce")
        assert "passed" in one(app)
        await until(pilot, lambda: app.look.diagnosis is not None and bool(app.look.diagnosis.machine.smoke), 120)

    try:
        driven(far, look)
    finally:
        far.close()

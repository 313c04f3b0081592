"""The set-up screen: the plan of the evidence, its commands, another goal, a verification in place."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from threading import Event
from threading import enumerate as enumerate_threads
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, OptionList

from rocdoctor.cli.main import run
from rocdoctor.host.base import Host
from rocdoctor.judging.diagnose import diagnose
from rocdoctor.model.facts import OperatingSystem
from rocdoctor.model.finding import Diagnosis
from rocdoctor.model.shell_command import ShellCommand
from rocdoctor.repair.setup.plan import Goal, SetupPlan, Step, Verify
from rocdoctor.report.document import Row
from rocdoctor.report.text import lines
from rocdoctor.tui import look
from rocdoctor.tui.app import RocdoctorApp
from rocdoctor.tui.setup import screen
from rocdoctor.tui.setup.screen import SetupPage
from rocdoctor.tui.widgets.ask import Ask, Confirm
from tests.golden.replay import our_checks
from tests.kit import ROOT, k
from tests.machines.files import MachineHost
from tests.repair.setup.desk import desk
from tests.repair.setup.world.box import evidence
from tests.repair.setup.world.follow import Person
from tests.repair.setup.world.judge import NAMED
from tests.tui.kit import NARROW, WIDE, driven, fixture_host, same_picture, shown, until


def _page(app: RocdoctorApp) -> SetupPage:
    assert isinstance(app.screen, SetupPage)
    return app.screen


async def _open(app: RocdoctorApp, pilot: Pilot[Any]) -> SetupPage:
    await pilot.press("7")
    await until(pilot, lambda: isinstance(app.screen, SetupPage) and app.screen.plan is not None)
    await pilot.pause()
    await pilot.pause()
    return _page(app)


@pytest.mark.parametrize(("name", "size"), [("phoenix-laptop", NARROW), ("h100-8gpu", WIDE)])
def test_the_plan_looks_as_it_should(request: pytest.FixtureRequest, name: str, size: tuple[int, int]) -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await _open(app, pilot)
        await same_picture(request, app, pilot, f"setup-{name}")

    driven(fixture_host(name), look, size)


def test_it_opens_at_the_step_that_is_next_and_shows_its_commands() -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> tuple[str, str]:
        page = await _open(app, pilot)
        assert page.selected is not None
        return page.selected.id, shown(app)

    step, text = driven(fixture_host("phoenix-laptop"), look, (120, 50))
    assert step == "torch"
    assert "now" in text
    assert "--index-url" in text


def test_copy_takes_the_commands_of_the_selected_step() -> None:
    async def copy(app: RocdoctorApp, pilot: Pilot[Any]) -> str:
        await _open(app, pilot)
        await pilot.press("c")
        return app.clipboard

    assert "-m pip install" in driven(fixture_host("phoenix-laptop"), copy)


def test_g_changes_the_goal_and_the_plan() -> None:
    async def change(app: RocdoctorApp, pilot: Pilot[Any]) -> tuple[list[str], list[str]]:
        page = await _open(app, pilot)
        assert page.plan is not None
        before = [step.id for step in page.plan.steps]
        await pilot.press("g", "g")
        await until(pilot, lambda: page.plan is not None and page.plan.goal == "container")
        return before, [step.id for step in page.plan.steps]

    before, after = driven(fixture_host("phoenix-laptop"), change)
    assert before != after


def test_the_selection_stays_when_more_becomes_known() -> None:
    async def stay(app: RocdoctorApp, pilot: Pilot[Any]) -> tuple[str, str]:
        page = await _open(app, pilot)
        page.query_one(OptionList).highlighted = 1
        await pilot.pause()
        assert page.selected is not None
        first, plan = page.selected.id, page.plan
        app.examine()
        await until(pilot, lambda: page.plan is not plan)
        assert page.selected is not None
        return first, page.selected.id

    first, later = driven(fixture_host("phoenix-laptop"), stay)
    assert first == later


def test_the_plan_of_a_look_before_does_not_replace_that_of_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on = Event(), Event()

    def slow(diagnosis: Diagnosis, goal: Goal) -> SetupPlan:
        begun.set()
        assert go_on.wait(60)
        return SetupPlan(goal, ())

    async def late(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        page = await _open(app, pilot)
        assert app.look.diagnosis is not None and app.look.setup is not None
        monkeypatch.setattr(screen, "plan_of_today", slow)
        page.show(replace(app.look, diagnosis=replace(app.look.diagnosis), setup=None, preliminary=True))
        await until(pilot, begun.is_set)
        work = page._work
        page.show(app.look)
        go_on.set()
        await until(pilot, lambda: "rocdoctor-work" not in {one.name for one in enumerate_threads()})
        assert work is not None and page.plan is app.look.setup

    driven(fixture_host("phoenix-laptop"), late)


def test_the_plan_is_of_today(monkeypatch: pytest.MonkeyPatch) -> None:
    system = OperatingSystem(id=k("fedora"), version_id=k("43"), pretty_name=k("fedora 43"))
    judged = diagnose(desk(os=system), our_checks())
    for day, words in (("2026-12-08", "gets its last updates"), ("2026-12-09", "has reached end of life")):
        monkeypatch.setattr(look, "today", lambda day=day: day)
        made = look.setup_plan(judged)
        assert made is not None and words in " ".join(made.notes)


def test_evidence_of_another_machine_cannot_be_verified_here() -> None:
    async def verify(app: RocdoctorApp, pilot: Pilot[Any]) -> str:
        await _open(app, pilot)
        await pilot.press("v")
        await until(pilot, lambda: "Could not verify" in shown(app))
        return shown(app)

    assert "not of a live machine" in driven(fixture_host("phoenix-laptop"), verify)


def test_the_script_is_that_of_the_command_and_one_that_exists_is_asked_about(tmp_path: Path) -> None:
    file, own = tmp_path / "set.sh", tmp_path / "own.sh"

    async def write(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await _open(app, pilot)
        for answers in ((), ("n",), ("y",)):
            await pilot.press("w")
            await until(pilot, lambda: isinstance(app.screen, Ask))
            app.screen.query_one(Input).value = str(file)
            await pilot.press("enter")
            for key in answers:
                await until(pilot, lambda: isinstance(app.screen, Confirm))
                assert "exists already" in shown(app)
                await pilot.press(key)
            await until(pilot, lambda: isinstance(app.screen, SetupPage))
            if not answers:
                await until(pilot, lambda: file.exists())
                assert file.read_text().startswith("#!") and file.stat().st_mode & 0o777 == 0o700
                file.write_text("mine")
            elif answers == ("n",):
                assert file.read_text() == "mine"
        await until(pilot, lambda: file.read_text() != "mine")

    driven(fixture_host("phoenix-laptop"), write)
    fixture = str(ROOT / "fixtures" / "phoenix-laptop.capture")
    assert run(["setup", "--from", fixture, "--script", str(own), "--quiet"]) == 1
    assert file.read_text() == own.read_text()


def _member() -> Person:
    """Somebody without access to the GPU, and before anything else is done."""
    case = NAMED["xtx-ubuntu2404-rocm-goal"]
    assert case.box is not None and case.state is not None
    person = Person(case.box, case.state)
    person.state.session = person.state.member = frozenset({"sudo"})
    return person


def test_verify_looks_at_the_machine_anew() -> None:
    person = _member()
    host: Host = MachineHost(evidence(person.box, person.state))

    async def verify(app: RocdoctorApp, pilot: Pilot[Any]) -> list[str]:
        app._again = lambda: MachineHost(evidence(person.box, person.state))
        page = await _open(app, pilot)
        assert page.plan is not None
        page.query_one(OptionList).highlighted = [step.id for step in page.plan.steps].index("device-access")
        await pilot.pause()
        await pilot.press("v")
        await until(pilot, lambda: "Not done yet" in shown(app))
        assert page.selected is not None
        person.do(page.selected)
        await pilot.press("v")
        await until(pilot, lambda: "Done: verified on the machine" in shown(app))
        return [step.id for step in page.plan.steps if step.state == "done"]

    assert "device-access" in driven(host, verify, (120, 50))


def test_the_longer_limit_of_a_torch_import_is_said_while_it_runs() -> None:
    torch = Verify(command=ShellCommand("python3 -c 'import torch'"))
    step = Step("torch", "Install torch", "todo", "It is not there.", verify=torch)
    assert "It imports torch, which may take up to 60 s." in screen.verifying(step).plain
    assert "torch" not in screen.verifying(replace(step, verify=None)).plain


def test_a_word_longer_than_a_line_keeps_to_the_column_of_the_words() -> None:
    word = "/opt/" + "x" * 60
    (block,) = [Row("from", f"a {word} (read /y)")]
    parts = [part for line in lines([block], 40) for part in screen.behind_labels(line, 40)]
    assert parts[0].startswith("from     a") and max(map(len, parts)) <= 40
    assert all(part.startswith(" " * 9) and part[9] != " " for part in parts[1:]), parts
    assert "".join(part.strip() for part in parts[1:]) == f"{word}(read /y)"
    assert screen.behind_labels("short", 40) == ["short"]
    for line, column in ((f"    verify   {word}", 13), (f"               {word}", 15)):
        found = screen.behind_labels(line, 40)
        assert all(part.startswith(" " * column) and part[column] != " " for part in found[1:]), found
        assert len(found) > 1

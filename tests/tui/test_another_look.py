"""The machine is asked again while somebody works on a screen, or other evidence is opened: what stays, what goes."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, OptionList, Static

from rocdoctor.model.finding import Diagnosis
from rocdoctor.tui.app import RocdoctorApp
from rocdoctor.tui.bundle.screen import BundlePage
from rocdoctor.tui.compare import comparing
from rocdoctor.tui.compare import screen as compare_screen
from rocdoctor.tui.compare.screen import ComparePage
from rocdoctor.tui.look import Look
from rocdoctor.tui.overview.screen import FoundRows
from rocdoctor.tui.paste import diagnosis as pasted
from rocdoctor.tui.paste.screen import PastePage
from rocdoctor.tui.recommend.screen import RecommendPage
from rocdoctor.tui.session import same_evidence
from rocdoctor.tui.setup import screen as setting_up
from rocdoctor.tui.setup.screen import SetupPage
from rocdoctor.tui.setup.step_verify import Verified
from rocdoctor.tui.smoke.grid import SmokeGrid
from rocdoctor.tui.smoke.screen import SmokePage
from rocdoctor.tui.thermals.screen import ThermalsPage
from rocdoctor.tui.widgets.rows import Lines, Rows
from tests.kit import ROOT
from tests.tui.kit import driven, fixture_host, seen, until
from tools.docs.pictures import settled

_FAULTY = "faulty/rx7900xtx-2gpu-old-guide"


def _asked_again(app: RocdoctorApp, change: Any = replace) -> None:
    """As a look at the same machine some seconds later, which is judged otherwise; ``change`` makes the diagnosis."""
    assert app.look.diagnosis is not None
    app.host = fixture_host(getattr(app.host, "name"))  # noqa: B009
    app.look = replace(app.look, diagnosis=change(app.look.diagnosis))


async def _open(app: RocdoctorApp, pilot: Pilot[Any], key: str, kind: type[Any]) -> Any:
    await pilot.press(key)
    await until(pilot, lambda: isinstance(app.screen, kind))
    await settled(app, pilot)
    await seen(pilot)
    return app.screen


def test_evidence_is_the_same_by_its_kind_and_name() -> None:
    one, other = fixture_host(_FAULTY), fixture_host("mi300x-8gpu")
    assert same_evidence(one, one) and same_evidence(one, fixture_host(_FAULTY))
    assert not same_evidence(one, other) and not same_evidence(None, one)
    texts = [fixture_host(_FAULTY) for _ in range(2)]
    for text in texts:
        text.kind = "text"
    assert not same_evidence(*texts), "two pastes have one name"


def test_a_bundle_that_is_read_stays_open_at_its_place() -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        page: BundlePage = await _open(app, pilot, "8", BundlePage)
        page.query_one("#search", Input).value = "report for people"
        await until(pilot, lambda: len(page._hits) < len(page._contents.rows if page._contents else ()))
        page.action_read()
        await seen(pilot)
        answer, before = page.query_one("#answer", Lines), page._contents
        assert answer.max_scroll_y > 2, "a text that scrolls"
        answer.scroll_to(y=2, animate=False)
        await seen(pilot)
        _asked_again(app)
        await until(pilot, lambda: page._contents is not before and page._contents is not None)
        await settled(app, pilot)
        assert page.reading and page.focused is answer and answer.scroll_y == 2
        assert page.query_one("#search", Input).value == "report for people"
        await pilot.press("escape")
        app.host, app.look = fixture_host("mi300x-8gpu"), Look()
        await seen(pilot)
        assert page._contents is None and page.query_one("#questions", Rows).count == 0

    driven(fixture_host(_FAULTY), look)


def test_the_cursor_of_a_bundle_stays_at_its_question_where_one_more_was_asked() -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        page: BundlePage = await _open(app, pilot, "8", BundlePage)
        rows, contents = page.query_one("#questions", Rows), page._contents
        assert contents is not None
        rows.cursor = 5
        await seen(pilot)
        asked = contents.rows[5].question
        fewer = [one for one in range(len(contents.rows)) if one != 2]
        page._gathered(
            replace(
                contents,
                made=replace(contents.made, answers=tuple(contents.made.answers[one - 1] for one in fewer if one)),
                rows=tuple(contents.rows[one] for one in fewer),
                keys=tuple(contents.keys[one] for one in fewer),
            )
        )
        assert page._contents is not None and page._contents.rows[rows.cursor].question == asked and rows.cursor == 4

    driven(fixture_host(_FAULTY), look)


def test_the_answer_that_a_masked_place_stands_in_has_the_keys() -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        page: BundlePage = await _open(app, pilot, "8", BundlePage)
        await pilot.press("m")
        await seen(pilot)
        assert page.reading and page.focused is page.query_one("#answer")

    driven(fixture_host(_FAULTY), look)


@pytest.mark.usefixtures("plans_once")
def test_a_plan_stays_and_says_that_the_machine_was_looked_at_again_and_other_evidence_takes_it_away() -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        page: RecommendPage = await _open(app, pilot, "6", RecommendPage)
        await until(pilot, lambda: page._answer is not None)
        await pilot.press("enter")
        await until(pilot, lambda: page.view == "plan" and page.focused is page.query_one("#plan-box"))
        answer = page._answer
        _asked_again(app, lambda known: replace(known, machine=replace(known.machine)))
        await seen(pilot)
        assert page.view == "plan" and page._answer is answer and page.focused is page.query_one("#plan-box")
        assert "looked at again" in str(page.query_one("#state", Static).render())
        app.host, app.look = fixture_host("rx7900xtx-2gpu"), Look()
        await seen(pilot)
        assert str(page.view) == "form" and page.focused is page.query_one("#models")
        assert not str(page.query_one("#plan", Static).render()).strip()

    driven(fixture_host("mi300x-8gpu"), look)


@pytest.mark.usefixtures("plans_once")
def test_a_plan_takes_no_keys_from_somebody_who_went_on_and_is_outdated_where_the_machine_was_asked_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    go = threading.Event()

    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        page: RecommendPage = await _open(app, pilot, "6", RecommendPage)
        await until(pilot, lambda: page._answer is not None)
        answer = page._answer
        monkeypatch.setattr("rocdoctor.tui.recommend.screen.plan", lambda *_: go.wait(60) and answer)
        page._plan(page._form.form())
        await pilot.press("slash")
        await until(pilot, lambda: isinstance(page.focused, Input))
        _asked_again(app, lambda known: replace(known, machine=replace(known.machine)))
        go.set()
        await until(pilot, lambda: page._work is not None and not page._work.running)
        assert isinstance(page.focused, Input) and str(page.view) == "form"
        assert "looked at again" in str(page.query_one("#state", Static).render())

    driven(fixture_host("mi300x-8gpu"), look)


def test_set_up_keeps_the_place_in_a_step_and_takes_no_plan_of_another_goal_or_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    go = threading.Event()

    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        page: SetupPage = await _open(app, pilot, "7", SetupPage)
        detail, plan = page.query_one("#setup-detail"), page.plan
        assert plan is not None and detail.max_scroll_y > 0
        detail.scroll_to(y=1, animate=False)
        await seen(pilot)
        _asked_again(app)
        await settled(app, pilot)
        await seen(pilot)
        assert page.plan == plan and detail.scroll_y == 1

        monkeypatch.setattr(setting_up, "verify_step", lambda *_: Verified(plan=plan if go.wait(60) else None))
        page.action_verify()
        work = page._verifying
        page.action_goal()
        await until(pilot, lambda: page.plan is not None and page.plan.goal != plan.goal)
        go.set()
        await until(pilot, lambda: work is not None and not work.running)
        assert page.plan is not None and page.plan.goal == page.goal != plan.goal

        go.clear()
        page.action_verify()
        app.host, app.look = fixture_host("phoenix-laptop"), Look()
        await seen(pilot)
        assert page.plan is None and page.query_one(OptionList).option_count == 0
        assert page._verifying is not None and page._verifying.cancelled
        go.set()

    driven(fixture_host(_FAULTY), look)


def test_a_grid_that_is_led_twice_at_once_is_not_one_that_a_person_leads() -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        page: SmokePage = await _open(app, pilot, "5", SmokePage)
        grid = page.query_one(SmokeGrid)
        rows = [at for at, row in enumerate(grid._rows) if row is not None][:3]
        page._follows = True
        for at in rows[1:]:  # before the message of the first is heard
            grid._led = grid.highlighted = at
        await seen(pilot)
        assert page._follows
        grid.highlighted = rows[0]
        await seen(pilot)
        assert not page._follows, "a person moved it"

    driven(fixture_host("mi300x-8gpu"), look)


def test_the_gpu_that_is_selected_stays_selected_where_another_one_is_gone() -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        page: ThermalsPage = await _open(app, pilot, "4", ThermalsPage)
        gpus = page.query_one("#gpus", OptionList)
        gpus.highlighted = 5
        await seen(pilot)
        chosen, known = page._shown[5], app.look.diagnosis
        assert known is not None

        def without_gpu_2(known: Diagnosis) -> Diagnosis:
            machine = known.machine
            return replace(known, machine=replace(machine, gpus=machine.gpus[:2] + machine.gpus[3:]))

        app.look = replace(app.look, diagnosis=without_gpu_2(known))
        await seen(pilot)
        assert gpus.highlighted == 4 and page._shown[4] == chosen

    driven(fixture_host("mi300x-8gpu"), look)


def test_the_cursor_of_the_overview_stays_at_its_finding_and_other_evidence_takes_all_away() -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        page = app.screen
        found, known = page.query_one(FoundRows), app.look.diagnosis
        assert known is not None and found.count > 1
        found.cursor = 1
        await seen(pilot)
        rows = page._rows  # type: ignore[attr-defined]
        chosen, first = rows[1].key, rows[0].check
        gone = tuple(one for one in known.verdicts if one.check != first)
        _asked_again(app, lambda diagnosis: replace(diagnosis, verdicts=gone))
        await seen(pilot)
        assert page._rows[found.cursor].key == chosen and found.cursor == 0  # type: ignore[attr-defined]
        app.host, app.look = fixture_host("mi300x-8gpu"), Look()
        await seen(pilot)
        assert found.count == 0 and "Looking." in str(page.query_one("#first", Static).render())
        assert not str(page.query_one("#card", Static).render()).strip()

    driven(fixture_host(_FAULTY), look)


def test_a_text_that_changes_stops_its_diagnosis(monkeypatch: pytest.MonkeyPatch) -> None:
    go = threading.Event()
    monkeypatch.setattr(pasted, "read_text", lambda pieces: go.wait(60))

    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await pilot.press("9")
        await until(pilot, lambda: isinstance(app.screen, PastePage) and app.screen.focused is not None)
        page = app.screen
        assert isinstance(page, PastePage)
        page._area.text = "something"
        page.action_diagnose()  # before the page hears of the text
        await until(pilot, lambda: page._work is not None)
        await seen(pilot)
        work = page._work
        assert work is not None and not work.cancelled
        await pilot.press("q")
        await until(pilot, lambda: "the text has changed" in str(page.query_one("#state", Static).render()))
        assert work.cancelled and page.focused is page._area and not page.reading
        go.set()

    driven(fixture_host("recorded-cpu-vm"), look)


def test_a_comparison_is_made_again_where_the_machine_was_judged_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    go, compared, beside = threading.Event(), list[Diagnosis](), comparing.beside

    def held(before: Any, host: Any, diagnosis: Diagnosis) -> Any:
        compared.append(diagnosis)
        go.wait(60)
        return beside(before, host, diagnosis)

    monkeypatch.setattr(compare_screen, "beside", held)

    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        page: ComparePage = await _open(app, pilot, "0", ComparePage)
        now = page._judged()
        assert now is not None
        page._other = comparing.other(str(ROOT / "fixtures" / "rx7900xtx-2gpu.capture"))
        page._compare(now)
        await until(pilot, lambda: compared)
        _asked_again(app)
        await seen(pilot)
        go.set()
        await until(pilot, lambda: len(compared) == 2)
        await settled(app, pilot)
        assert compared[1] is app.look.diagnosis and len(compared) == 2

    driven(fixture_host(_FAULTY), look)

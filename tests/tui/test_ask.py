"""A question of yes or no on small terminals: all of it can be read, and only then agreed to."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Button

from rocdoctor.tui.app import RocdoctorApp
from rocdoctor.tui.widgets.ask import Confirm
from tests.tui.kit import driven, fixture_host, shown, until

_LONG = "\n".join(f"step {number}" for number in range(60))


@pytest.mark.parametrize("size", [(80, 24), (60, 16), (40, 8)])
def test_a_long_question_is_agreed_to_only_after_its_end_was_shown(size: tuple[int, int]) -> None:
    got: list[bool | None] = []

    async def drive(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        app.push_screen(Confirm("really?", _LONG, "Do it"), got.append)
        await until(pilot, lambda: "step 0" in shown(app) and "y Do it" in shown(app))
        assert "n No" in shown(app) and "step 59" not in shown(app) and "more below" in shown(app)
        seen = shown(app)
        await pilot.press("y")
        await pilot.click("#ask-yes")
        assert isinstance(app.screen, Confirm) and not got
        for _ in range(60):
            if "step 59" in shown(app):
                break
            await pilot.press("space")
            await until(pilot, lambda: True)
            seen += shown(app)
        assert all(f"step {number}" in seen for number in range(60)), "no line is passed over"
        assert "n No" in shown(app) and "more below" not in shown(app)
        await pilot.press("home")
        await until(pilot, lambda: "step 0" in shown(app))
        await pilot.press("y")
        await until(pilot, lambda: got)

    driven(fixture_host("rx7900xtx-2gpu"), drive, size)
    assert got == [True]


def _more(got: list[bool | None], count: int) -> bool:
    return len(got) > count


def test_a_short_question_is_agreed_to_at_once_and_enter_means_no() -> None:
    got: list[bool | None] = []

    async def drive(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        for key in ("enter", "escape", "n", "y"):
            app.push_screen(Confirm("really?", "one step", "Do it"), got.append)
            await until(
                pilot, lambda: "one step" in shown(app) and not app.screen.query_one("#ask-yes", Button).disabled
            )
            assert "more below" not in shown(app)
            count = len(got)
            await pilot.press(key)
            await until(pilot, partial(_more, got, count))

    driven(fixture_host("rx7900xtx-2gpu"), drive)
    assert got == [False, False, False, True]


def test_the_answers_stay_in_sight_when_the_terminal_becomes_smaller() -> None:
    async def drive(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        app.push_screen(Confirm("really?", _LONG, "Do it"))
        await until(pilot, lambda: "step 0" in shown(app))
        await pilot.resize_terminal(80, 100)
        await until(pilot, lambda: "step 59" in shown(app) and "y Do it" in shown(app))
        assert not app.screen.query_one("#ask-yes", Button).disabled
        await pilot.resize_terminal(80, 20)
        await until(pilot, lambda: "step 59" not in shown(app) and "y Do it" in shown(app))
        assert "more below" in shown(app)

    driven(fixture_host("rx7900xtx-2gpu"), drive)

"""Keys go on going to the part that had them, also where it is hidden meanwhile and whenever Textual hears of that."""

from __future__ import annotations

import asyncio
from typing import Any

from textual.pilot import Pilot

from rocdoctor.tui.app import RocdoctorApp
from rocdoctor.tui.look import Look
from rocdoctor.tui.thermals.screen import ThermalsPage
from tests.tui.kit import driven, fixture_host, seen, until
from tools.docs.pictures import settled


async def _turns(turns: int) -> None:
    for _ in range(turns):
        await asyncio.sleep(0)


def test_a_part_that_was_hidden_has_the_keys_again_unless_somebody_moved_them() -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await pilot.press("4")
        await until(pilot, lambda: isinstance(app.screen, ThermalsPage) and app.screen.query_one("#gpus").size)
        page, known = app.screen, app.look
        gpus = page.query_one("#gpus")
        assert page.focused is gpus
        for turns in range(8):  # Textual gives the keys away some turns of the loop after the hiding
            app.look = Look()
            await _turns(turns)
            app.look = known
            await settled(app, pilot)
            assert page.focused is gpus and gpus.display, turns
        app.look = Look()
        await seen(pilot)
        assert not gpus.display and page.focused is None, "nothing that is hidden has the keys"
        page.set_focus(None)  # as Textual does where the window of the terminal is left
        app.look = known
        await seen(pilot)
        assert page.focused is gpus
        app.look = Look()
        await seen(pilot)
        page.query_one("#events").focus()
        await seen(pilot)
        other = page.focused
        app.look = known
        await seen(pilot)
        assert other is not None and page.focused is other, "somebody had moved them"

    driven(fixture_host("mi300x-8gpu"), look)


def test_a_part_that_is_disabled_gives_the_keys_away() -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await pilot.press("2")
        await until(pilot, lambda: app.screen.focused is not None and app.screen.focused.id == "list")
        chosen = app.screen.query_one("#list")
        chosen.disabled = True
        await seen(pilot)
        assert app.screen.focused is not chosen

    driven(fixture_host("mi300x-8gpu"), look)

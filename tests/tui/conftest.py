"""The app collects garbage rarely, and widgets refer to each other: many apps in one process need a hand."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from textual._context import visible_screen_stack
from textual.pilot import Pilot
from textual.screen import Screen

from rocdoctor.tui import app, look
from tests.tui.kit import examined


@pytest.fixture(autouse=True)
def _day(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans of the day of the tables: what is tested must not depend on the calendar."""
    monkeypatch.setattr(look, "today", str)


@pytest.fixture(autouse=True)
def _no_look_by_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A live machine is looked at again when a test says so, also where the tests take long."""
    monkeypatch.setattr(app, "EVERY_S", 86_400.0)


@pytest.fixture(autouse=True)
def _fixtures_examined_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "examine", examined)


@pytest.fixture
def every_frame() -> None:
    """For tests of the frames themselves: each is drawn."""


@pytest.fixture(autouse=True)
def _drawn_when_the_pilot_waits(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """What changed is laid out at once, and drawn when the pilot waits for it; the frames between go to nobody."""
    if "every_frame" in request.fixturenames:
        return
    draw, pause, end = Screen._compositor_refresh, Pilot.pause, Pilot.wait_for_scheduled_animations

    def later(screen: Screen[Any]) -> None:  # what is to be drawn adds up
        if screen is not screen.app.screen or not screen.app.is_headless:
            draw(screen)
            return
        visible_screen_stack.set(screen.app._background_screens)  # what stands behind a question is shown too
        screen._dirty_widgets.clear()
        screen.app._update_mouse_over(screen)

    async def paused(pilot: Pilot[Any], delay: float | None = None) -> None:
        await pause(pilot, delay)
        if delay is None:
            draw(pilot.app.screen)

    async def ended(pilot: Pilot[Any]) -> None:
        await end(pilot)
        draw(pilot.app.screen)

    monkeypatch.setattr(Screen, "_compositor_refresh", later)
    monkeypatch.setattr(Pilot, "pause", paused)
    monkeypatch.setattr(Pilot, "wait_for_scheduled_animations", ended)


_EVERY = 40  # tests; an app leaves about 4 MiB
_tests = count(1)


@pytest.fixture(autouse=True)
def _collected() -> Iterator[None]:
    yield
    if next(_tests) % _EVERY == 0:
        gc.collect()
        gc.freeze()  # what is left is kept anyway: the next collection need not walk over it

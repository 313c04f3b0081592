"""The app as a whole: the overview, moving between screens, leaving."""

from __future__ import annotations

from typing import Any

import pytest
from textual.app import App
from textual.pilot import Pilot

from rocdoctor.tui.app import RocdoctorApp
from tests.tui.kit import NARROW, WIDE, driven, fixture_host, same_picture, shown


def test_a_screen_looks_as_it_should_with_its_bars(request: pytest.FixtureRequest) -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await same_picture(request, app, pilot, "whole", whole=True)

    driven(fixture_host("rx6700xt-override"), look, NARROW)


@pytest.mark.parametrize(("name", "size"), [("mi300x-8gpu", WIDE), ("recorded-cpu-vm", NARROW)])
def test_the_overview_looks_as_it_should(request: pytest.FixtureRequest, name: str, size: tuple[int, int]) -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await same_picture(request, app, pilot, f"overview-{name}")

    driven(fixture_host(name), look, size)


def test_the_overview_says_what_to_do_first_and_what_the_machine_is() -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> str:
        return shown(app)

    text = driven(fixture_host("rx6700xt-override"), look)
    assert "Nothing to fix." in text
    assert "AMD Radeon RX 6700 XT, gfx1031, 12 GiB" in text
    assert "HSA_OVERRIDE_GFX_VERSION" in text


def test_q_leaves() -> None:
    async def leave(app: RocdoctorApp, pilot: Pilot[Any]) -> bool:
        await pilot.press("q")
        return not app.is_running

    assert driven(fixture_host("rx6700xt-override"), leave)


def test_no_message_drives_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(App, "notify", lambda self, message, **named: told.append(message))
    RocdoctorApp.notify(RocdoctorApp.__new__(RocdoctorApp), "no answer to: a\x1b]52;c;eA==\x07b\u202ec", markup=False)
    assert told == ["no answer to: abc"]

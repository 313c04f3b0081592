"""Keys that are typed before a screen is there act on that screen; what hangs keeps nobody from leaving."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from textual.events import Key, Paste
from textual.keys import _character_to_key
from textual.pilot import Pilot
from textual.widgets import Input, TextArea

from rocdoctor.tui import typed_ahead
from rocdoctor.tui.app import RocdoctorApp
from tests.tui.kit import driven, fixture_host, until


def _at_once(app: RocdoctorApp, *typed: str) -> None:
    """Type without looking at the screen; what begins with a blank is pasted."""
    for one in typed:
        single = one if len(one) == 1 else None
        name = _character_to_key(one) if single and not one.isalnum() else one
        app.post_message(Paste(one.strip()) if one.startswith(" ") else Key(name, single))


def test_keys_and_texts_go_to_the_screen_that_those_before_them_open() -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        async def typed(*keys: str) -> str:
            _at_once(app, *keys)
            await until(pilot, lambda: app._message_queue.empty() and not app.keys_wait)
            return type(app.screen).__name__

        assert await typed("2", "/", "x", "3") == "FindingsPage"
        assert app.screen.query_one("#search", Input).value == "x3"
        assert await typed("escape", "escape", "1", "?", "escape", "8", "w", "a", "2") == "Ask"
        assert app.screen.query_one(Input).value.endswith("a2")
        assert await typed("escape", "9", "2", "q", " 1 t") == "PastePage"
        assert app.screen.query_one(TextArea).text == "2q1 t"
        assert await typed("escape", "escape", "2", "1") == "OverviewPage"

    driven(fixture_host("mi300x-8gpu"), look)


def test_what_hangs_keeps_nobody_from_leaving(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(typed_ahead, "HANGS", 1_000_000)

    async def hang(app: RocdoctorApp, pilot: Pilot[Any], hung: asyncio.Event) -> None:
        page, part = app.screen, app.screen.focused
        assert part is not None
        part.call_later(hung.wait)
        _at_once(app, "down", "down", "ctrl+c")
        await _turns_until(lambda: app._leave_asked)
        assert not app._held and page is app.screen, "ctrl+c waits for nothing"
        monkeypatch.setattr(typed_ahead, "HANGS", 0)
        hung.set()
        await until(pilot, lambda: not app.keys_wait)
        hung.clear()
        part.call_later(hung.wait)
        app._held.extend((Key("3", "3"), Key("escape", None), Key("down", None)))
        app._drop_before_leaving()
        assert [one.key for one in app._held if isinstance(one, Key)] == ["escape", "down"]
        app._held.clear()
        _at_once(app, "down", "down", "escape")
        await _turns_until(lambda: app.current_mode == "overview")
        hung.set()
        await until(pilot, lambda: app._message_queue.empty() and not app.keys_wait)
        assert app.current_mode == "overview"

    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await pilot.press("2")
        await until(pilot, lambda: not app.keys_wait)
        hung = asyncio.Event()
        try:
            await hang(app, pilot, hung)
        finally:
            hung.set()

    driven(fixture_host("mi300x-8gpu"), look)


async def _turns_until(true: Callable[[], object]) -> None:
    for _ in range(100_000):
        if true():
            return
        await asyncio.sleep(0)
    raise AssertionError("it never came to be")

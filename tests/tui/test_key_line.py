"""The line of keys is right, is one widget, and is not drawn anew for nothing."""

from __future__ import annotations

from typing import Any

import pytest
from textual.pilot import Pilot

from rocdoctor.tui.app import RocdoctorApp
from rocdoctor.tui.findings.screen import FindingsPage
from rocdoctor.tui.widgets.key_line import KeyLine
from tests.tui.kit import driven, fixture_host, seen, shown, until


def _line(app: RocdoctorApp) -> KeyLine:
    return app.screen.query_one(KeyLine)


def _words(app: RocdoctorApp) -> list[tuple[str, str, bool]]:
    return [(one.key, one.words, one.enabled) for one in _line(app).shown]


def _active(app: RocdoctorApp) -> list[tuple[str, str, bool]]:
    active = [one for one in app.screen.active_bindings.values() if one.binding.show]
    first = {one.binding.action: one for one in reversed(active)}  # a key for each action
    ordered = dict.fromkeys(one.binding.action for one in active)
    return [(first[one].binding.key, first[one].binding.description, first[one].enabled) for one in ordered]


def _last(app: RocdoctorApp) -> str:
    return shown(app).split("\n")[-1]


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """The keys that the line was made of, each time that it was made of some."""
    found: list[tuple[str, ...]] = []
    plain = KeyLine._place

    def place(self: KeyLine) -> None:
        plain(self)
        if self.shown:
            found.append(tuple(one.words for one in self.shown))

    monkeypatch.setattr(KeyLine, "_place", place)
    return found


def test_keys_are_drawn_anew_where_others_are_to_be_shown_and_only_there(drawn: list[tuple[str, ...]]) -> None:
    async def drive(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await pilot.press("2")
        await seen(pilot)
        first = _words(app)
        assert first == _active(app)
        assert not _line(app).children  # a widget for each key cost a screen 10 ms
        drawn.clear()
        await pilot.press("down", "up", "down")
        await seen(pilot)
        assert drawn == []
        await pilot.press("slash")  # a line to type in: its keys come before those of the list
        await seen(pilot)
        assert _words(app) != first
        assert _words(app) == _active(app)
        assert drawn
        await pilot.press("escape")
        await seen(pilot)
        assert _words(app) == _active(app)

    driven(fixture_host("faulty/mi300x-8gpu-tired"), drive)


def test_keys_that_are_known_before_a_part_has_the_focus_are_there_at_once(drawn: list[tuple[str, ...]]) -> None:
    async def drive(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        for key in "368":
            drawn.clear()
            await pilot.press(key)
            await seen(pilot)
            assert set(drawn) == {tuple(one.words for one in _line(app).shown)}
            assert drawn
            assert _words(app) == _active(app)

    driven(fixture_host("mi300x-8gpu"), drive, (120, 30))


def test_the_keys_of_a_narrow_terminal_are_close_and_the_screens_own_go_first() -> None:
    async def drive(app: RocdoctorApp, pilot: Pilot[Any]) -> tuple[str, list[str], list[str]]:
        await pilot.press("3")
        await seen(pilot)
        every = [words for _, words, _ in _active(app)]
        return _last(app), [one.words for one in _line(app).shown], every

    line, kept, every = driven(fixture_host("mi300x-8gpu"), drive, (60, 20))
    assert "? Help t Text r Again q Quit" in line
    assert len(line) <= 60
    assert kept == [one for one in every if one in kept]
    assert kept[-4:] == ["Help", "Text", "Again", "Quit"]
    assert len(kept) < len(every)


def test_a_click_on_a_key_is_that_key_and_the_pointer_asks_what_it_does() -> None:
    async def drive(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await pilot.press("2")
        await until(pilot, lambda: isinstance(app.screen, FindingsPage) and app.screen.caught_up)
        await seen(pilot)
        await pilot.hover(KeyLine, offset=(_last(app).index("v Verify"), 0))
        assert _line(app).tooltip == next(one.tooltip for one in _line(app).shown if one.words == "Verify")
        await pilot.click(KeyLine, offset=(_last(app).index("f Filter") + 3, 0))
        await seen(pilot)
        assert "state: unknown" in shown(app)
        before = shown(app).split("\n")[2]
        await pilot.click(KeyLine, offset=(len(_last(app)) + 1, 0))  # beside the keys: none
        await seen(pilot)
        assert shown(app).split("\n")[2] == before

    driven(fixture_host("faulty/mi300x-8gpu-tired"), drive)

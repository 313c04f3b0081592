"""The line of keys is right, and is not made anew for nothing."""

from __future__ import annotations

from typing import Any

import pytest
from textual.app import ComposeResult
from textual.pilot import Pilot
from textual.widgets._footer import FooterKey

from rocdoctor.tui.app import RocdoctorApp
from rocdoctor.tui.widgets.key_line import KeyLine
from tests.tui.kit import driven, fixture_host, seen


def _keys(app: RocdoctorApp) -> list[FooterKey]:
    return list(app.screen.query(FooterKey))


def _words(app: RocdoctorApp) -> list[tuple[str, str, bool]]:
    return [(one.key, one.description, one._disabled) for one in _keys(app)]


def _active(app: RocdoctorApp) -> list[tuple[str, str, bool]]:
    active = [one for one in app.screen.active_bindings.values() if one.binding.show]
    first = {one.binding.action: one for one in reversed(active)}  # a key for each action
    ordered = dict.fromkeys(one.binding.action for one in active)
    return [(first[one].binding.key, first[one].binding.description, not first[one].enabled) for one in ordered]


def test_keys_are_made_anew_where_others_are_to_be_shown_and_only_there() -> None:
    async def drive(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await pilot.press("2")
        await seen(pilot)
        first = _keys(app)
        assert first
        assert _words(app) == _active(app)
        await pilot.press("down", "up", "down")
        await seen(pilot)
        assert _keys(app) == first  # the very same
        await pilot.press("slash")  # a line to type in: its keys come before those of the list
        await seen(pilot)
        assert _keys(app) != first
        assert _words(app) == _active(app)
        await pilot.press("escape")
        await seen(pilot)
        assert _words(app) == _active(app)

    driven(fixture_host("faulty/mi300x-8gpu-tired"), drive)


def test_keys_that_are_known_before_a_part_has_the_focus_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[str, list[str]]] = []
    plain = KeyLine.compose

    def compose(self: KeyLine) -> ComposeResult:
        keys = list(plain(self))
        made.append((type(self.screen).__name__, [one.description for one in keys if isinstance(one, FooterKey)]))
        yield from keys

    monkeypatch.setattr(KeyLine, "compose", compose)

    async def drive(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        for key in "368":
            made.clear()
            await pilot.press(key)
            await seen(pilot)
            (only,) = made
            assert only[1] == [words for _, words, _ in _active(app)]
            assert not any(one.has_class("-compact") for one in _keys(app))

    driven(fixture_host("mi300x-8gpu"), drive)


def test_the_keys_of_a_narrow_terminal_are_compact() -> None:
    async def drive(app: RocdoctorApp, pilot: Pilot[Any]) -> tuple[bool, bool]:
        await pilot.press("3")
        await seen(pilot)
        return all(one.has_class("-compact") for one in _keys(app)), all(one.compact for one in _keys(app))

    assert driven(fixture_host("mi300x-8gpu"), drive, (60, 20)) == (True, True)

"""What a user likes of the screens: read from a file, wrong values named with their place, the others taken."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.theme import BUILTIN_THEMES

from rocdoctor.cli.commands.tui import _liked
from rocdoctor.cli.terminal import screens_or_report
from rocdoctor.host.live.trust import read_settings
from rocdoctor.service.errors import UsageError
from rocdoctor.tui.app import RocdoctorApp
from rocdoctor.tui.areas import AREAS
from rocdoctor.tui.config import _TAKEN, ACTIONS, Config, read_config, theme_named, theme_names, user_config
from rocdoctor.tui.help.screen import help_text
from tests.kit import ROOT
from tests.tui.kit import fixture_host, until

GOOD = """
theme = "nord"
rate = 5
bell = true
start = "thermals"
[keys]
again = ["ctrl+r", "f5"]
setup = "alt+s"
"""


def test_all_of_a_good_file_counts() -> None:
    liked = read_config(GOOD, "c.toml")
    assert (liked.theme, liked.rate_s, liked.start, liked.problems) == ("nord", 5.0, "thermals", ())
    assert liked.bell and not read_config("", "c.toml").bell
    assert liked.keys == {"ctrl+r": "again", "f5": "again", "alt+s": "setup"}
    assert read_config("", "c.toml").problems == ()


def test_a_wrong_value_is_named_with_its_line_and_the_others_count() -> None:
    text = """them = "nord"
rate = 3
start = "home"
theme = ["a"]
[keys]
again = "t"
jump = "x"
quit = ["ctrl+i", "f2", "hello"]
"""
    liked = read_config(text, "c.toml")
    assert [one.split(": ", 1)[0] for one in liked.problems] == [
        *("c.toml:1", "c.toml:4", "c.toml:2", "c.toml:3", "c.toml:6", "c.toml:7", "c.toml:8", "c.toml:8")
    ]
    assert liked.problems[0].endswith("no 'them' is known here; did you mean 'theme'?")
    assert "rate '3' is not one of 0, 10, 5, 2, 1, 0.5 (seconds)" in liked.problems[2]
    assert "key 't' is taken" in liked.problems[4] and "key 'ctrl+i' is taken" in liked.problems[6]
    assert (liked.keys, liked.rate_s, liked.start, liked.theme) == ({"f2": "quit"}, 2.0, "", "")


def test_a_limit_of_temperatures_is_a_number_that_a_gpu_can_reach() -> None:
    assert [read_config(f"alarm = {one}", "c.toml").alarm_c for one in (85, 87.5, 30, 120)] == [85.0, 87.5, 30.0, 120.0]
    for wrong in ("29", "121", '"hot"', "true", "[85]"):
        liked = read_config(f'theme = "nord"\nalarm = {wrong}', "c.toml")
        assert liked.alarm_c is None and liked.theme == "nord", wrong
        assert liked.problems[0].startswith("c.toml:2: alarm ") and "30 to 120 (°C)" in liked.problems[0], wrong


@pytest.mark.parametrize("text", ["theme = ", "a = 1\na = 2", "=" * 10, "keys = 1\n[keys]\nx = 1"])
def test_what_is_not_toml_is_said(text: str) -> None:
    (said,) = read_config(text, "c.toml").problems
    assert said.startswith("c.toml is not TOML, so it was not read: ")


def test_the_file_of_the_user_is_read_and_that_of_others_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert user_config() == Config()  # there is none
    path = tmp_path / "rocdoctor" / "config.toml"
    path.parent.mkdir()
    path.write_text(GOOD)
    path.chmod(0o644)
    assert user_config().start == "thermals"
    path.chmod(0o646)
    assert user_config() == Config(problems=(f"{path} was not read: everybody can change it",))
    path.chmod(0o644)
    mine = os.geteuid()
    monkeypatch.setattr("rocdoctor.host.live.trust._owners", lambda: frozenset({mine + 1}))
    assert "and not to you or root" in user_config().problems[0]
    monkeypatch.undo()
    path.write_bytes(b"\xff" * 3)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert user_config().problems == (f"{path} is not UTF-8, so it was not read",)
    path.write_text("#" * 70000)
    assert "longer than 65536 bytes" in user_config().problems[0]
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(OSError, match="not a regular file"):
        read_settings(path)


def test_the_screens_open_as_the_user_likes() -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: app.current_mode == "thermals")
        assert app.theme == "nord"
        assert app.screen.query_one("#rate").screen._rate_s == 5.0  # type: ignore[attr-defined]
        before = app.host
        await pilot.press("alt+s")
        assert app.current_mode == "setup" and app.host is before
        assert any("f5" in line and "again (config.toml)" in line for line in _help(app).splitlines())

    _driven(look, read_config(GOOD, "c.toml"))


def test_a_theme_that_this_textual_lacks_is_named_with_its_place() -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        assert app.theme == "textual-dark"
        (said,) = [one.message for one in app._notifications]
        assert said.startswith("c.toml:1: theme 'mine' is not one of ansi, ")

    _driven(look, read_config('theme = "mine"', "c.toml"))


@pytest.mark.parametrize("no_color", [False, True])
def test_the_colours_of_the_terminal_are_a_theme_and_no_color_wins(
    no_color: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if no_color:
        monkeypatch.setenv("NO_COLOR", "1")

    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> bool:
        return app.native_ansi_color

    assert _driven(look, Config(theme="ansi")) is not no_color


def test_a_theme_of_the_command_line_goes_before_that_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "rocdoctor").mkdir()
    (tmp_path / "rocdoctor" / "config.toml").write_text(GOOD)
    assert (_liked(None).theme, _liked("dracula").theme, _liked("dracula").start) == ("nord", "dracula", "thermals")
    with pytest.raises(UsageError, match=r"no theme 'drakula'; did you mean 'dracula'\?; there are ansi, "):
        _liked("drakula")
    assert all(theme_named(one, list(BUILTIN_THEMES)) for one in theme_names(list(BUILTIN_THEMES)))


def test_the_keys_that_are_taken_are_those_of_the_app() -> None:
    bound = {key for one in RocdoctorApp.BINDINGS for key in one.key.split(",")}  # type: ignore[union-attr]
    assert {"f1" if one == "question_mark" else one for one in bound} <= {*_TAKEN, *(str(at) for at in range(10))}
    assert {*ACTIONS} >= {area.module for area in AREAS}


def _help(app: RocdoctorApp) -> str:
    return help_text(None, 70, keys=app.config.keys).plain


def _driven(drive: Any, liked: Config) -> Any:
    import asyncio

    async def run() -> Any:
        app = RocdoctorApp(fixture_host("recorded-cpu-vm"), config=liked)
        app.animation_level = "none"
        async with app.run_test(size=(80, 24)) as pilot:
            await until(pilot, lambda: app.drawn and not app.look.busy)
            return await drive(app, pilot)

    return asyncio.run(run())


def test_a_report_in_place_of_the_screens_has_no_theme(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rocdoctor.cli.terminal.no_terminal", lambda: "no terminal")
    for given in (["tui", "--theme", "nord", "--quiet"], ["tui", "--theme=nord", "--quiet"]):
        assert screens_or_report(given) == (["check", "--quiet"], "no terminal")
    assert screens_or_report(["--json", "--theme", "nord"]) == (["check", "--json"], "")
    assert screens_or_report(["tui", "--theme", "--quiet"]) == (["check", "--quiet"], "no terminal")
    monkeypatch.setattr("rocdoctor.cli.terminal.no_terminal", lambda: "")
    monkeypatch.setattr("rocdoctor.cli.terminal.no_screens", lambda: "")
    assert screens_or_report(["--theme", "nord"]) == (["tui", "--theme", "nord"], "")


def test_the_file_in_the_docs_is_right() -> None:
    text = (ROOT / "docs" / "screens.md").read_text(encoding="utf-8").split("```toml\n")[1].split("```")[0]
    liked = read_config(text, "c.toml")
    assert liked.problems == () and liked.theme == "nord" and liked.start == "thermals"
    assert liked.keys == {"ctrl+r": "again", "f4": "thermals", "alt+t": "thermals"}

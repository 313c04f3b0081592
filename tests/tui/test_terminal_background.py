"""The answer of a terminal on its background: taken out of what is typed, whole or in pieces, and followed once."""

from __future__ import annotations

from typing import Any, cast

import pytest
from textual import events
from textual.driver import Driver
from textual.drivers import linux_driver
from textual.drivers.headless_driver import HeadlessDriver
from textual.drivers.linux_driver import LinuxDriver
from textual.pilot import Pilot

from rocdoctor.tui import terminal_background
from rocdoctor.tui.app import RocdoctorApp
from rocdoctor.tui.config import Config
from rocdoctor.tui.terminal_background import LIGHT, QUERY, Answers, asking, light, may_be_asked
from tests.tui.kit import driven, fixture_host, seen

_WHITE = "\x1b]11;rgb:ffff/ffff/ffff\x1b\\"
_BLACK = "\x1b]11;rgb:00/00/00\x07"


def test_a_colour_is_light_or_dark_however_many_digits_it_has() -> None:
    assert [light(*one.split("/")) for one in ("ffff/ffff/ffff", "f/f/f", "fd/f6/e3", "eee/eee/eee")] == [True] * 4
    assert [light(*one.split("/")) for one in ("0000/0000/0000", "0/0/0", "1e/1e/2e", "0000/0000/ffff")] == [False] * 4


@pytest.mark.parametrize("answer", [_WHITE, _WHITE.replace("\x1b\\", "\x07"), "\x1b]11;rgba:ff/ff/ff/80\x1b\\"])
def test_an_answer_is_no_keys_wherever_it_is_split(answer: str) -> None:
    for at in range(len(answer) + 1):
        told: list[bool] = []
        answers = Answers(told.append)
        typed = answers.without("q" + answer[:at]) + answers.without(answer[at:] + "r")
        # A lone ESC is a key at once; what follows it is none.
        assert typed == ("q\x1br" if at == 1 else "qr"), at
        assert told == [True], at


def test_what_somebody_types_comes_through() -> None:
    answers = Answers(lambda light: None)
    for keys in ("", "\x1b", "11;rgb", "\x1b[A", "\x1bOP", "]11;", "\x1b[200~]11;x\x1b[201~"):
        assert answers.without(keys) == keys
    for begun in ("\x1b]", "\x1b]1"):
        assert answers.without(begun) + answers.without("x") == f"{begun}x", "alt and ], heard with the next key"
    assert answers.without("\x1b]11;rgb:" + "f" * 40) == "\x1b]11;rgb:" + "f" * 40, "nothing is kept forever"


def test_only_terminals_that_may_know_it_are_asked() -> None:
    assert all(may_be_asked(one, False) for one in ("xterm-256color", "alacritty", "tmux-256color", "xterm-kitty"))
    assert may_be_asked("screen-256color", True), "tmux"
    assert not any(may_be_asked(one, False) for one in ("", "dumb", "linux", "screen.xterm-256color", "eterm-color"))


def test_keys_beside_an_answer_are_heard_and_it_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[bool] = []
    asked = asking(LinuxDriver, told.append)
    assert asked is not LinuxDriver and issubclass(asked, LinuxDriver)
    monkeypatch.setattr(linux_driver, "XTermParser", linux_driver.XTermParser)  # type: ignore[attr-defined]
    monkeypatch.setattr(LinuxDriver, "run_input_thread", lambda self: None)
    monkeypatch.setattr(LinuxDriver, "start_application_mode", lambda self: None)
    driver = cast(Any, asked.__new__(asked))
    written: list[str] = []
    driver.input_tty, driver.write, driver.flush = True, written.append, lambda: None
    driver.start_application_mode()
    driver.start_application_mode()  # as after a pager
    assert written == [QUERY]
    driver.run_input_thread()
    parser = linux_driver.XTermParser(False)  # type: ignore[attr-defined]
    heard = [*parser.feed("a"), *parser.feed(_BLACK), *parser.feed("b" + _WHITE)]
    assert [one.key for one in heard if isinstance(one, events.Key)] == ["a", "b"]
    assert told == [False, True]


def test_another_way_to_read_the_terminal_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    assert asking(HeadlessDriver, lambda light: None) is HeadlessDriver
    monkeypatch.delattr(linux_driver, "XTermParser")
    assert asking(LinuxDriver, lambda light: None) is LinuxDriver


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Whom the driver would tell."""
    for name in ("COLORFGBG", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    tell: list[Any] = []

    def asking_one(driver: type[Driver], told: Any) -> type[Driver]:
        tell.append(told)
        return driver

    monkeypatch.setattr(terminal_background, "asking", asking_one)
    return tell


def test_a_light_answer_gives_light_screens_without_a_word_and_a_theme_that_was_chosen_stays(asked: list[Any]) -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        dark = app.theme
        for light_one, theme in ((False, dark), (True, LIGHT)):
            asked[0](light_one)
            await seen(pilot)
            assert app.theme == theme
        assert not app._notifications
        app.theme = "nord"
        await seen(pilot)
        assert [*app._notifications], "how a theme is kept is said"
        asked[0](True)
        await seen(pilot)
        assert app.theme == "nord"

    driven(fixture_host("recorded-cpu-vm"), look)


def test_nothing_is_asked_where_it_is_said_already(asked: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    host = fixture_host("recorded-cpu-vm")
    assert RocdoctorApp(host, config=Config(theme="nord")).theme == "nord" and not asked
    monkeypatch.setenv("COLORFGBG", "0;15")
    assert RocdoctorApp(host).theme == LIGHT and not asked
    monkeypatch.setenv("NO_COLOR", "1")
    assert RocdoctorApp(host).theme != LIGHT and not asked
    monkeypatch.delenv("COLORFGBG")
    assert RocdoctorApp(host).theme != LIGHT and not asked

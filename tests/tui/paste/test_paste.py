"""The paste screen: a text in, its diagnosis out, and all screens over it."""

from __future__ import annotations

import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from textual.events import Paste
from textual.pilot import Pilot
from textual.widgets import Input, Static

from rocdoctor.cli.main import run
from rocdoctor.tui.app import RocdoctorApp
from rocdoctor.tui.paste import diagnosis
from rocdoctor.tui.paste.screen import PastePage
from rocdoctor.tui.widgets.ask import Ask
from tests.kit import ROOT
from tests.tui.kit import NARROW, SIZES, WIDE, driven, fixture_host, same_picture, shown, until

REPORT = (ROOT / "tests" / "texts" / "faulty" / "cpu-wheel.txt").read_text(encoding="utf-8")
HOST = "recorded-cpu-vm"


async def _open(app: RocdoctorApp, pilot: Pilot[Any]) -> PastePage:
    await pilot.press("9")
    await until(pilot, lambda: isinstance(app.screen, PastePage) and app.screen.focused is not None)
    page = app.screen
    assert isinstance(page, PastePage)
    return page


async def _diagnosed(page: PastePage, pilot: Pilot[Any], text: str, key: str = "f5") -> None:
    """Paste as a terminal does: lines end with carriage returns."""
    page.app.post_message(Paste(text.replace("\n", "\r")))
    await until(pilot, lambda: page._area.text or page._asides)
    await pilot.press(key)
    await until(pilot, lambda: page._read is not None)
    await pilot.pause()


def _says(page: PastePage, words: str) -> bool:
    return words in str(page.query_one("#state", Static).render())


def test_the_paste_screen_looks_as_it_should(request: pytest.FixtureRequest) -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await _open(app, pilot)
        await same_picture(request, app, pilot, "paste-empty")

    async def wide(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        page = await _open(app, pilot)
        await _diagnosed(page, pilot, REPORT)
        await same_picture(request, app, pilot, "paste-cpu-wheel")

    driven(fixture_host(HOST), look, NARROW)
    driven(fixture_host(HOST), wide, WIDE)


@pytest.mark.parametrize("key", ["f5", "ctrl+d"])
def test_a_pasted_report_is_diagnosed_as_the_command_does_and_opens_on_all_screens(
    key: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "report.txt"
    path.write_text(REPORT)
    run(["read", str(path)])
    said = capsys.readouterr().out

    async def read(app: RocdoctorApp, pilot: Pilot[Any]) -> str:
        page = await _open(app, pilot)
        await _diagnosed(page, pilot, REPORT, key)
        assert page._read is not None
        assert "diagnosis of pasted text" in shown(app)
        text = diagnosis.report(page._read, 100)
        await pilot.press("o")
        await until(pilot, lambda: app.host.origin == "pasted text" and app.current_mode == "overview")
        await until(pilot, lambda: app.look.phase == "done")
        assert app.look.diagnosis is not None
        assert app.look.diagnosis.causes[0].cause == page._read.diagnosis.causes[0].cause
        await pilot.press("b")
        await until(pilot, lambda: app.host.origin == f"{HOST}.capture")
        return text

    # Long commands go on below their own beginning here.
    assert driven(fixture_host(HOST), read).split() == said.split()


def test_a_large_paste_is_kept_aside_and_diagnosed(monkeypatch: pytest.MonkeyPatch) -> None:
    noise = "".join(f"[{number}.0] usb 1-1: an ordinary message \x1b[2J\n" for number in range(20_000))

    async def read(app: RocdoctorApp, pilot: Pilot[Any]) -> tuple[str, str, str]:
        page = await _open(app, pilot)
        page.app.post_message(Paste(noise + REPORT))
        await until(pilot, lambda: page._asides)
        await pilot.pause()
        before, inside = shown(app), page._area.text
        await pilot.press("f5")
        await until(pilot, lambda: page._read is not None)
        assert page._read is not None
        return before, inside, diagnosis.report(page._read, 100)

    before, inside, report = driven(fixture_host(HOST), read)
    assert inside == ""
    lines = (noise + REPORT).count("\n")
    assert f"{lines} lines" in " ".join(before.split())
    assert "[0.0] usb 1-1: an ordinary message" in before
    assert "[2J" not in before
    assert "a build without GPU support" in report


def test_typed_text_and_large_pastes_are_one_text() -> None:
    large = "filler of a log\n" * 4000

    async def read(app: RocdoctorApp, pilot: Pilot[Any]) -> str:
        page = await _open(app, pilot)
        page._area.text = REPORT
        app.post_message(Paste(large))
        await until(pilot, lambda: page._asides)
        await pilot.press("f5")
        await until(pilot, lambda: page._read is not None)
        assert page._read is not None
        return page._read.host.ask("text").text

    text = driven(fixture_host(HOST), read)
    assert text.index("Torch not compiled with CUDA") < text.index("filler of a log")
    assert text.count("filler of a log") == 4000


def test_letters_are_typed_and_escape_makes_keys_commands_again() -> None:
    async def write(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        page = await _open(app, pilot)
        await pilot.press("q", "1", "o")
        assert page._area.text == "q1o"
        await pilot.press("escape")
        assert page.focused is None
        app.post_message(Paste(" and more"))
        await until(pilot, lambda: "and more" in page._area.text)
        await pilot.press("f8")
        assert page._area.text == ""
        await pilot.press("f5")
        await until(pilot, lambda: "nothing to diagnose yet" in shown(app))
        await pilot.press("escape", "1")
        await until(pilot, lambda: app.current_mode == "overview")

    driven(fixture_host(HOST), write)


def test_help_and_commands_are_in_reach_while_keys_are_typed() -> None:
    async def press(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        page = await _open(app, pilot)
        bar = shown(app).splitlines()[-1]
        assert "f1 Help" in bar and "^p Commands" in bar and "? Help" not in bar
        await pilot.press("question_mark", "f1")
        await until(pilot, lambda: "help (Escape" in shown(app))
        text = shown(app).splitlines()
        at = next(at for at, line in enumerate(text) if "prove that distributed" in line)
        assert text[at + 1].index("correctly") == text[at].index("Smoke:"), "continued below its own text"
        await pilot.press("f1")
        await until(pilot, lambda: app.screen is page)
        assert page._area.text == "?"
        await pilot.press("escape")
        await until(pilot, lambda: "? Help" in shown(app).splitlines()[-1])
        assert "f1" not in shown(app).splitlines()[-1]

    driven(fixture_host(HOST), press)


def test_escape_stops_a_diagnosis(monkeypatch: pytest.MonkeyPatch) -> None:
    go, ended = threading.Event(), threading.Event()

    def slow(pieces: object) -> None:
        go.wait(60)
        ended.set()

    monkeypatch.setattr(diagnosis, "read_text", slow)

    async def stop(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        page = await _open(app, pilot)
        page._area.text = "something"
        await pilot.press("f5")
        await until(pilot, lambda: "Escape stops" in shown(app))
        await pilot.press("escape")
        await until(pilot, lambda: "Stopped." in shown(app))
        go.set()
        await until(pilot, ended.is_set)
        assert page._read is None
        assert not page.reading

    driven(fixture_host(HOST), stop)


@pytest.mark.parametrize("size", SIZES)
def test_escape_returns_to_the_text(size: tuple[int, int]) -> None:
    async def back(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        page = await _open(app, pilot)
        await _diagnosed(page, pilot, REPORT)
        assert page.query_one("#result").display
        await pilot.press("escape")
        await pilot.pause()
        assert page.focused is page._area
        assert page.query_one("#result").display == (size[0] >= 130)
        assert page.query_one("#editor").display

    driven(fixture_host(HOST), back, size)


def test_a_file_is_diagnosed_and_what_is_none_is_said_in_words(tmp_path: Path) -> None:
    path = tmp_path / "picture.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n")

    async def read(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        page = await _open(app, pilot)
        for name, words in ((path, "a picture; text is needed"), (tmp_path / "none", "no such file or folder")):
            await pilot.press("ctrl+o")
            await until(pilot, lambda: isinstance(app.screen, Ask))
            app.screen.query_one(Input).value = str(name)
            await pilot.press("enter")
            await until(pilot, partial(_says, page, words))
            await until(pilot, lambda: app.screen is page)
        await pilot.press("ctrl+o")
        await until(pilot, lambda: isinstance(app.screen, Ask))
        app.screen.query_one(Input).value = str(ROOT / "fixtures" / "mi210-8gpu.capture")
        await pilot.press("enter")
        await until(pilot, lambda: "diagnosis of mi210-8gpu.capture" in shown(app))
        assert "MI210" in shown(app)

    driven(fixture_host(HOST), read)


def test_a_pasted_bundle_is_opened_as_one() -> None:
    content = (ROOT / "fixtures" / "rx6600.capture").read_text()
    found = diagnosis.read_text([content.replace("\n", "\r")])
    assert found.host.kind == "bundle"
    assert "RX 6600" in diagnosis.report(found, 80)


@pytest.mark.parametrize(
    ("text", "lines"),
    [("a\nb\n", 2), ("a\nb", 2), ("a\rb\r", 2), ("a\r\nb", 2), ("x", 1)],
    ids=["ended", "open", "returns", "windows", "one"],
)
def test_lines_of_a_paste(text: str, lines: int) -> None:
    assert diagnosis.aside(text).lines == lines
    assert "\r" not in diagnosis.aside(text).head

"""The palette of commands, the help, and the small questions over a screen."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from textual.command import CommandList, CommandPalette
from textual.pilot import Pilot
from textual.widgets import Input, Static

from rocdoctor.host.base import Answer
from rocdoctor.host.overlay import OverlayHost
from rocdoctor.judging.loading import check_files, checks_folder, name_of
from rocdoctor.tui.app import RocdoctorApp
from rocdoctor.tui.areas import AREAS, KEYS
from rocdoctor.tui.help.screen import HelpPanel
from rocdoctor.tui.palette import Commands
from rocdoctor.tui.paste.screen import PastePage
from rocdoctor.tui.widgets.ask import Ask
from rocdoctor.tui.widgets.reader import Reader
from tests.kit import ROOT
from tests.tui.kit import driven, fixture_host, shown, until


def _found(app: RocdoctorApp, words: str) -> bool:
    """Whether the palette has looked for the words, and has some command first that has the last of them."""
    found = app.screen.query_one(CommandList)
    searching = any(not one.is_finished for one in app.workers if one.node is app.screen)
    first = str(found.get_option_at_index(0).prompt).lower() if found.option_count else ""
    return not searching and words.split()[-1].lower() in first


async def _command(app: RocdoctorApp, pilot: Pilot[Any], words: str) -> None:
    """Open the palette, type, wait for the first hit, take it."""
    await pilot.press("ctrl+p")
    await until(pilot, lambda: isinstance(app.screen, CommandPalette))
    app.screen.query_one(Input).value = words
    await until(pilot, lambda: _found(app, words))
    palette = app.screen
    if palette.query_one(CommandList).highlighted is None:
        await pilot.press("enter")  # takes the first; the next one runs it
        await until(pilot, lambda: app.screen is not palette or palette.query_one(CommandList).highlighted is not None)
    if app.screen is palette:
        await pilot.press("enter")
    await until(pilot, lambda: not isinstance(app.screen, CommandPalette))


async def _offered(app: RocdoctorApp, query: str = "") -> list[str]:
    provider = Commands(app.screen)
    hits = provider.search(query) if query else provider.discover()
    return [str(hit.text) async for hit in hits]


def test_the_palette_offers_every_screen_every_action_and_every_manual_page() -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> tuple[list[str], list[str], list[str]]:
        first, pages = await _offered(app), await _offered(app, "explain")
        await pilot.press("9")
        await until(pilot, lambda: isinstance(app.screen, PastePage))
        return first, pages, await _offered(app)

    first, pages, of_paste = driven(fixture_host("faulty/rx7900xtx-2gpu-old-guide"), look)
    for key, area in zip(KEYS, AREAS, strict=False):
        assert f"Go to {area.name} (key {key})" in first
    for words in ("Overview: Copy (key c)", "Open evidence...", "Copy the first command", "Change theme..."):
        assert words in first
    assert not [one for one in first if one.startswith("Explain")]
    paste = [one for one in of_paste if one.startswith("Paste: ")]
    assert sorted(paste) == sorted(
        [
            "Paste: Diagnose (key f5)",
            "Paste: File (key ^o)",
            "Paste: Open (key o)",
            "Paste: Clear (key f8)",
            "Paste: Back (key escape)",
        ]
    )
    assert {one.removeprefix("Explain ") for one in pages if one.startswith("Explain ")} == {
        name_of(path) for path in check_files(checks_folder())
    }


def test_the_palette_shows_a_manual_page_goes_to_a_screen_and_runs_its_action() -> None:
    async def drive(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await _command(app, pilot, "explain pcie-link-narrow")
        await until(pilot, lambda: isinstance(app.screen, Reader))
        text = shown(app)
        assert "pcie-link-narrow" in text
        assert "Why" in text
        await pilot.press("escape")
        assert not isinstance(app.screen, Reader)
        await _command(app, pilot, "go to paste")
        await until(pilot, lambda: isinstance(app.screen, PastePage))
        page = app.screen
        assert isinstance(page, PastePage)
        page._area.text = "something"
        await _command(app, pilot, "paste: clear")
        await until(pilot, lambda: page._area.text == "")

    driven(fixture_host("rx6700xt-override"), drive)


def test_the_palette_opens_other_evidence_or_says_why_not_and_b_returns(tmp_path: Path) -> None:
    (tmp_path / "picture").write_bytes(b"\x89PNG\r\n")

    async def name_it(app: RocdoctorApp, pilot: Pilot[Any], path: Path) -> None:
        await _command(app, pilot, "open evidence")
        await until(pilot, lambda: isinstance(app.screen, Ask))
        app.screen.query_one(Input).value = str(path)
        await pilot.press("enter")

    async def read(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        for name, words in (("absent", "no such file or folder"), ("picture", "a picture; text is needed")):
            await name_it(app, pilot, tmp_path / name)
            await until(pilot, partial(_notified, app, words))
            assert app.host.origin == "rx6700xt-override.capture"
        await name_it(app, pilot, ROOT / "fixtures" / "mi210-8gpu.capture")
        await until(pilot, lambda: app.host.origin == "mi210-8gpu.capture")
        await until(pilot, lambda: "MI210" in shown(app))
        await pilot.press("b")
        await until(pilot, lambda: app.host.origin == "rx6700xt-override.capture")

    driven(fixture_host("rx6700xt-override"), read)


def _notified(app: RocdoctorApp, words: str) -> bool:
    return any(words in one.message for one in app._notifications)


def test_escape_leaves_a_question_without_an_answer() -> None:
    async def leave(app: RocdoctorApp, pilot: Pilot[Any]) -> list[str | None]:
        got: list[str | None] = []
        app.push_screen(Ask("where", "some/path"), got.append)
        await pilot.pause()
        await pilot.press("escape")
        app.push_screen(Ask("where", "some/path"), got.append)
        await pilot.pause()
        await pilot.press("x", "enter")
        await until(pilot, lambda: len(got) == 2)
        return got

    first, second = driven(fixture_host("rx6700xt-override"), leave)
    assert first is None
    assert second is not None
    assert "x" in second


def test_the_first_command_is_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = Answer("env", "ok", b"HSA_OVERRIDE_GFX_VERSION=10.3.0")
    copied: list[str] = []
    monkeypatch.setattr(RocdoctorApp, "copy_to_clipboard", lambda _, text: copied.append(text))

    async def copy(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await _command(app, pilot, "copy the first command")
        await until(pilot, lambda: copied)

    driven(OverlayHost(fixture_host("mi210-8gpu"), {"env": broken}), copy)
    assert copied == ["unset HSA_OVERRIDE_GFX_VERSION"]


def test_help_names_the_keys_of_the_screen_below() -> None:
    async def read(app: RocdoctorApp, pilot: Pilot[Any]) -> str:
        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(app.screen, HelpPanel))
        return str(app.screen.query_one(Static).render())

    text = driven(fixture_host("faulty/rx7900xtx-2gpu-old-guide"), read)
    assert re.search(r"^  c +copy the command, or the parameter$", text, re.MULTILINE)
    assert text.index("copy the command") < text.index("Everywhere")
    assert re.search(r"^  b +back to the evidence", text, re.MULTILINE)

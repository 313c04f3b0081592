"""What people's fingers know: leaving, moving, copying, and a terminal that is very small."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from rocdoctor.host.live import clipboard, programs
from rocdoctor.tui.app import RocdoctorApp
from rocdoctor.tui.findings.screen import FindingsPage
from rocdoctor.tui.smoke.screen import SmokePage
from tests.tui.kit import driven, fixture_host, seen, shown, until


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the app tells in its corner."""
    words: list[str] = []
    monkeypatch.setattr(RocdoctorApp, "notify", lambda self, text, **_: words.append(text))
    return words


def _driven(drive: Any, size: tuple[int, int] = (80, 24)) -> Any:
    return driven(fixture_host("faulty/mi300x-8gpu-tired"), drive, size)


def test_enter_opens_escape_leads_back_copying_says_what_happened_and_leaving_takes_two_presses(
    said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    suspended: list[str] = []
    monkeypatch.setattr(RocdoctorApp, "action_suspend_process", lambda self: suspended.append("suspended"))

    async def drive(app: RocdoctorApp, pilot: Pilot[Any]) -> tuple[bool, bool]:
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, FindingsPage))
        await pilot.press("escape")
        await until(pilot, lambda: app.current_mode == "overview")
        monkeypatch.setattr(RocdoctorApp, "is_headless", False)
        for taken in ("tmux", ""):
            monkeypatch.setattr(clipboard, "put", lambda text, taken=taken: taken)
            app.copy("rocminfo", "rocminfo")
            await until(pilot, lambda: app._copying is not None and not app._copying.running)
        monkeypatch.setattr(RocdoctorApp, "is_headless", True)
        taken, sent = said
        assert taken == "copied rocminfo (tmux)"
        assert sent.startswith("sent rocminfo to the terminal")
        await pilot.press("7", "ctrl+z")
        await until(pilot, lambda: bool(suspended))
        await pilot.press("ctrl+c")
        await until(pilot, lambda: "ctrl+c again leaves" in " ".join(said))
        stays = app.is_running
        await pilot.press("ctrl+c")
        return stays, app.is_running

    assert _driven(drive) == (True, False)


def test_leaving_in_the_middle_of_a_smoke_run_takes_a_second_press(
    said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def drive(app: RocdoctorApp, pilot: Pilot[Any]) -> tuple[bool, bool]:
        await pilot.press("5")
        await until(pilot, lambda: isinstance(app.screen, SmokePage))
        monkeypatch.setattr(SmokePage, "_going_on", True)
        await pilot.press("q")
        await until(pilot, lambda: "smoke tests are running: q again" in " ".join(said))
        stays = app.is_running
        await pilot.press("q")
        return stays, app.is_running

    assert _driven(drive) == (True, False)


def test_j_and_k_move_as_the_arrows_do_on_every_list() -> None:
    async def drive(app: RocdoctorApp, pilot: Pilot[Any]) -> list[str]:
        moved = []
        for area, name in (("1", "#found"), ("2", "#list"), ("4", "#gpus"), ("5", "#grid"), ("7", "#setup-list")):
            await pilot.press(area)

            def there(name: str = name) -> bool:
                return bool(app.screen.query(name))

            await until(pilot, there)
            app.screen.query_one(name).focus()
            await seen(pilot)
            one = app.screen.query_one(name)

            def at(one: Any = one) -> Any:
                return one.cursor if hasattr(one, "cursor") else one.highlighted

            if name == "#grid" and not getattr(one, "option_count", 0):
                continue
            start = at()
            await pilot.press("j")
            await seen(pilot)
            down = at()
            await pilot.press("k")
            await seen(pilot)
            if down == start or at() != start:
                moved.append(f"{name}: {start} {down} {at()}")
        return moved

    assert _driven(drive) == []


def test_the_smallest_terminal_has_what_is_wrong_and_what_to_do() -> None:
    async def drive(app: RocdoctorApp, pilot: Pilot[Any]) -> list[str]:
        first = shown(app)
        await pilot.resize_terminal(50, 10)
        await until(pilot, lambda: "50 x 10" in shown(app))
        return [first, shown(app)]

    for text in _driven(drive, (120, 15)):
        words = " ".join(text.split())
        assert "WHAT IS WRONG gpu 3: Uncorrectable hardware errors" in words
        assert "Take this GPU out of the job" in words
        assert "t: the report as text, q: quit" in words
        assert words.endswith("60 x 16 is needed"), "cut"
        assert "Again" not in text, "keys of a screen that is not there"


def test_the_first_program_that_takes_the_text_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    for name, status in (("tmux", 1), ("wl-copy", 0), ("xclip", 0)):
        (tmp_path / name).write_text(f"#!/bin/sh\ncat > {tmp_path}/{name}.got\nexit {status}\n")
        (tmp_path / name).chmod(0o755)
    for variable in ("TMUX", "WAYLAND_DISPLAY", "DISPLAY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(programs, "privileged", lambda: False)
    assert clipboard.put("a") == "", "where none can be reached, none is started"
    assert list(tmp_path.glob("*.got")) == []
    monkeypatch.setenv("TMUX", "x")
    monkeypatch.setenv("DISPLAY", ":0")
    assert clipboard.put("rocminfo") == "xclip", "tmux refused it"
    assert (tmp_path / "xclip.got").read_text() == "rocminfo"
    assert not (tmp_path / "wl-copy.got").exists()

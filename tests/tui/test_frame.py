"""What stands around all screens: the bar of screens, the bar of keys, the help; what is offered is possible."""

from __future__ import annotations

import re
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Footer

from rocdoctor.tui.app import RocdoctorApp
from rocdoctor.tui.areas import AREAS, KEYS
from rocdoctor.tui.help.screen import HelpPanel
from rocdoctor.tui.page import AreaBar
from tests.tui.kit import driven, fixture_host, shown
from tools.docs.pictures import settled


@pytest.mark.parametrize("key", ["q", "escape", "enter", "question_mark"])
def test_the_help_closes_and_the_app_goes_on(key: str) -> None:
    async def close(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await pilot.press("question_mark")
        assert isinstance(app.screen, HelpPanel)
        await pilot.press(key)
        await pilot.pause()
        assert app.is_running
        assert not isinstance(app.screen, HelpPanel)

    driven(fixture_host("recorded-cpu-vm"), close)


@pytest.mark.parametrize("width", [60, 66, 80, 100])
def test_all_screens_stand_in_their_bar_and_can_be_clicked(width: int) -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        for module, name in (("bundle", "Bundle"), ("paste", "Paste"), ("findings", "Findings")):
            bar = shown(app).splitlines()[1]
            key = next(key for key, area in zip(KEYS, AREAS, strict=False) if area.module == module)
            await pilot.click(app.screen.query_one(AreaBar), offset=(bar.index(key), 0))
            await settled(app, pilot)
            assert app.current_mode == module
            assert re.search(rf"{key} ?{name}\b", shown(app).splitlines()[1])

    driven(fixture_host("recorded-cpu-vm"), look, (width, 16))


@pytest.mark.parametrize("unseen", [0, 3, 200])
@pytest.mark.parametrize("current", ["overview", "compare"])
@pytest.mark.parametrize("width", [60, 76, 79, 80, 92, 100, 101, 120])
def test_no_name_in_the_bar_of_screens_is_cut(width: int, current: str, unseen: int) -> None:
    """Closer, then shorter, then keys without names; what is new counts too, and this screen has its name."""
    bar = AreaBar(current)
    bar.unseen = unseen
    text, ends = bar.fitted(width)
    assert text.cell_len <= width
    assert (f"!{unseen}" in text.plain) == bool(unseen)
    written = re.findall(r"(\d) ?([A-Za-z]*)", text.plain.replace(f" !{unseen} new", "").replace(f" !{unseen}", ""))
    assert [key for key, _ in written] == list(KEYS[: len(AREAS)])
    for (_, name), area in zip(written, AREAS, strict=True):
        assert name in (area.name, area.short, *([""] if area.module != current and width < 80 + unseen else []))
    assert [module for _, module in ends] == [area.module for area in AREAS]


def test_the_key_bar_is_closer_in_narrow_terminals() -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await pilot.press("2")
        await settled(app, pilot)
        for width in (62, 80, 62):
            await pilot.resize_terminal(width, 24)
            await settled(app, pilot)
            assert shown(app).splitlines()[-1].endswith(" q Quit")
            assert app.screen.query_one(Footer).compact == (width < 80)

    driven(fixture_host("recorded-cpu-vm"), look)


@pytest.mark.parametrize(
    ("name", "offered"),
    [
        ("recorded-cpu-vm", {"↑↓": "Scroll"}),
        ("rx6700xt-override", {"↑↓": "the next GPU or the one before; then scroll"}),
        ("mi300x-8gpu", {"m": "to the links between GPUs"}),
    ],
)
def test_keys_of_gpus_are_offered_where_there_are_some(name: str, offered: dict[str, str]) -> None:
    from rocdoctor.tui.help.screen import page_keys
    from rocdoctor.tui.topology.screen import TopologyPage

    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> tuple[str, dict[str, str]]:
        await pilot.press("3")
        await settled(app, pilot)
        assert isinstance(app.screen, TopologyPage)
        return shown(app).splitlines()[-1], dict(page_keys(app.screen))

    bar, keys = driven(fixture_host(name), look)
    assert offered.items() <= keys.items()
    gpus = {"recorded-cpu-vm": 0, "rx6700xt-override": 1}.get(name, 8)
    assert ("GPU" in bar, "Details" in bar, "Links" in bar) == (gpus > 0, gpus > 0, gpus > 1)
    assert ("Scroll" in bar) == (gpus == 0)


def test_hidden_details_of_a_gpu_stay_hidden_when_the_machine_is_asked_again() -> None:
    async def hide(app: RocdoctorApp, pilot: Pilot[Any]) -> tuple[bool, bool]:
        await pilot.press("3")
        await settled(app, pilot)
        await pilot.press("d", "r")
        await settled(app, pilot)
        hidden = app.screen.has_class("closed")
        await pilot.press("d")
        return hidden, app.screen.has_class("closed")

    assert driven(fixture_host("rx6700xt-override"), hide) == (True, False)


@pytest.mark.parametrize(
    ("name", "title", "copies"),
    [
        ("faulty/mi300x-8gpu-tired", "what is wrong", False),
        ("recorded-cpu-vm", "do next", False),
        ("h100-8gpu", "in short", False),
        ("faulty/rx7900xtx-2gpu-old-guide", "what is wrong", True),
    ],
)
def test_the_overview_says_do_first_once_and_offers_to_copy_what_is_there(name: str, title: str, copies: bool) -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> str:
        return shown(app)

    text = driven(fixture_host(name), look)
    assert text.splitlines()[2].startswith(f"╭─ {title} ─")
    assert text.lower().count("do first") == (title == "what is wrong")
    assert ("c Copy" in text.splitlines()[-1]) == copies


def test_a_long_command_is_continued_below_itself() -> None:
    from rocdoctor.service.evidence import open_evidence
    from tests.kit import ROOT

    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> list[str]:
        return [line.strip("│").rstrip() for line in shown(app).splitlines()]

    lines = driven(open_evidence(str(ROOT / "tests" / "texts" / "faulty" / "container-runtime.txt")), look)
    at = next(number for number, line in enumerate(lines) if "sudo nvidia-ctk runtime configure" in line)
    assert lines[at].startswith("   sudo nvidia-ctk")
    assert lines[at + 1] == "     restart docker"
    assert lines[at + 2] == " because of container-runtime-message; Enter shows why"


def test_there_is_a_key_for_every_screen() -> None:
    assert len(AREAS) <= len(KEYS)
    assert len({area.module for area in AREAS}) == len({area.name for area in AREAS}) == len(AREAS)

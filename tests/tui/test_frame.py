"""What stands around all screens: the bar of screens, the bar of keys, the help; what is offered is possible."""

from __future__ import annotations

import re
from typing import Any

import pytest
from textual.pilot import Pilot

from rocdoctor.service.evidence import open_evidence
from rocdoctor.tui.app import RocdoctorApp
from rocdoctor.tui.areas import AREAS, KEYS
from rocdoctor.tui.help.screen import HelpPanel, page_keys
from rocdoctor.tui.page import AreaBar
from rocdoctor.tui.topology.screen import TopologyPage
from rocdoctor.tui.widgets.key_line import KeyLine
from tests.kit import ROOT
from tests.tui.kit import driven, fixture_host, shown
from tools.docs.pictures import settled


def test_the_help_closes_and_the_app_goes_on() -> None:
    async def close(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        for key in ("q", "escape", "enter", "question_mark"):
            await pilot.press("question_mark")
            assert isinstance(app.screen, HelpPanel), key
            await pilot.press(key)
            await pilot.pause()
            assert app.is_running, key
            assert not isinstance(app.screen, HelpPanel), key

    driven(fixture_host("recorded-cpu-vm"), close)


def test_all_screens_stand_in_their_bar_and_can_be_clicked_and_the_key_bar_is_closer_where_it_is_narrow() -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        for width in (60, 66, 100, 62, 80):
            await pilot.resize_terminal(width, 16)
            for module, name in (("bundle", "Bundle"), ("paste", "Paste"), ("findings", "Findings")):
                await settled(app, pilot)
                bar = shown(app).splitlines()[1]
                key = next(key for key, area in zip(KEYS, AREAS, strict=False) if area.module == module)
                await pilot.click(app.screen.query_one(AreaBar), offset=(bar.index(key), 0))
                await settled(app, pilot)
                assert app.current_mode == module, width
                assert re.search(rf"{key} ?{name}\b", shown(app).splitlines()[1]), width
            if width > 60:
                assert shown(app).splitlines()[-1].endswith(" q Quit"), width
            assert app.screen.query_one(KeyLine).compact == (width < 80)

    driven(fixture_host("recorded-cpu-vm"), look, (60, 16))


def test_help_and_quit_are_in_the_key_bar_of_every_screen_at_every_width() -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        for key in KEYS[: len(AREAS) - 2]:  # in the last two, letters are typed
            await pilot.press(key)
            for width in (60, 62, 80, 66):
                await pilot.resize_terminal(width, 16)
                await settled(app, pilot)
                bar = shown(app).splitlines()[-1]
                assert bar.endswith("q Quit") and "? Help" in bar, (key, width, bar)
                wide = width >= 80 and app.current_mode == "setup"
                assert not wide or "w Write" in bar, "what was left out is there again"

    driven(fixture_host("faulty/rx7900xtx-2gpu-old-guide"), look, (62, 20))


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


def test_keys_of_gpus_are_offered_where_there_are_some_and_hidden_details_stay_hidden() -> None:
    offered = {
        "recorded-cpu-vm": (0, {"↑↓": "Scroll"}),
        "rx6700xt-override": (1, {"↑↓": "the next GPU or the one before; then scroll"}),
        "mi300x-8gpu": (8, {"m": "to the links between GPUs"}),
    }

    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await pilot.press("3")
        for name, (gpus, keys) in offered.items():
            app.open(fixture_host(name))
            await settled(app, pilot)
            assert isinstance(app.screen, TopologyPage)
            bar = shown(app).splitlines()[-1]
            assert keys.items() <= dict(page_keys(app.screen)).items()
            assert ("GPU" in bar, "Details" in bar, "Links" in bar) == (gpus > 0, gpus > 0, gpus > 1), name
            assert ("Scroll" in bar) == (gpus == 0), name
        await pilot.press("d", "r")  # asked again
        await settled(app, pilot)
        assert app.screen.has_class("closed")
        await pilot.press("d")
        assert not app.screen.has_class("closed")

    driven(fixture_host("rx6700xt-override"), look)


def test_the_overview_says_do_first_once_offers_to_copy_what_is_there_and_continues_a_command_below_itself() -> None:
    texts = ROOT / "tests" / "texts" / "faulty"
    cases = (
        ("recorded-cpu-vm", "do next", False),
        ("h100-8gpu", "in short", False),
        ("faulty/rx7900xtx-2gpu-old-guide", "what is wrong", True),
        ("faulty/mi300x-8gpu-tired", "what is wrong", True),
    )

    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        for name, title, copies in cases:
            app.open(fixture_host(name))
            await settled(app, pilot)
            text = shown(app)
            assert text.splitlines()[2].startswith(f"╭─ {title} ─"), name
            assert text.lower().count("do first") == (title == "what is wrong"), name
            assert ("c Copy" in text.splitlines()[-1]) == copies, name
        app.open(open_evidence(str(texts / "container-runtime.txt")))
        await settled(app, pilot)
        lines = [line.strip("│").rstrip() for line in shown(app).splitlines()]
        at = next(number for number, line in enumerate(lines) if "sudo nvidia-ctk runtime configure" in line)
        assert lines[at].startswith("   sudo nvidia-ctk")
        assert lines[at + 1] == "     restart docker"
        assert lines[at + 2] == " because of container-runtime-message; Enter shows why"

    driven(fixture_host("rx6700xt-override"), look)


def test_there_is_a_key_for_every_screen() -> None:
    assert len(AREAS) <= len(KEYS)
    assert len({area.module for area in AREAS}) == len({area.name for area in AREAS}) == len(AREAS)

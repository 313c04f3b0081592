"""No line that people read is cut, wrapped to the border or covered, in 80 columns."""

from __future__ import annotations

from dataclasses import replace
from time import monotonic
from typing import Any

from textual.notifications import Notification
from textual.pilot import Pilot
from textual.widgets import OptionList
from textual.widgets._toast import Toast
from textual.widgets.option_list import Option

from rocdoctor.tui.app import RocdoctorApp
from rocdoctor.tui.areas import AREAS, KEYS
from rocdoctor.tui.look import Look
from rocdoctor.tui.page import StateLine
from tests.tui.kit import driven, fixture_host, seen, shown

_TIRED = "faulty/mi300x-8gpu-tired"
_LONG = "Fix what check finds: The PCIe link is narrow, slow or unreliable, and more words than a row has room for"


def test_the_state_line_says_when_it_was_read_whole_or_not_at_all() -> None:
    async def drive(app: RocdoctorApp, pilot: Pilot[Any]) -> list[str]:
        found = []
        for alarm in ("", "gpu 1 edge 104 of 100 °C since 00:23:12", "gpu 1 edge 104 of 100 °C since 00:23:12, gpu 12"):
            look = replace(Look(), phase="done", asked=monotonic())
            app.screen.query_one(StateLine).say("this machine", look, True, alarm)
            await seen(pilot)
            found.append(shown(app).split("\n")[0].rstrip())
        return found

    plain, alarmed, full = driven(fixture_host(_TIRED), drive)
    assert plain[-8:].count(":") == 2
    assert " read at " in plain
    assert alarmed[-8:].count(":") == 2, alarmed
    assert full.endswith("this machine"), full


def test_a_long_step_of_the_set_up_stays_in_its_row() -> None:
    async def drive(app: RocdoctorApp, pilot: Pilot[Any]) -> list[str]:
        await pilot.press(KEYS[[area.module for area in AREAS].index("setup")])
        await seen(pilot)
        steps = app.screen.query_one("#setup-list", OptionList)
        steps.clear_options()
        steps.add_options([Option(f" 1 now     {_LONG}"), Option(" 2 done    another")])
        await seen(pilot)
        return shown(app).split("\n")

    lines = driven(fixture_host(_TIRED), drive)
    at = next(at for at, line in enumerate(lines) if "1 now     Fix what" in line)
    assert lines[at].rstrip("▁▂▃▄▅▆▇ ").endswith("…"), lines[at]
    assert "2 done" in lines[at + 1]


def test_the_findings_of_one_gpu_say_so_on_a_line_of_their_own() -> None:
    async def drive(app: RocdoctorApp, pilot: Pilot[Any]) -> list[str]:
        await pilot.press(KEYS[[area.module for area in AREAS].index("thermals")])
        await seen(pilot)
        await pilot.press("enter")
        await seen(pilot)
        return shown(app).split("\n")

    lines = driven(fixture_host(_TIRED), drive)
    assert lines[3].startswith(" gpu 3 (0000:6a:00.0) only (Escape: all)"), lines[2:5]


def test_words_in_the_corner_take_one_line_where_they_fit() -> None:
    async def drive(app: RocdoctorApp, pilot: Pilot[Any]) -> list[int]:
        await app.screen.mount(Toast(Notification("00:22:27 gpu 1: edge has reached its limit of 100 °C")))
        await seen(pilot)
        return [one.outer_size.height for one in app.screen.query(Toast)]

    assert driven(fixture_host(_TIRED), drive) == [1]

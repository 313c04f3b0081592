"""What screens say while nothing is known yet, and that they count alike."""

from __future__ import annotations

import re
from typing import Any

import pytest
from textual.pilot import Pilot

from rocdoctor.tui.app import RocdoctorApp
from rocdoctor.tui.areas import AREAS, KEYS
from rocdoctor.tui.findings.findings_list import sections, state_counts
from rocdoctor.tui.look import Look
from rocdoctor.tui.overview.drawing import counts
from rocdoctor.tui.overview.screen import OverviewPage
from rocdoctor.tui.widgets.flow import FlowText
from tests.tui.kit import driven, examined, fixture_host, seen, shown, until


@pytest.mark.parametrize("name", ["faulty/rx7900xtx-2gpu-old-guide", "faulty/mi300x-8gpu-tired"])
def test_the_overview_and_the_findings_count_alike(name: str) -> None:
    looks: list[Look] = []
    examined(fixture_host(name), looks.append, lambda: False)
    diagnosis = looks[-1].diagnosis
    assert diagnosis is not None
    said = {words: int(number) for number, words in re.findall(r"(\d+) ([a-z ]+)", counts(diagnosis, 200).plain)}
    listed = state_counts(sections(diagnosis, False))
    assert said["passed"] == listed["pass"] > 0
    assert said["unknown"] == listed["unknown"] > 0
    assert said["not applicable"] == listed["not-applicable"] > 0


def test_a_screen_that_waits_says_so_and_not_that_it_asks_a_machine_where_it_reads_a_file() -> None:
    words = {"findings": "Still looking", "topology": "Looking ...", "recommend": "Waiting for", "setup": "Looking ..."}
    words["bundle"] = "Waiting until all questions are answered"

    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        app.look = Look()
        await seen(pilot)
        assert "looking ..." in shown(app) and "asking" not in shown(app).lower()
        for area, said in words.items():
            await pilot.press(KEYS[[one.module for one in AREAS].index(area)])
            await until(pilot, lambda said=said: said in shown(app))  # type: ignore[misc]

    driven(fixture_host("recorded-cpu-vm"), look)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("mi250-4module", "each a die (GCD) of a card"),
        ("mi300x-8gpu-cpx", "64 partitions"),
    ],
)
def test_the_overview_says_what_each_gpu_is_a_part_of(name: str, words: str) -> None:
    """Eight dies are no eight cards, and partitions are more than the GPUs."""

    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: words in " ".join(shown(app).split()))

    driven(fixture_host(name), look, (120, 40))


def test_no_screen_has_the_words_that_newcomers_stumbled_over() -> None:
    """A setting is removed and not "set no more", values are read and not "looks", MFU is explained where it stands."""
    odd = re.compile(r"\bSet \S+ no more\b|\b\d+ looks\b|Ask everything again|--seq states|states another")
    said: dict[str, str] = {}

    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await seen(pilot)
        await pilot.press("?")
        await until(pilot, lambda: "Escape or q closes" in shown(app))
        said["help"] = shown(app)
        await pilot.press("escape")
        for key, area in zip(KEYS, AREAS, strict=False):
            await pilot.press(key)
            await seen(pilot)
            if area.module == "recommend":
                await pilot.press("enter")
                await until(pilot, lambda: "MFU" in shown(app))
            said[area.module] = shown(app)

    driven(fixture_host("faulty/rx7900xtx-2gpu-old-guide"), look, (160, 120))
    assert len(set(said.values())) == len(AREAS) + 1
    assert {name: odd.findall(text) for name, text in said.items() if odd.search(text)} == {}
    assert "MFU is the share" in said["recommend"]


def test_no_panel_is_empty_while_nothing_is_known_nor_where_the_look_failed() -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        page = app.screen
        panels = [page.query_one(f"#{name}", FlowText) for name in ("gpus", "links", "next")]
        assert isinstance(page, OverviewPage)
        await seen(pilot)
        page._forget()
        await seen(pilot)
        said = [str(panel.content) for panel in panels if panel.display]
        assert len(said) > 1 and set(said) == {"looking ..."}
        page.show(Look(phase="failed", problem="made up"))
        await seen(pilot)
        assert {str(panel.content) for panel in panels if panel.display} == {"unknown"}

    driven(fixture_host("recorded-cpu-vm"), look, (120, 30))

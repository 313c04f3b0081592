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

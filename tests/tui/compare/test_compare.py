"""The screen that compares: what ``rocdoctor diff`` prints, for the evidence that a person names."""

from __future__ import annotations

from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from rocdoctor.cli.main import run
from rocdoctor.tui.app import RocdoctorApp
from rocdoctor.tui.compare.screen import ComparePage
from rocdoctor.tui.widgets.ask import Ask
from tests.kit import ROOT
from tests.tui.kit import driven, fixture_host, shown, until

_OTHER = str(ROOT / "fixtures" / "rx7900xtx-2gpu.capture")
_THIS = ROOT / "fixtures" / "faulty" / "rx7900xtx-2gpu-old-guide.capture"


async def _open(app: RocdoctorApp, pilot: Pilot[Any], path: str) -> None:
    await pilot.press("o")
    await until(pilot, lambda: isinstance(app.screen, Ask))
    app.screen.query_one(Input).value = path
    await pilot.press("enter")


def test_it_says_what_the_command_says_and_an_unreadable_file_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    async def drive(app: RocdoctorApp, pilot: Pilot[Any]) -> str:
        await pilot.press("0")
        await until(pilot, lambda: "rocdoctor diff" in shown(app))
        await _open(app, pilot, "/nowhere/at/all")
        await until(pilot, lambda: "Not readable: " in shown(app))
        await _open(app, pilot, _OTHER)
        await until(pilot, lambda: "device-node-denied" in shown(app))
        await _open(app, pilot, "/nowhere/at/all")
        await until(pilot, lambda: "Below is the last comparison." in shown(app))
        assert "device-node-denied" in shown(app)
        assert isinstance(app.screen, ComparePage)
        await pilot.press("y")
        return app.clipboard

    copied = driven(fixture_host("faulty/rx7900xtx-2gpu-old-guide"), drive, (120, 50))
    assert run(["diff", _OTHER, str(_THIS)]) == 1
    printed = capsys.readouterr().out
    there = fixture_host("faulty/rx7900xtx-2gpu-old-guide").origin
    assert copied.split() == printed.replace(str(_THIS), there).split()

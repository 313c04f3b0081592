"""Applying a fix from its finding: the change is shown and asked for, copied, done, taken back; or refused and said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from rocdoctor.host.base import Answer
from rocdoctor.host.overlay import OverlayHost
from rocdoctor.tui.app import RocdoctorApp
from rocdoctor.tui.findings import mending
from rocdoctor.tui.findings.screen import FindingsPage
from tests.repair.fixes.fix_kit import BASHRC, Scratch
from tests.tui.kit import driven, fixture_host, shown, until
from tests.tui.thermals.live_kit import LiveFixture

_NUMA = "numa-balancing-on"
_BALANCING = "read /proc/sys/kernel/numa_balancing"


class Box(LiveFixture):
    """A live machine whose kernel value is that of the scratch root."""

    def __init__(self, scratch: Scratch, name: str) -> None:
        super().__init__(name)
        self.value = scratch.root / "proc/sys/kernel/numa_balancing"

    def ask(self, question: str) -> Answer:
        if question == _BALANCING:
            return Answer(question, "ok", self.value.read_bytes())
        return super().ask(question)


@pytest.fixture
def scratch(tmp_path: Path) -> Scratch:
    return Scratch(tmp_path)


def _here(monkeypatch: pytest.MonkeyPatch, scratch: Scratch, privileged: bool) -> None:
    monkeypatch.setattr(mending, "this_machine", lambda: scratch.place(privileged=privileged))


async def _open(app: RocdoctorApp, pilot: Pilot[Any], check: str) -> FindingsPage:
    assert app.look.diagnosis is not None
    await pilot.press("2")
    await until(pilot, lambda: isinstance(app.screen, FindingsPage) and app.screen.row is not None)
    page = app.screen
    assert isinstance(page, FindingsPage)
    for _ in range(30):
        if page.row is not None and page.row.check == check:
            return page
        await pilot.press("down")
    raise AssertionError(f"no row of {check}")


def test_a_kernel_value_is_shown_asked_for_written_and_taken_back(
    scratch: Scratch, monkeypatch: pytest.MonkeyPatch
) -> None:
    _here(monkeypatch, scratch, privileged=True)
    host = Box(scratch, "mi300x-8gpu")

    async def drive(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await _open(app, pilot, _NUMA)
        await until(pilot, lambda: "x Fix" in shown(app))
        assert "u Undo" not in shown(app)
        await pilot.press("x")
        await until(pilot, lambda: "write 0 to /proc/sys/kernel/numa_balancing (now 1)" in shown(app))
        await pilot.press("n")
        await until(pilot, lambda: "apply the fix of" not in shown(app))
        assert host.value.read_text() == "1\n", "no means no"
        await pilot.press("x")
        await until(pilot, lambda: "apply the fix of" in shown(app))
        await pilot.press("y")
        await until(pilot, lambda: host.value.read_text().strip() == "0")
        await until(pilot, lambda: "u Undo" in shown(app))
        await until(pilot, lambda: not app.look.busy and _NUMA not in _found(app))
        await pilot.press("u")
        await until(pilot, lambda: host.value.read_text().strip() == "1")
        await until(pilot, lambda: not app.look.busy and _NUMA in _found(app))
        assert "u Undo" not in shown(app)

    driven(host, drive, (120, 40))


def _found(app: RocdoctorApp) -> set[str]:
    assert app.look.diagnosis is not None
    return {one.check for one in app.look.diagnosis.verdicts if one.finding is not None}


def test_a_fix_that_needs_root_is_refused_in_words_and_changes_nothing(
    scratch: Scratch, monkeypatch: pytest.MonkeyPatch
) -> None:
    _here(monkeypatch, scratch, privileged=False)
    said: list[str] = []
    host = Box(scratch, "mi300x-8gpu")

    async def drive(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        page = await _open(app, pilot, _NUMA)
        monkeypatch.setattr(page, "notify", lambda words, **_: said.append(words))
        await pilot.press("x")
        await until(pilot, lambda: said)
        assert "it needs root" in said[0] and "c copies the command" in said[0]
        assert host.value.read_text() == "1\n" and not scratch.state.exists()

    driven(host, drive, (120, 40))


def test_what_broke_off_is_said_and_can_be_taken_back(scratch: Scratch, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel holds the new value, and then the program fails: that is not "not applied"."""
    _here(monkeypatch, scratch, privileged=True)
    host = Box(scratch, "mi300x-8gpu")

    def breaks(path: Path) -> str:
        if path.read_text().strip() == "0":
            raise OSError("read error")
        return path.read_text().strip()

    async def drive(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        page = await _open(app, pilot, _NUMA)
        await pilot.press("x")
        await until(pilot, lambda: "apply the fix of" in shown(app))
        with monkeypatch.context() as broken:
            broken.setattr("rocdoctor.repair.fixes.apply.read_kernel", breaks)
            await pilot.press("y")
            await until(pilot, lambda: "broke off" in str(page.query_one("#verification").render()))
        assert host.value.read_text().strip() == "0"
        await until(pilot, lambda: "u Undo" in shown(app))
        await pilot.press("down")
        await pilot.press("u")
        await until(pilot, lambda: host.value.read_text().strip() == "1")
        await until(pilot, lambda: f"the fix of {_NUMA}:" in str(page.query_one("#verification").render()))

    driven(host, drive, (120, 40))


def test_the_lines_of_a_file_that_would_change_are_shown_before_the_question(
    scratch: Scratch, monkeypatch: pytest.MonkeyPatch
) -> None:
    _here(monkeypatch, scratch, privileged=False)
    host = LiveFixture("faulty/rx7900xtx-2gpu-old-guide")

    async def drive(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        page = await _open(app, pilot, "gfx-override-mismatch")
        await pilot.press("x")
        await until(pilot, lambda: "apply the fix of" in shown(app))
        assert "-    export HSA_OVERRIDE_GFX_VERSION=10.3.0" in shown(app)
        assert "switch off line 5 of ~/.bashrc" in shown(app)
        await pilot.press("y")
        bashrc = scratch.home / ".bashrc"
        await until(pilot, lambda: bashrc.read_text() != BASHRC)
        await until(pilot, lambda: "rocdoctor fix --undo" in str(page.query_one("#verification").render()))
        await pilot.press("u")
        await until(pilot, lambda: bashrc.read_text() == BASHRC)

    driven(host, drive, (120, 50))


def test_other_evidence_has_no_key_to_change_this_machine() -> None:
    log = Answer(_BALANCING, "ok", b"1\n")

    async def drive(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        page = await _open(app, pilot, _NUMA)
        assert "x Fix" not in shown(app) and not page.check_action("apply", ())

    driven(OverlayHost(fixture_host("mi300x-8gpu"), {log.question: log}), drive, (120, 40))

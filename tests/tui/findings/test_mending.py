"""Applying a fix from its finding: the change is shown and asked for, copied, done, taken back; or refused and said."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from rocdoctor.host.base import Answer
from rocdoctor.host.overlay import OverlayHost
from rocdoctor.model.change import KernelValue, Unset
from rocdoctor.model.finding import Fix
from rocdoctor.tui.app import RocdoctorApp
from rocdoctor.tui.findings import mending
from rocdoctor.tui.findings.applying import prepare, question
from rocdoctor.tui.findings.screen import FindingsPage
from rocdoctor.tui.widgets.ask import Confirm
from tests.repair.fixes.fix_kit import BASHRC, Scratch, work
from tests.tui.findings.finding_kit import diagnosis_of, failed
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
        await until(pilot, lambda: "F Fix" in shown(app))
        assert "u Undo" not in shown(app)
        await pilot.press("F")
        await until(pilot, lambda: "write 0 to /proc/sys/kernel/numa_balancing (now 1)" in shown(app))
        await pilot.press("n")
        await until(pilot, lambda: "apply the fix of" not in shown(app))
        assert host.value.read_text() == "1\n", "no means no"
        await pilot.press("F")
        await until(pilot, lambda: "apply the fix of" in shown(app))
        await pilot.press("y")
        await until(pilot, lambda: host.value.read_text().strip() == "0")
        await until(pilot, lambda: "u Undo" in shown(app))
        await until(pilot, lambda: not app.look.busy and _NUMA not in _found(app))
        await until(pilot, lambda: f"passed  {_NUMA}" in shown(app))  # in sight as long as it can be taken back
        assert "wrote 0 to /proc/sys/kernel/numa_balancing" in shown(app)
        await pilot.press("u")
        await until(pilot, lambda: f"take back the fix of {_NUMA}?" in shown(app))
        assert "write 1 to /proc/sys/kernel/numa_balancing again" in shown(app)
        await pilot.press("n")
        await until(pilot, lambda: "take back the fix of" not in shown(app))
        assert host.value.read_text().strip() == "0", "no means no"
        await _yes_to(app, pilot, "u", "take back the fix of")
        await until(pilot, lambda: host.value.read_text().strip() == "1")
        await until(pilot, lambda: not app.look.busy and _NUMA in _found(app))
        await until(pilot, lambda: "u Undo" not in shown(app))

    driven(host, drive, (120, 40))


async def _yes_to(app: RocdoctorApp, pilot: Pilot[Any], key: str, question: str) -> None:
    await pilot.press(key)
    await until(pilot, lambda: isinstance(app.screen, Confirm) and question in shown(app))
    await until(pilot, lambda: not app.screen.query_one("#ask-yes").disabled)
    await pilot.press("y")
    await until(pilot, lambda: isinstance(app.screen, FindingsPage) and not app.screen.holds and not app.look.busy)


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
        await pilot.press("F")
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
        await pilot.press("F")
        await until(pilot, lambda: "apply the fix of" in shown(app))
        with monkeypatch.context() as broken:
            broken.setattr("rocdoctor.repair.fixes.apply.read_kernel", breaks)
            await pilot.press("y")
            await until(pilot, lambda: "broke off" in str(page.query_one("#verification").render()))
        assert host.value.read_text().strip() == "0"
        await until(pilot, lambda: "u Undo" in shown(app))
        await pilot.press("u")
        await until(pilot, lambda: "take back the fix of" in shown(app))
        await pilot.press("y")
        await until(pilot, lambda: host.value.read_text().strip() == "1")

    driven(host, drive, (120, 40))


def test_the_lines_of_a_file_that_would_change_are_shown_before_the_question(
    scratch: Scratch, monkeypatch: pytest.MonkeyPatch
) -> None:
    _here(monkeypatch, scratch, privileged=False)
    host = LiveFixture("faulty/rx7900xtx-2gpu-old-guide")

    async def drive(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        page = await _open(app, pilot, "gfx-override-mismatch")
        await pilot.press("F")
        await until(pilot, lambda: "apply the fix of" in shown(app))
        assert "-    export HSA_OVERRIDE_GFX_VERSION=10.3.0" in shown(app)
        assert "switch off line 5 of ~/.bashrc" in shown(app)
        await pilot.press("y")
        bashrc = scratch.home / ".bashrc"
        await until(pilot, lambda: bashrc.read_text() != BASHRC)
        await until(pilot, lambda: "rocdoctor fix --undo" in str(page.query_one("#verification").render()))
        await _yes_to(app, pilot, "u", "bring ~/.bashrc back as it was before")
        await until(pilot, lambda: bashrc.read_text() == BASHRC)

    driven(host, drive, (120, 50))


def test_other_evidence_has_no_key_to_change_this_machine() -> None:
    log = Answer(_BALANCING, "ok", b"1\n")

    async def drive(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        page = await _open(app, pilot, _NUMA)
        assert "F Fix" not in shown(app) and not page.check_action("apply", ())

    driven(OverlayHost(fixture_host("mi300x-8gpu"), {log.question: log}), drive, (120, 40))


_GUIDE = "faulty/rx7900xtx-2gpu-old-guide"
_OVERRIDE, _DENIED = "gfx-override-mismatch", "device-node-denied"


async def _go(app: RocdoctorApp, pilot: Pilot[Any], check: str) -> FindingsPage:
    page = app.screen
    assert isinstance(page, FindingsPage)
    await until(pilot, lambda: page.row is not None and page.focused is page.query_one("#list"))
    await pilot.press("home")
    for _ in range(30):
        if page.row is not None and page.row.check == check:
            return page
        await pilot.press("down")
    raise AssertionError(f"no row of {check}")


def _panel(page: FindingsPage) -> str:
    return str(page.query_one("#verification").render())


def test_each_row_takes_back_its_own_fix_in_any_order(scratch: Scratch, monkeypatch: pytest.MonkeyPatch) -> None:
    _here(monkeypatch, scratch, privileged=True)
    scratch.groups()
    bashrc, group = scratch.home / ".bashrc", scratch.root / "etc/group"
    groups = group.read_text()

    async def drive(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        page = await _open(app, pilot, _OVERRIDE)
        await _yes_to(app, pilot, "F", f"apply the fix of {_OVERRIDE}?")
        assert bashrc.read_text() != BASHRC
        await _go(app, pilot, _DENIED)
        assert not page.check_action("undo", ()) and "u takes it back" not in _panel(page), "nothing was done here"
        await pilot.press("u")
        await _yes_to(app, pilot, "F", f"apply the fix of {_DENIED}?")
        assert "alice" in group.read_text()

        await _go(app, pilot, _OVERRIDE)
        assert "u takes it back" in _panel(page)
        await _yes_to(app, pilot, "u", "bring ~/.bashrc back as it was before")
        assert bashrc.read_text() == BASHRC and "alice" in group.read_text()
        await _go(app, pilot, _OVERRIDE)
        assert not page.check_action("undo", ())

        await _go(app, pilot, _DENIED)
        await _yes_to(app, pilot, "u", "run gpasswd -d alice render")
        assert group.read_text() == groups

    driven(LiveFixture(_GUIDE), drive, (120, 50))


def test_other_evidence_with_the_same_row_neither_tells_nor_takes_back_what_was_done_here(
    scratch: Scratch, monkeypatch: pytest.MonkeyPatch
) -> None:
    _here(monkeypatch, scratch, privileged=False)
    bashrc = scratch.home / ".bashrc"

    async def drive(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        page = await _open(app, pilot, _OVERRIDE)
        await _yes_to(app, pilot, "F", f"apply the fix of {_OVERRIDE}?")
        mended = bashrc.read_text()
        assert mended != BASHRC
        app.open(fixture_host(_GUIDE))
        await until(pilot, lambda: not app.look.busy and app.look.diagnosis is not None)
        await _go(app, pilot, _OVERRIDE)
        assert "changed ~/.bashrc" not in shown(app) and not page.check_action("undo", ())
        page.action_undo()
        await until(pilot, lambda: not page.holds)
        assert app.screen is page and bashrc.read_text() == mended
        app.action_earlier()
        await until(pilot, lambda: not app.look.busy and app.look.diagnosis is not None)
        await _go(app, pilot, _OVERRIDE)
        await _yes_to(app, pilot, "u", "bring ~/.bashrc back as it was before")
        assert bashrc.read_text() == BASHRC

    driven(LiveFixture(_GUIDE), drive, (120, 50))


def test_where_no_step_was_done_nothing_is_offered_to_be_taken_back(
    scratch: Scratch, monkeypatch: pytest.MonkeyPatch
) -> None:
    _here(monkeypatch, scratch, privileged=True)

    async def drive(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        page = await _open(app, pilot, _DENIED)  # there is no usermod here
        await _yes_to(app, pilot, "F", f"apply the fix of {_DENIED}?")
        assert "FAILED: " in _panel(page) and "If a step left something" in _panel(page)
        assert "u takes it back" not in _panel(page) and not page.check_action("undo", ())

    driven(LiveFixture(_GUIDE), drive, (120, 50))


def test_evidence_opened_while_the_fix_is_looked_at_ends_the_question(
    scratch: Scratch, monkeypatch: pytest.MonkeyPatch
) -> None:
    going, let = threading.Event(), threading.Event()

    def slow() -> Any:
        going.set()
        assert let.wait(60)
        return scratch.place(privileged=False)

    monkeypatch.setattr(mending, "this_machine", slow)

    async def drive(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        page = await _open(app, pilot, _OVERRIDE)
        await pilot.press("F")
        await until(pilot, going.is_set)
        app.open(fixture_host(_GUIDE))
        await until(pilot, lambda: not app.look.busy and app.look.diagnosis is not None)
        let.set()
        await until(pilot, lambda: not page.holds)
        assert app.screen is page, "no question about this machine over another one's evidence"

    driven(LiveFixture(_GUIDE), drive, (120, 50))


def test_a_question_lists_all_steps_before_the_lines_that_change(scratch: Scratch) -> None:
    path = "/" + "very-long" * 40
    scratch.file("home/alice/.bashrc", f"A={path}\nexport HSA_OVERRIDE_GFX_VERSION=10.3.0\n")
    place = scratch.place(privileged=True)
    changes = (Unset("HSA_OVERRIDE_GFX_VERSION"), KernelValue("/proc/sys/kernel/numa_balancing", "0"))
    asked = question(work(changes, place), place).splitlines()
    assert asked[:2] == [
        "1. switch off line 2 of ~/.bashrc",
        "2. write 0 to /proc/sys/kernel/numa_balancing (now 1)",
    ]
    assert asked.index("~/.bashrc:") > 2 and "  -export HSA_OVERRIDE_GFX_VERSION=10.3.0" in asked
    assert all(len(one) < 130 for one in asked), "a line that stays is shortened"


def test_more_than_can_be_read_is_refused(scratch: Scratch) -> None:
    line = "export HSA_OVERRIDE_GFX_VERSION=10.3.0  # " + "x" * 200
    scratch.file("home/alice/.bashrc", "\n".join([line] * 200) + "\n")
    found = failed("a-check", "words")
    assert found.finding is not None
    fix = Fix("words", "unset HSA_OVERRIDE_GFX_VERSION", "safe", changes=(Unset("HSA_OVERRIDE_GFX_VERSION"),))
    finding = replace(found.finding, fix=fix, confidence="certain")
    diagnosis = diagnosis_of((replace(found, finding=finding),))
    prepared = prepare(finding, "a-check", diagnosis, scratch.place())
    assert prepared is not None and not prepared.possible and "changes too much to show" in prepared.refusal

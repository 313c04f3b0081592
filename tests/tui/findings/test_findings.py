"""The screen of findings, driven: moving, filtering, copying, verifying; what stays when things change."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from rocdoctor.host.base import Answer, Host
from rocdoctor.host.recorder import Recorder
from rocdoctor.model.finding import Evidence, Fix
from rocdoctor.model.shell_command import ShellCommand
from rocdoctor.tui.app import RocdoctorApp
from rocdoctor.tui.findings.filter_bar import FilterPanel
from rocdoctor.tui.findings.finding_options import FindingOptions
from rocdoctor.tui.findings.findings_list import Filter
from rocdoctor.tui.findings.screen import FindingsPage
from rocdoctor.tui.look import Look
from tests.golden.replay import host_of, judged
from tests.tui.findings.finding_kit import BROKEN, LiveCapture, diagnosis_of, failed, many, recorded
from tests.tui.kit import SIZES, WIDE, fixture_host, same_picture, shown, until
from tools.docs.pictures import settled

Drive = Callable[[RocdoctorApp, Pilot[Any], FindingsPage], Awaitable[None]]
OVERRIDE = "override of another family"


def _driven(
    host: Host, drive: Drive, size: tuple[int, int] = (80, 24), again: Callable[[], Host] | None = None
) -> None:
    """Open the screen of findings and do what the test does."""

    async def run() -> None:
        app = RocdoctorApp(host, again)
        app.animation_level = "none"
        async with app.run_test(size=size) as pilot:
            await settled(app, pilot)
            await pilot.press("2")
            await settled(app, pilot)
            assert isinstance(app.screen, FindingsPage)
            await drive(app, pilot, app.screen)

    asyncio.run(run())


async def _press(app: RocdoctorApp, pilot: Pilot[Any], *keys: str) -> str:
    await pilot.press(*keys)
    await settled(app, pilot)
    return shown(app)


# -- pictures


@pytest.mark.parametrize("size", SIZES)
def test_a_broken_machine_looks_as_it_should(request: pytest.FixtureRequest, size: tuple[int, int]) -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any], page: FindingsPage) -> None:
        await same_picture(request, app, pilot, "findings-GPU-fell-off-the-bus")

    _driven(BROKEN["GPU fell off the bus"](), look, size)


_UNKNOWN = {"amdgpu-parameter-unknown", "gpu-fell-off-bus", "gpu-firmware-boot-failed", "hardware-error-log"}


def test_unknown_verdicts_look_as_they_should(request: pytest.FixtureRequest) -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any], page: FindingsPage) -> None:
        told = app.look.diagnosis
        assert told is not None
        few = tuple(one for one in told.verdicts if one.check in _UNKNOWN)  # a new check changes no picture
        app.look = replace(app.look, diagnosis=replace(told, verdicts=few))
        await _press(app, pilot, "f", "n", "n", "n")
        await same_picture(request, app, pilot, "findings-unknown")

    _driven(fixture_host("mi300x-8gpu"), look, WIDE)


# -- states without findings


def test_nothing_wrong_looking_and_a_failure_are_said_with_how_much_was_looked_at() -> None:
    known = judged(host_of("h100-8gpu"))
    assert known.count("pass") > 200

    async def look(app: RocdoctorApp, pilot: Pilot[Any], page: FindingsPage) -> None:
        text = shown(app)
        assert "Nothing to fix." in text
        assert f"{known.count('pass')} passed" in text
        assert f"{known.count('unknown')} unknown" in text
        assert "The key f shows them" in text
        assert "unknown: not enough evidence" in await _press(app, pilot, "f")
        app.look = Look(waiting=("run amd-smi static --json",))
        await pilot.pause()
        assert "Still looking" in shown(app)
        assert "waiting for run amd-smi static --json" in shown(app)
        app.look = Look(phase="failed", problem="ValueError: x")
        await pilot.pause()
        assert "rocdoctor itself failed: ValueError: x" in shown(app)
        for key in ("v", "c", "y", "n", "enter", "f"):
            await pilot.press(key)  # nothing to do anything with
        assert app.is_running

    _driven(fixture_host("h100-8gpu"), look)


# -- moving


def test_keys_move_and_enter_gives_the_page_alone() -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any], page: FindingsPage) -> None:
        names = [row.check for row in page.query_one(FindingOptions).rows]
        assert page.row is not None
        assert page.row.check == names[0] == "gpu-fell-off-bus"
        await _press(app, pilot, "n")
        assert page.row.check == names[1]
        assert f"error  {names[1]}" in shown(app)
        before = await _press(app, pilot, "down", "p")
        assert page.row.check == names[1]
        text = await _press(app, pilot, "enter")
        assert "do first: " in before
        assert "do first: " not in text.replace("the one to do first: ", "")
        assert "Escape: back to the list" in text
        assert "Fix  needs a reboot" in text
        before = shown(app)
        assert await _press(app, pilot, "space") != before
        assert await _press(app, pilot, "backspace") == before
        await _press(app, pilot, "n")
        assert f"error  {names[2]}" in shown(app)
        assert "do first" in await _press(app, pilot, "escape")
        assert page.row.check == names[2]
        await _press(app, pilot, "escape")
        assert app.current_mode == "overview"

    _driven(BROKEN["GPU fell off the bus"](), look)


def test_words_are_searched_while_they_are_typed_and_kept_or_cleared() -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any], page: FindingsPage) -> None:
        await _press(app, pilot, "c")
        assert app.clipboard == ""
        assert [one.message for one in app._notifications] == ["this fix has no command; y copies the whole page"]
        text = await _press(app, pilot, "slash", *"xid")
        assert "text: 'xid'" in text
        assert "nvidia-xid" in text
        assert "gpu-fell-off-bus" not in text.split("Enter: only this page")[0]
        await _press(app, pilot, "enter")
        assert not page.query_one(Input).has_class("open")
        assert "text: 'xid'" in shown(app)
        text = await _press(app, pilot, "slash", *"qq")  # the line is selected, so that typing begins anew
        assert "Nothing matches the filter: state found, text 'qq'." in text
        text = await _press(app, pilot, "escape")
        assert "text: any" in text
        assert "gpu-fell-off-bus" in text
        assert page.focused is page.query_one(FindingOptions)
        await _press(app, pilot, "n")
        app.look = replace(app.look, diagnosis=diagnosis_of([failed("other", "Another thing.")]))
        await settled(app, pilot)  # a row that goes leaves the cursor on the first
        assert page.row is not None
        assert page.row.check == "other"

    _driven(BROKEN["GPU fell off the bus"](), look)


def test_the_row_the_filter_and_the_place_survive_what_happens() -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any], page: FindingsPage) -> None:
        await _press(app, pilot, "f", "pagedown", "pagedown", "space")
        row, detail = page.row, page.query_one("#detail")
        assert row is not None
        place, list_place = detail.scroll_offset, page.query_one(FindingOptions).scroll_offset
        assert place.y > 0
        assert list_place.y > 0
        app.look = replace(app.look, preliminary=True)
        await settled(app, pilot)
        await _press(app, pilot, "1", "2")
        again = judged(app.host)
        app.look = replace(app.look, diagnosis=again, preliminary=False)
        await settled(app, pilot)
        assert page.row is not None
        assert page.row.key == row.key
        assert (detail.scroll_offset, page.query_one(FindingOptions).scroll_offset) == (place, list_place)
        await pilot.resize_terminal(200, 60)
        await settled(app, pilot)
        assert page.row.key == row.key
        await pilot.resize_terminal(80, 24)
        await settled(app, pilot)
        assert (page.row.key, page.query_one(FilterPanel).filter) == (row.key, Filter("unknown"))

    _driven(fixture_host("mi300x-8gpu"), look)


def test_asking_everything_again_returns_to_the_same_row() -> None:
    broken = BROKEN["GPU fell off the bus"]()

    async def look(app: RocdoctorApp, pilot: Pilot[Any], page: FindingsPage) -> None:
        await _press(app, pilot, "s", "n", "n")
        row = page.row
        assert row is not None
        assert row.check == "nvidia-xid"
        app.look = Look()
        await pilot.pause()
        assert page.row is None
        await _press(app, pilot, "r")
        await until(pilot, lambda: page.row is not None)
        assert page.row is not None
        assert page.row.key == row.key
        assert page.query_one(FilterPanel).filter == Filter(severity="error")
        assert page.focused is page.query_one(FindingOptions)

    _driven(recorded(broken), look, again=lambda: recorded(broken))


def test_other_evidence_begins_anew() -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any], page: FindingsPage) -> None:
        await _press(app, pilot, "f", "slash", "g", "p", "u", "enter")
        assert page.query_one(FilterPanel).filter == Filter("unknown", text="gpu")
        app.open(BROKEN[OVERRIDE]())
        await settled(app, pilot)
        assert page.query_one(FilterPanel).filter == Filter()
        assert page.row is not None
        assert page.row.check == "gfx-override-mismatch"
        assert "Each of these GPUs is gfx1100" in shown(app)

    _driven(fixture_host("mi300x-8gpu"), look)


def test_a_list_that_was_hidden_for_a_moment_has_the_keys_again() -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any], page: FindingsPage) -> None:
        chosen = page.query_one(FindingOptions)
        for turns in range(8):  # of the loop: Textual gives the focus to another part some turns after the hiding
            page.show(Look())
            for _ in range(turns):
                await asyncio.sleep(0)
            page.show(app.look)
            await settled(app, pilot)
            assert page.focused is chosen and chosen.display, turns

    _driven(fixture_host("faulty/rx7900xtx-2gpu-old-guide"), look, WIDE)


# -- filtering


def test_the_filter_goes_through_states_severities_and_areas() -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any], page: FindingsPage) -> None:
        assert "state: found 2" in shown(app)
        assert "also 50 unknown" in shown(app)
        text = await _press(app, pilot, "s")
        assert "severity: warning" in text
        assert "pcie-link-narrow" in text
        assert "known-release-issue" not in text
        text = await _press(app, pilot, "s")
        assert "severity: info" in text
        assert "do first" not in text
        text = await _press(app, pilot, "escape", "a")
        assert "severity: all" in text
        assert "area: links" in text
        assert "known-release-issue" not in text
        text = await _press(app, pilot, "f")
        assert "state: unknown" in text
        for _ in range(3):
            text = await _press(app, pilot, "f")
        assert "state: all" in text
        text = await _press(app, pilot, "escape")
        assert "state: found 2" in text
        assert app.current_mode == "findings"
        await pilot.click("FilterBar", offset=(3, 0))  # a click does what its key does
        await settled(app, pilot)
        assert "state: unknown" in shown(app)
        line = shown(app).split("\n")[2]
        await pilot.click("FilterBar", offset=(line.index("area:"), 0))
        await settled(app, pilot)
        assert "area: GPU" in shown(app)
        await pilot.click("FilterBar", offset=(shown(app).split("\n")[2].index("text:"), 0))
        await pilot.pause()
        assert page.query_one(Input).has_focus

    _driven(BROKEN["link x4"](), look)


# -- copying


def test_the_command_and_the_whole_finding_are_copied_and_what_is_recorded_is_verified_elsewhere() -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any], page: FindingsPage) -> None:
        await _press(app, pilot, "c")
        assert app.clipboard == "unset HSA_OVERRIDE_GFX_VERSION"
        await _press(app, pilot, "y")
        assert app.clipboard.startswith("error  gfx-override-mismatch  gpu 0-1 (0000:03:00.0, 0000:06:00.0)\n")
        assert "  > 19 | gfx_target_version 110000\n" in app.clipboard
        assert "References\n" in app.clipboard
        page_text = app.clipboard
        text = await _press(app, pilot, "v")  # recorded evidence cannot be verified
        assert "not of a live machine" in text
        assert "rocdoctor check gfx-override-mismatch" in text
        assert app.clipboard == page_text, "nobody has asked for a copy yet"
        await _press(app, pilot, "v")
        assert app.clipboard == "rocdoctor check gfx-override-mismatch"

    _driven(BROKEN[OVERRIDE](), look)


# -- verifying


def test_a_fix_is_verified_in_place() -> None:
    broken, fresh = recorded(BROKEN[OVERRIDE]()), LiveCapture(host_of("rx7900xtx-2gpu"))

    async def look(app: RocdoctorApp, pilot: Pilot[Any], page: FindingsPage) -> None:
        text = await _press(app, pilot, "v")
        assert "a fix made elsewhere since then" in text
        assert "Press v again to run the check now." in text
        assert not fresh.asked
        await pilot.press("v")
        await until(pilot, lambda: "Fixed: gfx-override-mismatch passes now on gpu 0-1." in shown(app))
        assert "before  found on gpu 0-1" in shown(app)
        assert "now     not found on gpu 0-1" in shown(app)
        await _press(app, pilot, "escape")
        assert "Fixed" not in shown(app)
        assert app.current_mode == "findings"

    _driven(broken, look, again=lambda: Recorder(fresh))


def test_a_fix_that_was_not_made_is_not_called_fixed() -> None:
    broken = BROKEN["uncorrectable errors"]()

    async def look(app: RocdoctorApp, pilot: Pilot[Any], page: FindingsPage) -> None:
        await pilot.press("v")
        await until(pilot, lambda: "run the check" in shown(app) or "Not fixed" in shown(app))
        if "Not fixed" not in shown(app):
            await pilot.press("v")
        await until(pilot, lambda: "Not fixed: ras-uncorrectable still finds it on gpu 3." in shown(app))

    _driven(recorded(broken), look, (200, 60), again=lambda: Recorder(LiveCapture(broken)))


def _with_command(command: str) -> Look:
    fix = Fix("Do it.", verify=str.__new__(ShellCommand, command))
    verdict = failed("shm-too-small", "Little.", evidence=(Evidence("x", "read /proc/meminfo", 1),), fix=fix)
    return Look(phase="done", diagnosis=diagnosis_of([verdict]))


def test_a_command_is_shown_then_run_and_the_check_after_it() -> None:
    fresh = LiveCapture(host_of("mi300x-8gpu"), {"run rocminfo": Answer("run rocminfo", "ok", b"Agent 7\x1b[31m", 0)})

    async def look(app: RocdoctorApp, pilot: Pilot[Any], page: FindingsPage) -> None:
        app.look = _with_command("rocminfo")
        await settled(app, pilot)
        text = await _press(app, pilot, "v")
        assert "Press v again to run this here, and then the check:" in text
        assert "run rocminfo" not in fresh.asked
        await pilot.press("v")
        await until(pilot, lambda: "$ rocminfo" in shown(app))
        assert "run rocminfo" in fresh.asked
        assert "    Agent 7" in shown(app)
        assert "shm-too-small passes now" in shown(app)

    _driven(recorded(host_of("mi300x-8gpu")), look, again=lambda: Recorder(fresh))


def test_a_command_for_a_shell_is_copied_where_somebody_asks() -> None:
    fresh = LiveCapture(host_of("mi300x-8gpu"))

    async def look(app: RocdoctorApp, pilot: Pilot[Any], page: FindingsPage) -> None:
        app.look = _with_command("ulimit -l")
        await settled(app, pilot)
        text = await _press(app, pilot, "v")
        assert "This is for a shell" in text
        assert not fresh.asked
        assert app.clipboard == "", "nobody has asked for a copy yet"
        await pilot.press("v")
        await until(pilot, lambda: "shm-too-small passes now" in shown(app))
        assert app.clipboard == "ulimit -l"
        assert not [one for one in fresh.asked if "ulimit" in one]

    _driven(recorded(host_of("mi300x-8gpu")), look, again=lambda: Recorder(fresh))


def test_only_a_live_machine_is_asked_anew() -> None:
    bundle, live = fixture_host("h100-8gpu"), LiveCapture(host_of("h100-8gpu"))
    fresh = LiveCapture(host_of("h100-8gpu"))
    assert RocdoctorApp(bundle).again_host() is None
    assert RocdoctorApp(bundle, lambda: fixture_host("h100-8gpu")).again_host() is None
    assert RocdoctorApp(live).again_host() is None
    assert RocdoctorApp(live, lambda: fresh).again_host() is fresh


class _Hanging(LiveCapture):
    """A machine on which one question hangs until it is closed."""

    def __init__(self) -> None:
        super().__init__(host_of("mi300x-8gpu"))
        self.ended = threading.Event()

    def ask(self, question: str) -> Answer:
        if question == "run rocminfo":
            self.asked.append(question)
            assert self.ended.wait(600)  # longer than the test waits for the end
            return Answer(question, "failed")
        assert not self.ended.is_set() or question not in self.asked
        return super().ask(question)

    def close(self) -> None:
        super().close()
        self.ended.set()


def test_a_verification_that_hangs_is_shown_and_cancelled() -> None:
    hanging = _Hanging()

    async def look(app: RocdoctorApp, pilot: Pilot[Any], page: FindingsPage) -> None:
        app.look = _with_command("rocminfo")
        await settled(app, pilot)
        await _press(app, pilot, "v")
        await pilot.press("v")
        await until(pilot, lambda: "now: run rocminfo" in shown(app))
        assert "1 questions asked (Escape cancels)" in shown(app)
        await pilot.press("v")  # a second one does not start
        await pilot.press("escape")
        await until(pilot, hanging.ended.is_set)
        await settled(app, pilot)
        assert "Verifying" not in shown(app)
        assert app.current_mode == "findings"
        await until(pilot, lambda: not [one for one in threading.enumerate() if one.name == "rocdoctor-close"])
        assert len(hanging.asked) == 1

    _driven(recorded(host_of("mi300x-8gpu")), look, again=lambda: Recorder(hanging))


# -- much, and hostile


def test_many_findings_can_be_walked_through_also_while_more_come_and_hostile_words_are_text() -> None:
    bad = "[red]x[/red] [b \x1b]52;c;eA==\x07\x1b[2J\x9b5m"

    async def look(app: RocdoctorApp, pilot: Pilot[Any], page: FindingsPage) -> None:
        app.look = Look(phase="done", diagnosis=many(500))
        await settled(app, pilot)
        assert len(page.query_one(FindingOptions).rows) == 500
        await _press(app, pilot, "pagedown")
        assert page.row is not None
        assert page.row.check != "made-up-000"
        assert f" {page.row.word}  {page.row.check}" in shown(app)
        await _press(app, pilot, "end")
        assert page.row.check == "made-up-497"  # the last one that is only worth knowing
        await _press(app, pilot, "slash", *"041")
        assert [row.check for row in page.query_one(FindingOptions).rows] == ["made-up-041"]
        await _press(app, pilot, "escape", "home")
        app.look = Look(phase="done", diagnosis=many(60), preliminary=True)
        await settled(app, pilot)
        await _press(app, pilot, "home", "pagedown", "pagedown", "pagedown", "up", "up")  # not at the edge
        row, place = page.row, page.query_one(FindingOptions).scroll_offset
        assert row is not None
        assert place.y > 0
        late = failed("late", "It answered at last.", "info")
        app.look = Look(phase="done", diagnosis=diagnosis_of([*many(60).verdicts, late]))
        await settled(app, pilot)
        assert len(page.query_one(FindingOptions).rows) == 61
        assert page.row is not None
        assert (page.row.key, page.query_one(FindingOptions).scroll_offset) == (row.key, place)
        verdict = failed("made-up", bad, evidence=(Evidence(bad, bad),), subject=bad, fix=Fix(bad, bad, verify=bad))
        app.look = Look(phase="done", diagnosis=diagnosis_of([verdict]))
        await settled(app, pilot)
        text = await _press(app, pilot, "c", "y", "v", "slash", *"[red]", "enter")
        assert "[red]x[/red] [b" in text
        assert "\x1b" not in text
        assert "\x1b" not in app.clipboard

    _driven(fixture_host("h100-8gpu"), look)

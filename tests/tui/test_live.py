"""A machine that changes while the screens are open: what is new is told, what was known stays until it is replaced."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from textual.pilot import Pilot

from rocdoctor.collect import collect
from rocdoctor.host.base import Answer
from rocdoctor.host.overlay import OverlayHost
from rocdoctor.host.recorder import Recorder
from rocdoctor.parsers.own.smoke_results import to_text
from rocdoctor.tui.app import RocdoctorApp
from rocdoctor.tui.live import KeptHost, _sensors_alone, watched
from rocdoctor.tui.overview.screen import OverviewPage
from tests.tui.kit import driven, seen, shown, until
from tests.tui.smoke.smoke_kit import cpu_run, failed, passed
from tests.tui.thermals.live_kit import LiveFixture

_WIDTH = "read /sys/bus/pci/devices/{}/current_link_width"
WIDE = (200, 60)


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the app tells in its corner."""
    words: list[str] = []
    monkeypatch.setattr(RocdoctorApp, "notify", lambda self, text, **_: words.append(text))
    return words


def _narrow(host: LiveFixture, width: str) -> None:
    for asked in [one for one in host.asked if one.endswith("current_link_width")]:
        host.texts[asked] = f"{width}\n"


def _found(app: RocdoctorApp) -> set[str]:
    assert app.look.diagnosis is not None
    return {one.check for one in app.look.diagnosis.verdicts if one.finding is not None}


async def _again(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
    app._look_again()
    await until(pilot, lambda: app._again_look is None)


def test_a_link_that_falls_back_is_told_with_a_badge_and_gone_when_it_recovers(said: list[str]) -> None:
    host = LiveFixture("mi300x-8gpu")

    async def drive(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        assert "pcie-link-narrow" not in shown(app)
        assert re.search(r"read at \d\d:\d\d:\d\d", shown(app).splitlines()[0]), "when it was asked"
        _narrow(host, "4")
        await _again(app, pilot)
        await until(pilot, lambda: "pcie-link-narrow" in shown(app))
        assert re.search("2 ?Findings !", shown(app).splitlines()[1])
        assert any("new: gpu 0-7: The PCIe link" in one and "(pcie-link-narrow)" in one for one in said), said
        await pilot.press("2")
        await until(pilot, lambda: "pcie-link-narrow" in shown(app))
        assert "!" not in shown(app).splitlines()[1], "it was seen"
        _narrow(host, "16")
        await _again(app, pilot)
        assert any("gpu 0-7: pcie-link-narrow is no longer found" in one for one in said), said
        assert len(said) == 2, "what several GPUs have alike is said once"

    driven(host, drive, WIDE)


def test_other_values_alone_change_the_line_of_a_gpu_and_nothing_else(said: list[str]) -> None:
    host = LiveFixture("mi300x-8gpu")

    async def drive(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        before = app.look.diagnosis
        assert "89/105" not in shown(app)
        for asked in [one for one in host.asked if one.endswith("temp2_input")]:
            host.texts[asked] = "89000\n"
        await _again(app, pilot)
        await until(pilot, lambda: "89/105" in shown(app))
        assert app.look.diagnosis is before, "other screens need not begin anew"
        assert said == []
        plan = app.look.setup
        assert plan is not None
        app._saw_again(app.host, replace(app.look, setup=replace(plan, steps=plan.steps[:-1])), ())
        assert app.look.setup is not plan, "a step that no check judges was done"

    driven(host, drive, WIDE)


def test_a_link_that_no_check_judges_is_what_it_is_now_on_every_screen() -> None:
    host = LiveFixture("mi300x-8gpu")

    async def drive(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await pilot.press("3")
        await until(pilot, lambda: "32 GT/s x16" in shown(app))
        assert "32 GT/s x4" not in shown(app)
        _narrow(host, "4")
        app.look = replace(app.look, now=collect(host))  # judged as before, as in a guest
        await until(pilot, lambda: "32 GT/s x4" in shown(app))
        await pilot.press("1")
        await until(pilot, lambda: "x4/16" in shown(app))

    driven(host, drive, WIDE)


def test_asking_again_keeps_what_is_known_until_it_is_known_anew() -> None:
    host = LiveFixture("mi300x-8gpu")

    async def drive(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        host.hanging = "current_link_width"
        await pilot.press("r")
        await until(pilot, lambda: "asking again" in shown(app))
        assert "gpu 0-7   8 x AMD Instinct MI300X" in shown(app)
        assert isinstance(app.screen, OverviewPage) and app.screen.query_one("#body").has_class("renewing")
        host.let_go()
        await until(pilot, lambda: "asking again" not in shown(app))
        assert not app.screen.query_one("#body").has_class("renewing")

    driven(host, drive, WIDE)


@pytest.mark.parametrize(
    ("question", "passing"), [("read /sys/devices/system/node/node0/meminfo", True), ("read /etc/os-release", False)]
)
def test_memory_in_use_is_a_value_of_the_moment(question: str, passing: bool) -> None:
    was, now = Answer(question, "ok", b"MemFree: 1 kB"), Answer(question, "ok", b"MemFree: 2 kB")
    assert _sensors_alone({question: was}, {question: now}) == passing


def test_nothing_is_asked_while_the_first_answers_are_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    host = LiveFixture("mi300x-8gpu")

    async def drive(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        host.hanging = "current_link_width"
        await pilot.press("r")
        await until(pilot, lambda: "asking again" in shown(app))
        app._look_again()
        assert app._again_look is None
        host.let_go()
        await until(pilot, lambda: not app.look.busy)

    driven(host, drive, WIDE)


def test_programs_keep_their_answers_and_files_and_the_kernel_log_are_read_anew() -> None:
    host = LiveFixture("mi300x-8gpu")
    recorder = Recorder(host)
    questions = ("run rocminfo", "run dmesg", "read /proc/meminfo")
    for one in questions:
        recorder.ask(one)
    host.asked.clear()
    added = {one: Answer(one, "ok", b"added") for one in ("run amd-smi", "run journalctl -k", "read /etc/os-release")}
    first = watched(OverlayHost(recorder, added))
    for again in (first, watched(first)):
        host.asked.clear()
        for one in (*questions, *added):
            again.ask(one)
        assert host.asked == ["run dmesg", "read /proc/meminfo"]
        assert [again.ask(one).text for one in added] == ["added"] * 3, "what --add brought stays"


def test_an_added_kernel_log_is_still_there_after_another_look() -> None:
    host = LiveFixture("mi300x-8gpu")
    bdf = "0000:05:00.0"
    line = f"[  100.000000] amdgpu {bdf}: amdgpu: ring comp_1.0.0 timeout, signaled seq=10, emitted seq=12\n"
    log = Answer("run dmesg", "ok", line.encode())

    async def drive(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        before = _found(app)
        assert "ring-timeout" in before
        _narrow(host, "4")
        await _again(app, pilot)
        assert _found(app) == before | {"pcie-link-narrow"}

    driven(OverlayHost(host, {log.question: log}), drive, WIDE)


def test_results_of_smoke_tests_stay_while_other_things_change() -> None:
    host = LiveFixture("mi300x-8gpu")
    results = Answer("smoke quick", "ok", to_text((cpu_run(passed("objects"), failed("ddp")),)).encode(), 0)

    async def drive(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        app.with_smoke(results)
        await until(pilot, lambda: "smoke-numbers-wrong" in _found(app) and not app.look.busy)
        for width in ("4", "16", "4"):
            _narrow(host, width)
            await _again(app, pilot)
            assert ("pcie-link-narrow" in _found(app)) == (width == "4")
            assert "smoke-numbers-wrong" in _found(app), width

    driven(host, drive, WIDE)


def test_a_look_that_ends_after_a_smoke_run_began_takes_no_host_from_it(monkeypatch: pytest.MonkeyPatch) -> None:
    host = LiveFixture("mi300x-8gpu")

    async def drive(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        before = app.host
        _narrow(host, "4")
        app._look_again()
        monkeypatch.setattr(OverviewPage, "holds", "smoke tests are running")
        await until(pilot, lambda: app._again_look is None)
        assert app.host is before
        monkeypatch.setattr(OverviewPage, "holds", "")
        await _again(app, pilot)
        assert app.host is not before

    driven(host, drive, WIDE)


def test_asking_again_keeps_the_results_of_smoke_tests_and_ends_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    host = LiveFixture("mi300x-8gpu")
    results = Answer("smoke quick", "ok", to_text((cpu_run(passed("objects"), failed("ddp")),)).encode(), 0)

    async def drive(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        app._again = lambda: OverlayHost(host, {})
        app.with_smoke(results)
        await until(pilot, lambda: "smoke-numbers-wrong" in _found(app) and not app.look.busy)
        before = app.host
        monkeypatch.setattr(OverviewPage, "holds", "smoke tests are running")
        await pilot.press("r")
        await seen(pilot)
        assert app.host is before and not app.look.busy
        monkeypatch.setattr(OverviewPage, "holds", "")
        await pilot.press("r")
        await until(pilot, lambda: app.host is not before and not app.look.busy)
        assert "smoke-numbers-wrong" in _found(app)

    driven(host, drive, WIDE)


def test_no_slow_program_is_started_because_somebody_may_ask() -> None:
    begun: list[str] = []

    class Begins(LiveFixture):
        def prefetch(self, questions: Iterable[str]) -> None:
            begun.extend(questions)

    recorder = Recorder(Begins("mi300x-8gpu"))
    KeptHost(recorder, {}).prefetch(["python default", "run rocminfo", "run dmesg", "read /proc/cmdline"])
    assert begun == ["run dmesg", "read /proc/cmdline"]

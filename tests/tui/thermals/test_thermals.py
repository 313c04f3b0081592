"""The thermals screen: recorded and live values, the rate, a machine that hangs, throttling, GPUs that sleep."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, OptionList

from rocdoctor.model.facts import Gpu
from rocdoctor.tui.app import RocdoctorApp
from rocdoctor.tui.config import RATES_S
from rocdoctor.tui.thermals.live_values import Watch, key
from rocdoctor.tui.thermals.order import ordered
from rocdoctor.tui.thermals.screen import ThermalsPage
from rocdoctor.tui.widgets.ask import Ask
from tests.tui.kit import NARROW, WIDE, driven, fixture_host, same_picture, shown, until
from tests.tui.thermals.live_kit import LiveFixture, temperature


def page(app: RocdoctorApp) -> ThermalsPage:
    assert isinstance(app.screen, ThermalsPage)
    return app.screen


async def opened(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
    await pilot.press("4")
    await until(pilot, lambda: isinstance(app.screen, ThermalsPage) and "Asking" not in shown(app))


async def answered(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
    await opened(app, pilot)
    await until(pilot, lambda: "last answer" in shown(app))


@pytest.mark.parametrize(
    ("name", "size"), [("mi300x-8gpu", NARROW), ("mi300x-8gpu", WIDE), ("recorded-cpu-vm", NARROW)]
)
def test_recorded_values_look_as_they_should(request: pytest.FixtureRequest, name: str, size: tuple[int, int]) -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await opened(app, pilot)
        await until(pilot, lambda: "not in this evidence" in shown(app))
        await same_picture(request, app, pilot, f"thermals-{name}")

    driven(fixture_host(name), look, size)


def test_recorded_values_are_said_to_be_recorded_and_the_selected_gpu_is_told_in_full_also_of_32() -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await opened(app, pilot)
        assert "Recorded values, no history" in shown(app)
        assert "Faster" not in shown(app), "no key that does nothing"
        await pilot.press("n", "plus", "minus")
        assert "Recorded values, no history" in shown(app)
        assert "slowed down" not in shown(app)
        assert "gpu 0 (0000:0a:00.0)" in shown(app)
        await pilot.press("down", "down")
        await until(pilot, lambda: "gpu 2 (0000:4a:00.0)" in shown(app))
        await pilot.press("1", "4")
        await until(pilot, lambda: "gpu 2 (0000:4a:00.0)" in shown(app))
        await pilot.resize_terminal(200, 60)
        await until(pilot, lambda: "░░░░░░" in shown(app).splitlines()[5])
        assert "gpu 2 (0000:4a:00.0)" in shown(app), "the selection survives another screen and another size"
        await pilot.resize_terminal(80, 24)
        diagnosis = app.look.diagnosis
        assert diagnosis is not None
        _with_gpus(app, tuple(_numbered(diagnosis.machine.gpus[at % 8], at) for at in range(32)))
        await until(pilot, lambda: page(app).query_one(OptionList).option_count == 32)
        await pilot.press("end")
        await until(pilot, lambda: "gpu 31 (" in shown(app))
        assert any(line.startswith(" 31 ") for line in shown(app).splitlines())

    driven(fixture_host("mi300x-8gpu"), look)


def test_values_change_while_one_watches_and_can_be_sorted_and_written(tmp_path: Path) -> None:
    host, file = LiveFixture("rx7900xtx-2gpu"), tmp_path / "seen.csv"

    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await answered(app, pilot)
        assert "Reading every 2 s" in shown(app)
        assert "mem 60 of 108" in shown(app)
        host.texts[temperature(0, 3)] = "104000"
        await pilot.press("full_stop")
        await until(pilot, lambda: "mem 104 of 108" in shown(app))
        await until(pilot, lambda: re.search(r"the last \d+ s, ", text_of_detail(app)))
        assert "60 to 104 °C" in text_of_detail(app)
        await pilot.press("p")
        await until(pilot, lambda: "┤" in text_of_detail(app) and "slowed by" not in text_of_detail(app))
        host.texts[temperature(1, 3, 4)] = "107000"
        await pilot.press("p", "s", "n")
        await until(pilot, lambda: "107 of 108" in shown(app) and "sorted by heat" in shown(app))
        assert page(app)._shown == [key(one.gpu) for one in ordered(page(app)._views(), "heat")]
        assert "gpu 0 (" in text_of_detail(app), "the selected GPU stays selected"
        await pilot.press("w")
        await until(pilot, lambda: isinstance(app.screen, Ask))
        app.screen.query_one(Input).value = str(file)
        await pilot.press("enter")
        await until(pilot, file.exists)

    driven(host, look)
    lines = file.read_text().splitlines()
    assert lines[0].startswith("time,gpu,") and any(",104.0,108.0," in line for line in lines[1:])


def text_of_detail(app: RocdoctorApp) -> str:
    return str(app.screen.query_one("#one").render())


def test_the_rate_is_chosen_with_keys_and_said_in_words() -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await answered(app, pilot)
        for words in ("every second", "every 0.5 s", "every 0.5 s"):
            await pilot.press("plus")
            await until(pilot, lambda words=words: f"Reading {words}" in shown(app))  # type: ignore[misc]
        for words in (
            "Reading every second",
            "Reading every 2 s",
            "Reading every 5 s",
            "Reading every 10 s",
            "Not reading again (off)",
        ):
            await pilot.press("minus")
            await until(pilot, lambda words=words: words in shown(app))  # type: ignore[misc]
        assert RATES_S == (0.0, 10.0, 5.0, 2.0, 1.0, 0.5)

    driven(LiveFixture("rx7900xtx-2gpu"), look)


def looks(app: RocdoctorApp) -> int:
    found = [one for one in app.screen_stack if isinstance(one, ThermalsPage)]
    watch = (found or [page(app)])[0]._watch
    assert isinstance(watch, Watch)
    return watch.looks


def test_nothing_is_asked_while_the_screen_is_not_seen_or_the_rate_is_off() -> None:
    host = LiveFixture("rx7900xtx-2gpu")

    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await answered(app, pilot)
        await pilot.press("plus", "plus")
        began = looks(app)
        await until(pilot, lambda: looks(app) > began + 1)
        await until(pilot, lambda: page(app)._asking is None)
        await pilot.press("1")
        await pilot.pause()
        host.asked.clear()
        await pilot.pause(1.2)
        assert host.asked == [], "another screen is seen"
        await pilot.press("4")
        await until(pilot, lambda: host.asked)
        for _ in RATES_S:
            await pilot.press("minus")
        await until(pilot, lambda: page(app)._asking is None)
        host.asked.clear()
        await pilot.pause(1.2)
        assert host.asked == [], "the rate is off"

    driven(host, look)


def test_a_machine_that_hangs_is_named_and_no_second_look_begins() -> None:
    host = LiveFixture("mi300x-8gpu")

    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await answered(app, pilot)
        await pilot.press("plus", "plus")
        host.hanging = "/drm/card4/device/hwmon/"
        await until(pilot, lambda: re.search(r"no answer from gpu 3 for \d+ s", shown(app)))
        began = looks(app)
        await pilot.press("n", "n", "down", "plus", "minus")
        await pilot.pause(1.5)
        assert looks(app) == began
        assert "gpu 1 (0000:2a:00.0)" in shown(app), "the screen itself goes on"
        assert "no answer" in shown(app)
        await pilot.press("q")
        assert not app.is_running, "and it can be left"
        host.let_go()

    gpu = card_of(host, 3)
    assert gpu == "card4", gpu
    driven(host, look)


def card_of(host: LiveFixture, index: int) -> str:
    from rocdoctor.collect.gpus.sensors import SensorReader
    from rocdoctor.model.evidence import value_or

    gpus: tuple[Gpu, ...] = SensorReader().read(host).gpus
    return value_or(gpus[index].drm_card, "")


def test_who_does_not_answer_or_breaks_is_named_until_it_answers_and_the_others_have_values(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    host = LiveFixture("rx7900xtx-2gpu")
    whole = Watch.look

    def broken(self: Watch) -> Any:
        raise OSError("the child\x1b[31m is gone")

    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await answered(app, pilot)
        host.timing_out = "/drm/card1/device/"
        await pilot.press("full_stop")
        await until(pilot, lambda: "no answer from gpu 1 for" in shown(app))
        lines = shown(app).splitlines()
        assert next(line for line in lines if line.startswith(" 0 ")).count("unknown") == 1
        assert "no answer" in next(line for line in lines if line.startswith(" 1 "))
        host.timing_out = ""
        await pilot.press("full_stop")
        await until(pilot, lambda: "no answer" not in shown(app))
        host.hanging = "/drm/card1/device/hwmon/"
        await pilot.press("full_stop")
        await until(pilot, lambda: "no answer from gpu 1 for" in shown(app))
        host.let_go()
        await until(pilot, lambda: "no answer" not in shown(app))
        monkeypatch.setattr(Watch, "look", broken)
        await pilot.press("full_stop")
        await until(pilot, lambda: "Cannot read the sensors: OSError: the child is gone" in shown(app))
        monkeypatch.setattr(Watch, "look", whole)
        await pilot.press("full_stop")
        await until(pilot, lambda: "last answer" in shown(app))

    driven(host, look)


def test_throttling_is_an_event_with_time_gpu_and_reason() -> None:
    host = LiveFixture("h100-8gpu")
    smi = host.inner.ask("run nvidia-smi -q -x").text
    hot = smi.replace(
        "<clocks_event_reason_hw_thermal_slowdown>Not Active", "<clocks_event_reason_hw_thermal_slowdown>Active", 1
    )
    assert hot != smi

    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await answered(app, pilot)
        await until(pilot, lambda: "nothing since this screen was opened" in shown(app))
        host.texts["run nvidia-smi -q -x"] = hot
        await pilot.press("full_stop")
        await until(pilot, lambda: "heat: hw_thermal_slowdown" in shown(app))
        event = r" \d\d:\d\d:\d\d  gpu 0 \(0000:1b:00\.0\)  heat: hw_thermal_slowdown, now"
        assert re.search(event, shown(app)), shown(app)
        host.texts.clear()
        await pilot.press("full_stop")
        await until(pilot, lambda: "hw_thermal_slowdown, now" not in shown(app))
        assert "heat: hw_thermal_slowdown" in shown(app), "what is over stays in the log"

    driven(host, look, (200, 60))


def asleep(host: LiveFixture) -> LiveFixture:
    for path in ("/sys/class/drm/card1/device", "/sys/bus/pci/devices/0000:06:00.0"):
        host.texts[f"read {path}/power/runtime_status"] = "suspended"
    return host


def test_a_sleeping_gpu_is_left_asleep_and_says_so() -> None:
    host = asleep(LiveFixture("rx7900xtx-2gpu"))

    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await answered(app, pilot)
        assert "asleep" in next(line for line in shown(app).splitlines() if line.startswith(" 1 "))
        await pilot.press("down")
        await until(pilot, lambda: "It is asleep and was not woken" in shown(app))
        waking = ("card1/device/hwmon", "card1/device/gpu_metrics")
        assert not [one for one in host.asked if any(part in one for part in waking)]

    driven(host, look)


def test_without_a_gpu_the_processors_are_shown_and_a_sentence() -> None:
    host = LiveFixture("recorded-cpu-vm")
    host.texts["list /sys/class/hwmon/hwmon*"] = "/sys/class/hwmon/hwmon0"
    host.texts["read /sys/class/hwmon/hwmon0/name"] = "k10temp"
    host.texts["list /sys/class/hwmon/hwmon0/temp*_input"] = "/sys/class/hwmon/hwmon0/temp1_input"
    host.texts["read /sys/class/hwmon/hwmon0/temp1_input"] = "56000"

    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await answered(app, pilot)
        assert "This machine has no GPU" in shown(app)
        assert "56 °C (hottest sensor)" in shown(app)

    driven(host, look)


def test_other_evidence_begins_anew() -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await answered(app, pilot)
        await pilot.press("down")
        app.open(fixture_host("mi300x-8gpu"))
        await until(pilot, lambda: "Recorded values" in shown(app) and "junction 41 of 100" in shown(app))
        assert page(app).query_one(OptionList).option_count == 8
        assert "s Sort" in shown(app)
        assert "p Plots" not in shown(app), "the bar has the keys that do something here"
        await pilot.press("b")
        await until(pilot, lambda: "last answer" in shown(app))
        assert "p Plots" in shown(app)
        assert page(app).query_one(OptionList).option_count == 2

    driven(LiveFixture("rx7900xtx-2gpu"), look)


def _numbered(gpu: Gpu, index: int) -> Gpu:
    from dataclasses import replace

    from tests.kit import k

    return replace(gpu, index=index, bdf=k(f"0000:{index:02x}:00.0"))


def _with_gpus(app: RocdoctorApp, gpus: tuple[Gpu, ...]) -> None:
    from dataclasses import replace

    diagnosis = app.look.diagnosis
    assert diagnosis is not None
    changed = replace(diagnosis, machine=replace(diagnosis.machine, gpus=gpus))
    app.look = replace(app.look, diagnosis=changed)


def test_handlers_are_named_in_the_help() -> None:
    keys = {key for key, _ in ThermalsPage.HELP_KEYS}
    assert "up, down" in keys

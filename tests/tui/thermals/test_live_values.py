"""Watching sensors: what is asked again, what hangs, the history, and events of clocks that are held down."""

from __future__ import annotations

from typing import Any

from rocdoctor.collect.gpus.sensors import SensorReader
from rocdoctor.host.base import Answer
from rocdoctor.host.overlay import OverlayHost
from rocdoctor.model.evidence import Known, Unknown, value_or
from rocdoctor.model.facts import Gpu, Power, Temperature
from rocdoctor.tui.config import DEFAULT_RATE_S
from rocdoctor.tui.thermals.live_values import KEPT, RETRY_S, History, Sample, Watch, held_down, key, merged, place, who
from tests.kit import amd_gpu, k, nvidia_gpu, u
from tests.tui.kit import fixture_host
from tests.tui.thermals.live_kit import LiveFixture, temperature


class Clock:
    """Time as a test wants it."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


def edge(gpu: Gpu) -> float | None:
    return value_or(gpu.temps[0].input_c, None) if gpu.temps else None


def test_a_second_look_asks_what_changes_and_nothing_else() -> None:
    host = LiveFixture("rx7900xtx-2gpu")
    watch = Watch(lambda: host)
    assert [edge(one) for one in watch.look().gpus] == [46.0, 47.0]
    first = set(host.asked)
    host.asked.clear()
    host.texts[temperature(0, 1)] = "71000"
    assert [edge(one) for one in watch.look().gpus] == [71.0, 47.0]
    assert set(host.asked) < first
    assert temperature(0, 1) in host.asked
    assert "read /sys/class/drm/card0/device/gpu_busy_percent" in host.asked
    assert not [one for one in host.asked if one.endswith(("/uevent", "temp1_crit", "vbios_version", "fan1_max"))]


def test_what_did_not_answer_is_named_with_the_time_and_left_alone_for_a_while() -> None:
    host, clock = LiveFixture("rx7900xtx-2gpu"), Clock()
    watch = Watch(lambda: host, clock)
    host.timing_out = "/drm/card1/device/hwmon/"
    sample = watch.look()
    assert sample.silent == {"card1": 1000.0}
    assert who("card1", sample.gpus) == "gpu 1"
    assert edge(sample.gpus[0]) == 46.0, "the other GPU still tells"
    host.asked.clear()
    clock.now_s += 10
    sample = watch.look()
    assert sample.silent == {"card1": 1000.0}, "silent since the first time"
    assert not [one for one in host.asked if "card1/device/" in one and not one.endswith(("uevent", "runtime_status"))]
    busy = sample.gpus[1].busy_percent
    assert isinstance(busy, Unknown), "an old value is not shown as if it were of now"
    assert busy.reason == "timeout"
    host.timing_out = ""
    clock.now_s += RETRY_S
    sample = watch.look()
    assert sample.silent == {}
    assert edge(sample.gpus[1]) == 47.0


def test_after_the_time_it_is_asked_once_more_and_then_left_alone_again() -> None:
    host, clock = LiveFixture("rx7900xtx-2gpu"), Clock()
    watch = Watch(lambda: host, clock)
    host.timing_out = "/drm/card1/device/hwmon/"
    watch.look()
    for _ in range(2):
        clock.now_s += RETRY_S + 1
        host.asked.clear()
        watch.look()
        assert [one for one in host.asked if "card1/device/hwmon" in one]
        host.asked.clear()
        watch.look()
        assert not [one for one in host.asked if "card1/device/hwmon" in one]


def test_retry_asks_at_once() -> None:
    host = LiveFixture("rx7900xtx-2gpu")
    watch = Watch(lambda: host)
    host.timing_out = "/drm/card1/device/hwmon/"
    watch.look()
    host.timing_out = ""
    watch.retry()
    assert watch.look().silent == {}


def test_a_question_that_is_open_can_be_seen_from_outside() -> None:
    host = LiveFixture("rx7900xtx-2gpu")
    seen: list[object] = []
    watch = Watch(lambda: host)
    ask = host.ask

    def asking(question: str) -> Answer:
        seen.append(watch.waiting and watch.waiting[0] == question)
        return ask(question)

    host.ask = asking  # type: ignore[method-assign]
    watch.look()
    assert seen
    assert all(seen)
    assert watch.waiting is None


def test_places() -> None:
    assert place("read /sys/class/drm/card12/device/gpu_metrics") == "card12"
    assert place("read /sys/bus/pci/devices/0000:5a:00.0/current_link_speed") == "0000:5a:00.0"
    assert place("read /sys/class/hwmon/hwmon2/temp1_input") == "/sys/class/hwmon/hwmon2/"
    assert place("run nvidia-smi -q -x") == "run nvidia-smi -q -x"
    gpus = [amd_gpu(0, drm_card="card12"), nvidia_gpu(1)]
    assert who("card12", gpus) == "gpu 0"
    assert who("0000:28:00.0", gpus) == "gpu 1"
    assert who("run nvidia-smi -q -x", gpus) == "nvidia-smi"
    assert who("/sys/class/hwmon/hwmon2/", gpus) == "/sys/class/hwmon/hwmon2/"


def test_the_tool_of_nvidia_is_not_run_while_one_of_its_gpus_sleeps() -> None:
    awake = LiveFixture("rtx4090-2gpu")
    SensorReader().read(awake)
    assert "run nvidia-smi -q -x" in awake.asked
    asleep = LiveFixture("rtx4090-2gpu")
    asleep.texts["read /sys/bus/pci/devices/0000:41:00.0/power/runtime_status"] = "suspended"
    SensorReader().read(asleep)
    assert "run nvidia-smi -q -x" not in asleep.asked


def test_a_sleeping_gpu_is_left_asleep() -> None:
    host = LiveFixture("rx7900xtx-2gpu")
    for path in ("/sys/class/drm/card1/device", "/sys/bus/pci/devices/0000:06:00.0"):
        host.texts[f"read {path}/power/runtime_status"] = "suspended"
    watch = Watch(lambda: host)
    watch.look()
    assert not [one for one in host.asked if "card1/device/hwmon" in one or "card1/device/gpu_" in one]


# -- history and events


def hot(input_c: float, **changes: Any) -> Gpu:
    temps = (Temperature("junction", k(input_c), k(110.0), k(115.0)),)
    return amd_gpu(temps=temps, drm_card="card0", power=Power(now_w=k(300.0), cap_w=k(300.0)), **changes)


def sample(at_s: float, *gpus: Gpu, counters: dict[str, int] | None = None) -> Sample:
    clock = f"12:00:{int(at_s) % 60:02d}"
    return Sample(at_s, clock, gpus, {"card0": counters} if counters is not None else {})


def test_the_history_keeps_minutes_and_no_more() -> None:
    history = History()
    for at in range(KEPT + 10):
        history.add(sample(float(at), hot(40.0 + at % 50)))
    series = history.of(hot(0.0))
    assert len(series) == KEPT and KEPT * DEFAULT_RATE_S >= 600
    assert (series[0].at_s, series[-1].at_s) == (10.0, KEPT + 9.0)


def test_heat_is_an_event_from_its_begin_to_its_end() -> None:
    history = History()
    history.add(sample(1, hot(70.0, throttle=())))
    assert history.events == []
    history.add(sample(2, hot(108.0, throttle=("temp_hotspot",))))
    history.add(sample(4, hot(109.0, throttle=("temp_hotspot", "temp_mem"))))
    history.add(sample(6, hot(80.0, throttle=())))
    (event,) = history.events
    assert (event.kind, event.reasons) == ("heat", ("temp_hotspot", "temp_mem"))
    assert (event.first, event.last, event.active, event.times) == ("12:00:02", "12:00:04", False, 1)
    assert history.active(hot(0.0)) == ()


def test_the_same_again_within_a_minute_is_the_same_event() -> None:
    history = History()
    for at in (2, 6, 10):
        history.add(sample(at, hot(70.0, throttle=("ppt0",))))
        history.add(sample(at + 2, hot(70.0, throttle=())))
    (event,) = history.events
    assert (event.kind, event.times, event.last) == ("power", 3, "12:00:10")
    history.add(sample(100, hot(70.0, throttle=("ppt0",))))
    assert len(history.events) == 2


def test_the_flag_of_heat_on_a_cool_card_is_no_event() -> None:
    history = History()
    history.add(sample(1, hot(50.0, throttle=("temp_hotspot",))))
    assert history.events == []


def test_counters_of_throttled_time_tell_of_what_happened_between_two_looks() -> None:
    history = History()
    history.add(sample(1, hot(50.0), counters={"socket_thm": 500, "ppt": 7, "prochot": 0}))
    assert history.events == [], "what they counted before is not of now"
    history.add(sample(3, hot(50.0), counters={"socket_thm": 900, "ppt": 7, "prochot": 0}))
    assert [(one.kind, one.reasons) for one in history.events] == [("heat", ("socket_thm",))]
    history.add(sample(5, hot(50.0), counters={"socket_thm": 900, "ppt": 7, "prochot": 4}))
    assert [(one.kind, one.active) for one in history.events] == [("heat", False), ("outside", True)]


def test_power_and_heat_at_once_are_two_events() -> None:
    assert held_down(("ppt0", "temp_mem", "gpu_idle"), ("temp_mem",)) == {"heat": ("temp_mem",), "power": ("ppt0",)}
    nvidia = ("sw_power_cap", "hw_thermal_slowdown", "hw_power_brake_slowdown", "applications_clocks_setting")
    costly = ("hw_thermal_slowdown", "hw_power_brake_slowdown")
    assert held_down(nvidia, costly) == {
        "heat": ("hw_thermal_slowdown",),
        "outside": ("hw_power_brake_slowdown",),
        "power": ("sw_power_cap",),
    }
    assert held_down(("gpu_idle", "sync_boost"), ()) == {}


# -- the report's GPUs with the values of now


def test_names_and_limits_come_from_the_report_values_from_the_look() -> None:
    report = hot(40.0, name="Card", busy_percent=99, vram_used_bytes=5)
    now = amd_gpu(drm_card="card0", name=u(), busy_percent=u("not now"), power=Power(now_w=k(9.0)))
    (seen,) = merged([report], [now])
    assert seen.name == k("Card")
    assert isinstance(seen.busy_percent, Unknown), "what was true then is not true now"
    assert seen.power.now_w == k(9.0)
    assert seen.temps == ()


def test_a_gpu_that_sensors_do_not_show_keeps_its_name_and_no_value() -> None:
    (seen,) = merged([hot(40.0, busy_percent=99)], [])
    assert isinstance(seen.name, Known)
    assert isinstance(seen.busy_percent, Unknown)
    assert seen.temps == ()


def test_gpus_are_told_apart_by_address_and_keep_the_numbers_of_the_report() -> None:
    report = [nvidia_gpu(0), amd_gpu(1)]
    seen = merged(report, [amd_gpu(1, busy_percent=7)])
    assert [one.index for one in seen] == [0, 1]
    assert value_or(seen[1].busy_percent, None) == 7
    assert key(nvidia_gpu(0)) == "0000:18:00.0"


def test_before_there_is_a_report_the_look_alone_counts() -> None:
    assert merged([], [amd_gpu(0)]) == (amd_gpu(0),)


def test_every_fixture_can_be_looked_at() -> None:
    for name in ("mi300x-8gpu-cpx", "h100-8gpu", "strix-halo", "recorded-cpu-vm", "arc-b580"):
        host = OverlayHost(fixture_host(name), {})
        history, watch = History(), Watch(lambda host=host: host)  # type: ignore[misc]
        history.add(watch.look())
        history.add(watch.look())
        assert history.sample is not None
        assert all(len(history.of(one)) == 2 for one in history.sample.gpus)

"""Sensors under load: what counts of a look at a GPU, and what a run of looks comes to."""

from __future__ import annotations

from rocdoctor.collect.gpus.sensors import cpu_sensors
from rocdoctor.host.base import Answer
from rocdoctor.model.facts import Power, Temperature
from rocdoctor.train.smoke.figures.sampler import Reading, Sampler, reading_of, summary
from tests.kit import amd_gpu, k, nvidia_gpu
from tests.pcie_kit import hop, link, path
from tests.train.smoke.kit import NoSensors


def hot(input_c: float) -> tuple[Temperature, ...]:
    return (Temperature("junction", k(input_c), k(110.0), k(115.0)), Temperature("edge", k(60.0)))


def test_a_look_at_a_gpu() -> None:
    at = link(8, 16, 8.0, 16.0)
    gpu = amd_gpu(
        temps=hot(90.0),
        busy_percent=99,
        power=Power(now_w=k(340.0), cap_w=k(355.0)),
        clocks_mhz={"sclk": k(2300.0)},
        max_clocks_mhz={"sclk": k(2500.0)},
        throttle=("ppt0",),
        pcie=path(at, hop("0000:00:01.1", at)),
    )
    seen = reading_of(gpu, 1.0)
    assert (seen.temp_c, seen.clock_mhz, seen.max_clock_mhz, seen.power_w, seen.cap_w) == (90.0, 2300, 2500, 340, 355)
    assert (round(seen.link_gb_s or 0, 2), round(seen.capable_gb_s or 0, 2)) == (7.88, 31.51)
    assert (seen.slowed, seen.limits) == ((), ("ppt0",)), "reaching the power cap under load is normal"


def test_the_flag_of_the_hot_spot_counts_near_the_limit_alone() -> None:
    assert reading_of(amd_gpu(temps=hot(70.0), throttle=("temp_hotspot",)), 0.0).slowed == ()
    assert reading_of(amd_gpu(temps=hot(108.0), throttle=("temp_hotspot",)), 0.0).slowed == ("temp_hotspot",)
    nvidia = nvidia_gpu(throttle=("sw_thermal_slowdown", "sw_power_cap"))
    assert reading_of(nvidia, 0.0).slowed == ("sw_thermal_slowdown",)


def test_counters_of_throttled_time_count_when_they_grow() -> None:
    assert reading_of(amd_gpu(), 0.0, ["ppt", "socket_thm", "prochot"]).slowed == ("socket_thm", "prochot")


def test_only_looks_at_a_busy_gpu_count() -> None:
    def look(busy: float, clock: float, temp: float) -> Reading:
        return Reading(0.0, "0000:03:00.0", busy, temp, clock, 2500.0, 300.0, 355.0, 31.5, 31.5)

    looks = [look(0, 100.0, 99.0), look(99, 2000.0, 70.0), look(98, 2200.0, 80.0), look(97, 2100.0, 75.0)]
    found = summary(looks, {"0000:03:00.0": 4}.get)  # type: ignore[arg-type]
    assert found["clock_mhz"] == [{"gpu": 4, "pci": "0000:03:00.0", "value": 2100.0, "expected": 2500.0, "share": 0.84}]
    assert found["temp_max_c"][0]["value"] == 80.0
    assert "slowed" not in found
    assert summary(looks, lambda bdf: None) == {}, "a GPU that torch does not use"


# A constructed desktop: the sensors of an AMD processor, a fan controller, two cores.
BOARD = {
    "read /sys/class/hwmon/hwmon0/name": "nct6798",
    "read /sys/class/hwmon/hwmon1/name": "k10temp",
    "list /sys/class/hwmon/hwmon*": "/sys/class/hwmon/hwmon0\n/sys/class/hwmon/hwmon1",
    "list /sys/class/hwmon/hwmon1/temp*_input": "/sys/class/hwmon/hwmon1/temp1_input\n"
    "/sys/class/hwmon/hwmon1/temp3_input",
    "read /sys/class/hwmon/hwmon1/temp1_input": "72500",
    "read /sys/class/hwmon/hwmon1/temp3_input": "70000",
    "list /sys/devices/system/cpu/cpu*/cpufreq/scaling_cur_freq": "/sys/devices/system/cpu/cpu0/cpufreq/"
    "scaling_cur_freq\n/sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq",
    "read /sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq": "4850000",
    "read /sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq": "3600000",
}


class Board(NoSensors):
    def ask(self, question: str) -> Answer:
        text = BOARD.get(question)
        return Answer(question, "absent") if text is None else Answer(question, "ok", text.encode())


def test_sensors_of_processors() -> None:
    seen = cpu_sensors(Board())
    assert (seen.temp_c, seen.clock_mhz, seen.slowest_mhz) == (72.5, 4850.0, 3600.0)
    (look,) = Sampler(True, Board()).look()
    assert (look.bdf, look.temp_c, look.clock_mhz) == (None, 72.5, 4850.0)
    assert Sampler(True, NoSensors()).look() == []


def test_a_sensor_that_breaks_ends_the_looking_and_nothing_else() -> None:
    class Broken(NoSensors):
        def forget(self) -> None:
            raise OSError("gone")

    sampler = Sampler(True, Broken(), 0.01)
    sampler.start()
    assert sampler.stop() == []

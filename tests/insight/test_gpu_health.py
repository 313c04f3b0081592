from __future__ import annotations

import pytest

from rocdoctor.insight.gpus.gpu_health import (
    external_reasons,
    heat_reasons,
    limited_readings,
    nearest_to_limit,
    readings,
    telling,
)
from rocdoctor.model.evidence import NotKnown
from rocdoctor.model.facts import Temperature
from tests.kit import amd_gpu, k, u


def test_implausible_readings_and_limits_do_not_count() -> None:
    gpu = amd_gpu(
        temps=(
            Temperature("edge", k(50.0), k(100.0), k(105.0)),
            Temperature("mem", k(511.0), k(105.0)),
            Temperature("pkg", k(40.0), k(0.0)),
            Temperature("hbm", u()),
        )
    )
    assert [(one.sensor.label, one.crit_c, one.emergency_c) for one in readings(gpu)] == [
        ("edge", 100.0, 105.0),
        ("pkg", None, None),
    ]
    assert [one.sensor.label for one in limited_readings(gpu)] == ["edge"]


def test_the_sensor_nearest_to_its_limit_comes_first() -> None:
    gpu = amd_gpu(temps=(Temperature("edge", k(90.0), k(100.0)), Temperature("mem", k(92.0), k(95.0))))
    nearest = nearest_to_limit(gpu)
    assert nearest is not None
    assert (nearest.sensor.label, nearest.margin_c) == ("mem", 3.0)
    assert nearest_to_limit(amd_gpu()) is None
    assert telling(gpu) == nearest
    hot = Temperature("edge", k(97.0))
    shown = telling(amd_gpu(temps=(hot, Temperature("mem", k(60.0), k(95.0)))))
    assert shown is not None and shown.sensor.label == "mem", "a limit counts more than degrees"
    shown = telling(amd_gpu(temps=(Temperature("mem", k(60.0)), hot)))
    assert shown is not None and shown.sensor is hot
    assert telling(amd_gpu()) is None


def test_without_sensors_or_limits_it_is_not_known() -> None:
    with pytest.raises(NotKnown, match="no temperature"):
        readings(amd_gpu())
    with pytest.raises(NotKnown, match="asleep"):
        readings(amd_gpu(runtime_status="suspended"))
    with pytest.raises(NotKnown, match="limits"):
        limited_readings(amd_gpu(temps=(Temperature("edge", k(50.0)),)))


def test_reasons_are_sorted_by_what_they_mean() -> None:
    amdgpu = ("ppt0", "temp_hotspot", "vrhot0", "prochot_gfx", "tdc_gfx", "bit 50")
    assert heat_reasons(amdgpu) == ("temp_hotspot", "vrhot0")
    assert external_reasons(amdgpu) == ("prochot_gfx",)
    nvidia = ("sw_power_cap", "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown", "gpu_idle")
    assert heat_reasons(nvidia) == ("sw_thermal_slowdown", "hw_thermal_slowdown")
    assert external_reasons(nvidia) == ("hw_power_brake_slowdown",)
    assert heat_reasons(("socket_thermal", "ppt", "hbm_thrm")) == ("socket_thermal", "hbm_thrm")

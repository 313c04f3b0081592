from __future__ import annotations

from typing import Any

from rocdoctor.model.facts import Gpu, Temperature
from tests.kit import amd_gpu, judge, k, machine, nvidia_gpu, severities, states

NAME = "throttling-now"
HOT = (Temperature("junction", k(108.0), k(110.0)),)
COOL = (Temperature("junction", k(63.0), k(110.0)),)


def amd(*reasons: str, busy: int = 98, temps: tuple[Temperature, ...] = HOT) -> Gpu:
    return amd_gpu(throttle=reasons, busy_percent=busy, temps=temps)


def nvidia(*reasons: str, **changes: Any) -> Gpu:
    return nvidia_gpu(throttle=reasons, **{"busy_percent": 98, **changes})


def test_the_ordinary_reasons_under_load_and_at_idle_pass() -> None:
    assert states(judge(NAME, machine(amd("ppt0", "tdc_gfx"), amd()))) == ["pass", "pass"]
    assert states(judge(NAME, machine(nvidia("sw_power_cap"), nvidia("gpu_idle", busy_percent=0)))) == ["pass", "pass"]


def test_the_hot_spot_flag_lies_at_idle_and_on_a_cool_card() -> None:
    assert states(judge(NAME, machine(amd("temp_hotspot", busy=0), amd("temp_hotspot", temps=COOL)))) == [
        "pass",
        "pass",
    ]


def test_heat_near_the_limit_of_a_busy_card_warns() -> None:
    (verdict,) = judge(NAME, machine(amd("ppt0", "temp_hotspot")))
    assert verdict.finding is not None
    assert verdict.finding.severity == "warning"
    assert verdict.finding.cause == "thermal-or-power-limit"
    assert "Thermal throttling" in verdict.finding.message
    assert "98 % load" in verdict.finding.message
    assert "ppt0" not in verdict.finding.message


def test_heat_without_known_limits_is_a_note_on_amd() -> None:
    (verdict,) = judge(NAME, machine(amd("socket_thermal", temps=())))
    assert verdict.finding is not None
    assert verdict.finding.severity == "info"
    assert verdict.finding.cause == ""


def test_the_hard_reasons_of_nvidia_warn_while_busy_only() -> None:
    assert severities(judge(NAME, machine(nvidia("hw_thermal_slowdown")))) == ["warning"]
    assert severities(judge(NAME, machine(nvidia("hw_power_brake_slowdown", "sw_power_cap")))) == ["warning"]
    assert states(judge(NAME, machine(nvidia("hw_thermal_slowdown", busy_percent=3)))) == ["pass"]


def test_an_outside_signal_on_amd_is_a_note() -> None:
    assert severities(judge(NAME, machine(amd("prochot", temps=COOL)))) == ["info"]


def test_unknown_load_is_unknown_only_where_it_matters() -> None:
    assert states(judge(NAME, machine(amd_gpu(throttle=("temp_edge",))))) == ["unknown"]
    assert states(judge(NAME, machine(amd_gpu(throttle=("ppt0",))))) == ["pass"]
    assert states(judge(NAME, machine(amd_gpu()))) == ["unknown"]
    assert states(judge(NAME, machine())) == ["not-applicable"]


def test_a_laptop_at_its_limit_is_a_note() -> None:
    assert severities(judge(NAME, machine(nvidia("sw_thermal_slowdown"), laptop=k(True)))) == ["info"]
    assert severities(judge(NAME, machine(nvidia("sw_thermal_slowdown"), laptop=k(False)))) == ["warning"]

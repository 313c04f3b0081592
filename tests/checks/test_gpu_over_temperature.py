from __future__ import annotations

from typing import Any

from rocdoctor.model.facts import Temperature
from tests.kit import amd_gpu, judge, k, machine, severities, states

NAME = "gpu-over-temperature"


def sensor(label: str, now: float, crit: float | None = None, emergency: float | None = None) -> Temperature:
    known: dict[str, Any] = {"crit_c": crit, "emergency_c": emergency}
    return Temperature(label, k(now), **{name: k(value) for name, value in known.items() if value is not None})


def test_a_hot_junction_below_the_limit_of_the_card_is_healthy() -> None:
    gpu = amd_gpu(temps=(sensor("edge", 78, 100, 105), sensor("junction", 100, 110, 115), sensor("mem", 84, 105, 110)))
    assert states(judge(NAME, machine(gpu))) == ["pass"]


def test_at_the_critical_limit_it_warns_with_the_figures() -> None:
    (verdict,) = judge(NAME, machine(amd_gpu(temps=(sensor("edge", 80, 100), sensor("junction", 111, 110, 115)))))
    assert verdict.finding is not None
    assert verdict.finding.severity == "warning"
    assert "junction temperature is 111 °C" in verdict.finding.message
    assert "110 °C" in verdict.finding.message
    assert verdict.finding.cause == "thermal-or-power-limit"


def test_at_the_emergency_limit_it_is_an_error() -> None:
    assert severities(judge(NAME, machine(amd_gpu(temps=(sensor("junction", 115, 110, 115),))))) == ["error"]


def test_close_below_the_limit_is_a_note_without_a_cause() -> None:
    (verdict,) = judge(NAME, machine(amd_gpu(temps=(sensor("junction", 107, 110, 115),), busy_percent=99)))
    assert verdict.finding is not None
    assert verdict.finding.severity == "info"
    assert verdict.finding.cause == ""
    assert "99 % busy" in verdict.finding.message


def test_without_limits_of_the_card_or_without_sensors_nothing_is_judged() -> None:
    assert states(judge(NAME, machine(amd_gpu(temps=(sensor("edge", 120),))))) == ["unknown"]
    assert states(judge(NAME, machine(amd_gpu()))) == ["unknown"]
    assert states(judge(NAME, machine())) == ["not-applicable"]


def test_a_sleeping_gpu_says_so() -> None:
    (verdict,) = judge(NAME, machine(amd_gpu(runtime_status="suspended")))
    assert verdict.state == "unknown"
    assert "asleep" in verdict.why


def test_a_sensor_that_does_not_answer_accuses_nobody() -> None:
    gpu = amd_gpu(temps=(sensor("mem", 511, 105), sensor("edge", 40, 100), sensor("pkg", 50, 0)))
    assert states(judge(NAME, machine(gpu))) == ["pass"]


def test_the_limits_themselves_count() -> None:
    assert severities(judge(NAME, machine(amd_gpu(temps=(sensor("edge", 100, 100, 105),))))) == ["warning"]
    assert severities(judge(NAME, machine(amd_gpu(temps=(sensor("edge", 95, 100, 105),))))) == ["info"]
    assert severities(judge(NAME, machine(amd_gpu(temps=(sensor("edge", 94, 100, 105),))))) == []

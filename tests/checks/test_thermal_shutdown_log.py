from __future__ import annotations

from dataclasses import replace

from rocdoctor.model.facts import Kernel, LogEvent, Machine
from tests.kit import amd_gpu, event, judge, k, log, machine, severities, states, u

NAME = "thermal-shutdown-log"
BDF = "0000:23:00.0"
HOT = "amdgpu 0000:23:00.0: amdgpu: ERROR: GPU over temperature range(SW CTF) detected!"


def of(*events: LogEvent, complete: bool = True) -> Machine:
    return machine(amd_gpu(), kernel=Kernel(log=log(*events, complete=complete)))


def test_a_quiet_log_passes() -> None:
    assert states(judge(NAME, of(event("gpu-under-temperature", bdf=BDF)))) == ["pass"]


def test_a_thermal_shutdown_is_an_error_with_its_age() -> None:
    (verdict,) = judge(NAME, of(event("gpu-over-temperature", HOT, BDF, age_s=7200.0)))
    assert verdict.finding is not None
    assert (verdict.finding.severity, verdict.finding.cause) == ("error", "thermal-or-power-limit")
    assert "2 h before the end of the log" in verdict.finding.message
    assert verdict.subject.label == "gpu 0 (0000:23:00.0)"
    assert verdict.finding.evidence[0].value == HOT


def test_what_came_before_the_last_driver_load_or_long_ago_warns() -> None:
    assert severities(judge(NAME, of(event("gpu-over-temperature", HOT, BDF, before_driver_load=True)))) == ["warning"]
    assert severities(judge(NAME, of(event("gpu-over-temperature", HOT, BDF, age_s=400_000.0)))) == ["warning"]


def test_logged_throttling_warns() -> None:
    (verdict,) = judge(NAME, of(event("gpu-thermal-throttling", bdf=BDF), event("gpu-thermal-throttling", bdf=BDF)))
    assert verdict.finding is not None
    assert verdict.finding.severity == "warning"
    assert "thermal throttling twice" in verdict.finding.message


def test_an_excerpt_or_a_closed_log_is_unknown() -> None:
    assert states(judge(NAME, of(complete=False))) == ["unknown"]
    assert states(judge(NAME, machine(amd_gpu(), kernel=Kernel(log=u())))) == ["unknown"]
    assert states(judge(NAME, machine())) == ["not-applicable"]


def test_throttling_of_long_ago_or_of_a_laptop_is_a_note() -> None:
    old = event("gpu-thermal-throttling", bdf=BDF, age_s=900_000.0)
    assert severities(judge(NAME, of(old))) == ["info"]
    assert severities(judge(NAME, replace(of(event("gpu-thermal-throttling", bdf=BDF)), laptop=k(True)))) == ["info"]

from __future__ import annotations

from dataclasses import replace

from rocdoctor.model.facts import Kernel, LogEvent, Machine
from tests.kit import amd_gpu, event, judge, log, machine, severities, states

NAME = "gpu-reset-log"
A, B = "0000:23:00.0", "0000:43:00.0"


def of(*events: LogEvent, complete: bool = True) -> Machine:
    numbered = tuple(replace(one, line=line) for line, one in enumerate(events, 1))
    return machine(amd_gpu(), amd_gpu(1), kernel=Kernel(log=log(*numbered, complete=complete)))


def reset(time_s: float = 1000.0, bdf: str = A, age_s: float = 7200.0) -> tuple[LogEvent, ...]:
    return (
        event("gpu-reset-begin", bdf=bdf, time_s=time_s, age_s=age_s),
        event("gpu-reset-method", bdf=A, time_s=time_s, method="mode1"),
        event("gpu-reset-method", bdf=B, time_s=time_s, method="mode1"),
        event("gpu-reset-succeeded", bdf=bdf, time_s=time_s + 5, age_s=age_s - 5),
    )


def test_a_reset_while_running_warns_with_mode_count_and_age() -> None:
    (verdict,) = judge(NAME, of(*reset()))
    assert verdict.finding is not None
    assert (verdict.finding.severity, verdict.finding.cause) == ("warning", "")
    assert "reset GPUs once (mode1 reset, 2 GPUs), last 2 h before the end of the log" in verdict.finding.message
    assert "came back" in verdict.finding.message


def test_two_resets_are_told_from_one_of_two_gpus() -> None:
    (both,) = judge(NAME, of(event("gpu-reset-begin", bdf=A, time_s=9.0), event("gpu-reset-begin", bdf=B, time_s=9.5)))
    (twice,) = judge(NAME, of(*reset(1000.0), *reset(5000.0)))
    assert both.finding is not None
    assert twice.finding is not None
    assert "reset GPUs once" in both.finding.message
    assert "reset GPUs twice" in twice.finding.message


def test_a_hardware_error_beside_it_names_the_cause() -> None:
    (verdict,) = judge(NAME, of(event("ras-uncorrectable", bdf=A, time_s=999.0), *reset()))
    assert verdict.finding is not None
    assert verdict.finding.cause == "gpu-hardware-fault"


def test_resets_at_load_at_resume_and_before_a_reload_accuse_nobody() -> None:
    at_load = event("gpu-reset-method", bdf=A, method="mode1")
    at_resume = event("gpu-reset-begin", bdf=A, during_resume=True)
    assert states(judge(NAME, of(at_load, at_resume))) == ["pass"]
    assert severities(judge(NAME, of(event("gpu-reset-begin", bdf=A, before_driver_load=True)))) == ["info"]


def test_a_recovered_reset_of_last_week_is_a_note() -> None:
    assert severities(judge(NAME, of(*reset(age_s=600_000.0)))) == ["info"]


def test_a_failed_reset_is_an_error_unless_a_later_one_worked() -> None:
    failed = event("gpu-reset-failed", bdf=A, age_s=60.0)
    assert severities(judge(NAME, of(event("gpu-reset-begin", bdf=A), failed))) == ["error"]
    assert severities(judge(NAME, of(failed, *reset()))) == ["warning"]
    (verdict,) = judge(NAME, of(event("gpu-reset-failed", bdf=A, before_driver_load=True)))
    assert verdict.state == "pass"


def test_an_excerpt_without_resets_is_unknown() -> None:
    assert states(judge(NAME, of(complete=False))) == ["unknown"]
    assert states(judge(NAME, of())) == ["pass"]
    assert states(judge(NAME, machine())) == ["not-applicable"]


def test_a_reset_that_worked_on_another_gpu_mends_nothing() -> None:
    failed = event("gpu-reset-failed", bdf=A, age_s=60.0)
    other = event("gpu-reset-succeeded", bdf=B, age_s=30.0)
    assert severities(judge(NAME, of(failed, other))) == ["error"]
    assert states(judge(NAME, of(failed, event("gpu-reset-succeeded", age_s=30.0)))) == ["pass"]


def test_a_reset_that_failed_last_week_is_no_error() -> None:
    assert states(judge(NAME, of(event("gpu-reset-failed", bdf=A, age_s=600_000.0)))) == ["pass"]


def test_a_hardware_error_of_an_earlier_load_is_not_the_cause() -> None:
    (verdict,) = judge(NAME, of(event("ras-uncorrectable", bdf=A, before_driver_load=True), *reset()))
    assert verdict.finding is not None
    assert verdict.finding.cause == ""


def test_a_reset_of_long_ago_is_a_note_also_where_its_end_is_not_in_the_log() -> None:
    old = event("gpu-reset-begin", bdf=A, time_s=1000.0, age_s=900_000.0)
    assert severities(judge(NAME, of(old))) == ["info"]

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rocdoctor.model.facts import Kernel, LogEvent, Machine, Power
from tests.kit import amd_gpu, event, judge, k, log, machine, severities, states

NAME = "smu-not-responding"
BDF = "0000:23:00.0"


def of(*events: LogEvent, complete: bool = True, laptop: bool = False) -> Machine:
    return machine(amd_gpu(), kernel=Kernel(log=log(*events, complete=complete)), laptop=k(laptop))


def silent(**changes: Any) -> LogEvent:
    return event("smu-no-response", bdf=BDF, **{"age_s": 300.0, **changes})


def test_a_silent_firmware_is_an_error_with_a_possible_cause() -> None:
    (verdict,) = judge(NAME, of(silent(), silent()))
    assert verdict.finding is not None
    assert (verdict.finding.severity, verdict.finding.confidence) == ("error", "possible")
    assert "(SMU) did not answer twice, last 5 min before the end of the log" in verdict.finding.message


def test_a_laptop_and_an_old_event_warn() -> None:
    assert severities(judge(NAME, of(silent(), laptop=True))) == ["warning"]
    assert severities(judge(NAME, of(silent(age_s=300_000.0)))) == ["warning"]


def test_what_a_reset_a_reload_or_a_resume_mended_is_a_note() -> None:
    back = replace(event("gpu-reset-succeeded", bdf=BDF), line=9)
    assert severities(judge(NAME, of(silent(), back))) == ["info"]
    assert severities(judge(NAME, of(silent(before_driver_load=True)))) == ["info"]
    assert severities(judge(NAME, of(silent(during_resume=True)))) == ["info"]


def test_quiet_excerpt_and_no_gpu() -> None:
    assert states(judge(NAME, of(event("smu-version-mismatch", bdf=BDF)))) == ["pass"]
    assert states(judge(NAME, of(complete=False))) == ["unknown"]
    assert states(judge(NAME, machine())) == ["not-applicable"]


def test_a_reset_of_another_gpu_or_before_it_mends_nothing() -> None:
    other = replace(event("gpu-reset-succeeded", bdf="0000:dd:00.0"), line=9)
    assert severities(judge(NAME, of(silent(), other))) == ["error"]
    assert severities(judge(NAME, of(event("gpu-reset-succeeded", bdf=BDF), replace(silent(), line=9)))) == ["error"]


def test_a_firmware_that_answers_again_warns() -> None:
    answering = replace(of(silent()), gpus=(amd_gpu(power=Power(now_w=k(40.0))),))
    assert severities(judge(NAME, answering)) == ["warning"]

from __future__ import annotations

from typing import Any

from rocdoctor.model.facts import Kernel, LogEvent, Machine
from tests.kit import amd_gpu, event, judge, log, machine, severities, states

NAME = "queue-eviction-failed"
BDF = "0000:23:00.0"


def of(*events: LogEvent, complete: bool = True) -> Machine:
    return machine(amd_gpu(), kernel=Kernel(log=log(*events, complete=complete)))


def stuck(**changes: Any) -> LogEvent:
    return event("kfd-queue-preemption-failed", bdf=BDF, **{"age_s": 3600.0, "time_s": 500.0, **changes})


def test_alone_it_warns_that_the_scheduler_did_not_obey() -> None:
    (verdict,) = judge(NAME, of(stuck(), event("kfd-evict-restore-failed", time_s=501.0, action="restore")))
    assert verdict.finding is not None
    assert verdict.finding.severity == "warning"
    assert "did not respond" in verdict.finding.message
    assert verdict.subject.label == "gpu 0 (0000:23:00.0)"
    assert len(verdict.finding.evidence) == 2


def test_beside_a_reset_it_is_a_consequence() -> None:
    (verdict,) = judge(NAME, of(stuck(), event("gpu-reset-begin", bdf="0000:dd:00.0", time_s=501.0)))
    assert verdict.finding is not None
    assert "follows from" in verdict.finding.message


def test_history_is_a_note() -> None:
    assert severities(judge(NAME, of(stuck(before_driver_load=True)))) == ["info"]
    assert severities(judge(NAME, of(stuck(age_s=500_000.0)))) == ["info"]


def test_lines_without_a_device_are_about_the_machine() -> None:
    (verdict,) = judge(NAME, of(event("kfd-evict-restore-failed", action="evict")))
    assert verdict.subject.label == "machine"


def test_quiet_excerpt_and_no_gpu() -> None:
    assert states(judge(NAME, of())) == ["pass"]
    assert states(judge(NAME, of(complete=False))) == ["unknown"]
    assert states(judge(NAME, machine())) == ["not-applicable"]


def test_the_consequence_warns_and_a_reset_of_another_day_is_no_origin() -> None:
    assert severities(judge(NAME, of(stuck(), event("gpu-ring-timeout", time_s=450.0)))) == ["warning"]
    (verdict,) = judge(NAME, of(stuck(), event("gpu-reset-begin", time_s=90_000.0)))
    assert verdict.finding is not None
    assert "did not respond" in verdict.finding.message

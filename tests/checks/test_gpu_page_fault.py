from __future__ import annotations

from typing import Any

from rocdoctor.model.facts import Kernel, LogEvent, Machine
from tests.kit import amd_gpu, event, judge, log, machine, severities, states

NAME = "gpu-page-fault"
BDF = "0000:23:00.0"


def of(*events: LogEvent, complete: bool = True) -> Machine:
    return machine(amd_gpu(), kernel=Kernel(log=log(*events, complete=complete)))


def fault(**changes: Any) -> LogEvent:
    return event("gpu-page-fault", bdf=BDF, **{"age_s": 30.0, "vmid": 8, "process": "python3", **changes})


def test_a_recent_fault_warns_and_does_not_blame_the_machine() -> None:
    (verdict,) = judge(NAME, of(fault(), fault()))
    assert verdict.finding is not None
    assert (verdict.finding.severity, verdict.finding.cause) == ("warning", "not-environment")
    assert "twice" in verdict.finding.message
    assert "python3" not in verdict.finding.message


def test_the_driver_itself_is_told_from_programs() -> None:
    (verdict,) = judge(NAME, of(fault(vmid=0)))
    assert verdict.finding is not None
    assert (verdict.finding.cause, verdict.finding.confidence) == ("gpu-firmware", "possible")
    assert "VMID 0" in verdict.finding.message


def test_old_faults_are_notes() -> None:
    assert severities(judge(NAME, of(fault(age_s=200_000.0)))) == ["info"]
    assert severities(judge(NAME, of(fault(before_driver_load=True)))) == ["info"]


def test_quiet_excerpt_and_no_gpu() -> None:
    assert states(judge(NAME, of())) == ["pass"]
    assert states(judge(NAME, of(complete=False))) == ["unknown"]
    assert states(judge(NAME, machine())) == ["not-applicable"]

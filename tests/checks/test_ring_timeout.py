from __future__ import annotations

from typing import Any

from rocdoctor.model.facts import Kernel, LogEvent, Machine
from tests.kit import amd_gpu, event, judge, log, machine, severities, states

NAME = "ring-timeout"
BDF = "0000:23:00.0"


def of(*events: LogEvent, complete: bool = True) -> Machine:
    return machine(amd_gpu(), kernel=Kernel(log=log(*events, complete=complete)))


def hang(process: str = "python3", **changes: Any) -> LogEvent:
    return event("gpu-ring-timeout", bdf=BDF, **{"age_s": 600.0, "ring": "comp_1.0.0", "process": process, **changes})


def test_one_timeout_warns_and_does_not_name_the_program() -> None:
    (verdict,) = judge(NAME, of(hang()))
    assert verdict.finding is not None
    assert (verdict.finding.severity, verdict.finding.cause) == ("warning", "not-environment")
    assert verdict.finding.confidence == "possible"
    assert "ring timeout (comp_1.0.0) occurred once, last 10 min before the end of the log" in verdict.finding.message
    assert "python3" not in verdict.finding.message


def test_a_long_job_on_a_compute_ring_may_need_more_time() -> None:
    """Queues of ROCm have no ring timeout: who is reset on a compute ring computes with Vulkan or Mesa."""
    for ring, asked in (("comp_1.1.0", True), ("gfx_0.0.0", False)):
        (verdict,) = judge(NAME, of(hang(ring=ring)))
        assert verdict.finding is not None and verdict.finding.fix is not None
        assert ("lockup_timeout" in verdict.finding.fix.text) is asked


def test_one_program_again_and_again_stays_a_warning() -> None:
    assert severities(judge(NAME, of(hang(), hang(), hang(), hang()))) == ["warning"]


def test_several_programs_again_and_again_are_an_error_with_a_possible_cause() -> None:
    (verdict,) = judge(NAME, of(hang(), hang("Xorg"), hang("blender")))
    assert verdict.finding is not None
    assert (verdict.finding.severity, verdict.finding.confidence) == ("error", "possible")
    assert "3 different programs" in verdict.finding.message


def test_history_and_soft_recovery_are_notes_and_resume_passes() -> None:
    assert severities(judge(NAME, of(hang(before_driver_load=True)))) == ["info"]
    assert severities(judge(NAME, of(hang(age_s=500_000.0)))) == ["info"]
    assert severities(judge(NAME, of(event("gpu-ring-soft-recovered", bdf=BDF, ring="gfx_0.0.0")))) == ["info"]
    assert states(judge(NAME, of(hang(during_resume=True)))) == ["pass"]


def test_quiet_excerpt_and_no_gpu() -> None:
    assert states(judge(NAME, of())) == ["pass"]
    assert states(judge(NAME, of(complete=False))) == ["unknown"]
    assert states(judge(NAME, machine())) == ["not-applicable"]

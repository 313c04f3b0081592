from __future__ import annotations

from rocdoctor.model.facts import Kernel, LogEvent, Machine
from tests.kit import amd_gpu, event, judge, log, machine, severities, states

NAME = "vram-lost"


def of(*events: LogEvent, complete: bool = True) -> Machine:
    return machine(amd_gpu(), kernel=Kernel(log=log(*events, complete=complete)))


def test_lost_memory_warns_with_its_age() -> None:
    (verdict,) = judge(NAME, of(event("gpu-vram-lost", age_s=10_800.0)))
    assert verdict.finding is not None
    assert verdict.finding.severity == "warning"
    assert "VRAM once, last 3 h before the end of the log" in verdict.finding.message


def test_a_resume_passes_and_history_is_a_note() -> None:
    assert states(judge(NAME, of(event("gpu-vram-lost", during_resume=True)))) == ["pass"]
    assert severities(judge(NAME, of(event("gpu-vram-lost", before_driver_load=True)))) == ["info"]
    assert severities(judge(NAME, of(event("gpu-vram-lost", age_s=900_000.0)))) == ["info"]


def test_quiet_excerpt_and_no_gpu() -> None:
    assert states(judge(NAME, of())) == ["pass"]
    assert states(judge(NAME, of(complete=False))) == ["unknown"]
    assert states(judge(NAME, machine())) == ["not-applicable"]

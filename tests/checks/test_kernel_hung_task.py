from __future__ import annotations

from typing import Any

from rocdoctor.model.facts import Kernel, LogEvent, Machine
from tests.kit import amd_gpu, event, judge, log, machine, severities, states

NAME = "kernel-hung-task"


def of(*events: LogEvent, complete: bool = True) -> Machine:
    return machine(amd_gpu(), kernel=Kernel(log=log(*events, complete=complete)))


def hung(process: str = "python3", **changes: Any) -> LogEvent:
    return event("hung-task", **{"time_s": 5000.0, "age_s": 900.0, "process": process, "seconds": 120, **changes})


def test_a_task_of_the_driver_or_beside_gpu_trouble_warns() -> None:
    (verdict,) = judge(NAME, of(hung("kworker/u64:2+amdgpu-reset-dev")))
    assert verdict.finding is not None
    assert verdict.finding.severity == "warning"
    assert "15 min before the end of the log" in verdict.finding.message
    beside = event("gpu-ring-timeout", bdf="0000:23:00.0", time_s=4800.0)
    assert severities(judge(NAME, of(beside, hung()))) == ["warning"]
    assert severities(judge(NAME, of(event("nvidia-xid", time_s=4800.0, xid=119), hung()))) == ["warning"]


def test_a_slow_file_system_and_trouble_of_another_day_are_notes() -> None:
    assert severities(judge(NAME, of(hung("nfsd")))) == ["info"]
    assert severities(judge(NAME, of(event("gpu-ring-timeout", time_s=100.0), hung()))) == ["info"]
    assert severities(judge(NAME, of(event("nvidia-xid", time_s=4800.0, xid=31), hung()))) == ["info"]
    assert severities(judge(NAME, of(hung("amdgpu-reset", age_s=500_000.0)))) == ["info"]


def test_quiet_and_excerpt() -> None:
    assert states(judge(NAME, of())) == ["pass"]
    assert states(judge(NAME, of(complete=False))) == ["unknown"]


def test_trouble_of_an_earlier_driver_load_is_no_tie() -> None:
    before = event("gpu-ring-timeout", time_s=4800.0, before_driver_load=True)
    assert severities(judge(NAME, of(before, hung()))) == ["info"]

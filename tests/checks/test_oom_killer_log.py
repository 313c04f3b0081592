from __future__ import annotations

from rocdoctor.model.facts import Kernel, LogEvent, Machine
from tests.kit import event, judge, log, machine, severities, states, u

NAME = "oom-killer-log"


def of(*events: LogEvent, complete: bool = True) -> Machine:
    return machine(kernel=Kernel(log=log(*events, complete=complete)))


def test_a_killed_process_warns_also_without_a_gpu_and_is_not_named() -> None:
    (verdict,) = judge(NAME, of(event("out-of-memory-kill", age_s=7200.0, process="python3", scope="system")))
    assert verdict.finding is not None
    assert (verdict.finding.severity, verdict.finding.cause) == ("warning", "out-of-memory")
    assert "main memory ran out, last 2 h before the end of the log" in verdict.finding.message
    assert "python3" not in verdict.finding.message


def test_the_limit_of_a_container_is_told_apart() -> None:
    for values in ({"scope": "cgroup"}, {"constraint": "CONSTRAINT_MEMCG"}):
        (verdict,) = judge(NAME, of(event("out-of-memory-kill", age_s=60.0, **values)))
        assert verdict.finding is not None
        assert "limit of a container or job" in verdict.finding.message


def test_last_week_is_a_note() -> None:
    assert severities(judge(NAME, of(event("out-of-memory-kill", age_s=700_000.0)))) == ["info"]


def test_quiet_excerpt_and_closed_log() -> None:
    assert states(judge(NAME, of(event("oom-killer-invoked")))) == ["pass"]
    assert states(judge(NAME, of(complete=False))) == ["unknown"]
    assert states(judge(NAME, machine(kernel=Kernel(log=u())))) == ["unknown"]

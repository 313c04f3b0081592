"""The check job-rank-missing."""

from __future__ import annotations

from dataclasses import replace

from rocdoctor.model.finding import Verdict
from tests.job_kit import job, process, rank
from tests.kit import judge, machine, states, u

NAME = "job-rank-missing"


def verdicts(*family: object, **changes: object) -> list[Verdict]:
    return judge(NAME, machine(job=job(*family, **changes)))  # type: ignore[arg-type]


def test_jobs_without_ranks_are_not_judged() -> None:
    assert states(judge(NAME, machine())) == ["not-applicable"]
    assert states(verdicts()) == ["not-applicable"]
    assert states(verdicts(processes=u())) == ["unknown"]


def test_all_ranks_there_pass() -> None:
    assert states(verdicts(rank(0, 2, 100, "self"), rank(1, 2, 101))) == ["pass"]
    assert states(verdicts(rank(0, 1, 100, "self"))) == ["pass"]


def test_the_missing_rank_is_named() -> None:
    (verdict,) = verdicts(rank(0, 4, 100, "self"), rank(1, 4, 101), rank(3, 4, 103))
    assert verdict.finding is not None
    assert verdict.finding.severity == "warning"
    assert verdict.finding.message.startswith("Local rank 2 is gone: the launcher started 4 ranks here, 3 still live")


def test_the_launcher_itself_may_be_named() -> None:
    agent = process(100, "self", 50, name="torchrun")
    family = [replace(rank(number, 4, 200 + number, "descendant"), parent_pid=100) for number in (0, 1, 2)]
    (verdict,) = verdicts(agent, *family)
    assert verdict.finding is not None
    assert "Local rank 3 is gone" in verdict.finding.message


def test_a_killed_rank_is_an_error() -> None:
    killed = process(101, "sibling", 90, state="Z", lasting=True, exit_signal=9)
    (verdict,) = verdicts(rank(0, 2, 100, "self"), killed)
    assert verdict.finding is not None
    assert verdict.finding.severity == "error"
    assert "ended by signal 9" in verdict.finding.evidence[1].value


def test_another_run_beside_it_is_not_counted() -> None:
    other = rank(1, 2, 300)
    other = replace(other, variables={**(other.variables or {}), "MASTER_PORT": "29501"})
    (verdict,) = verdicts(rank(0, 2, 100, "self"), other)
    assert verdict.finding is not None
    assert "Local rank 1 is gone" in verdict.finding.message


def test_ranks_that_may_live_elsewhere_are_not_missed() -> None:
    alone = process(100, "self", 90, variables={"LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "4"})
    assert states(verdicts(alone)) == ["unknown"]


def test_hidden_processes_leave_it_open() -> None:
    hidden = process(101, "sibling", 90, variables=None)
    assert states(verdicts(rank(0, 2, 100, "self"), hidden)) == ["unknown"]

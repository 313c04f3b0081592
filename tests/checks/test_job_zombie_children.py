"""The check job-zombie-children."""

from __future__ import annotations

from rocdoctor.model.finding import Verdict
from tests.job_kit import job, process, rank
from tests.kit import judge, machine, severities, states, u

NAME = "job-zombie-children"


def verdicts(*family: object, **changes: object) -> list[Verdict]:
    return judge(NAME, machine(job=job(*family, **changes)))  # type: ignore[arg-type]


def test_living_children_and_none_pass() -> None:
    assert states(judge(NAME, machine())) == ["not-applicable"]
    assert states(verdicts()) == ["pass"]
    assert states(verdicts(process(101), process(102))) == ["pass"]
    assert states(verdicts(processes=u())) == ["unknown"]


def test_a_zombie_that_is_gone_a_second_later_is_healthy() -> None:
    assert states(verdicts(process(101, state="Z", exit_signal=9))) == ["pass"]


def test_a_killed_worker_is_at_risk() -> None:
    (verdict,) = verdicts(process(101, state="Z", lasting=True, exit_signal=9))
    assert verdict.finding is not None
    assert verdict.finding.severity == "warning"
    assert verdict.finding.message.startswith("1 Python process of this job ended by SIGKILL (the OOM killer")


def test_a_worker_that_ended_for_no_known_reason_is_a_note() -> None:
    assert severities(verdicts(process(101, state="Z", lasting=True))) == ["info"]
    assert severities(verdicts(process(101, state="Z", lasting=True, name="git", exit_status=1))) == ["info"]


def test_exit_statuses_are_told() -> None:
    (verdict,) = verdicts(process(101, state="Z", lasting=True, exit_status=1, name="pt_data_worker"))
    assert verdict.finding is not None
    assert "with exit status 1" in verdict.finding.message


def test_a_dead_rank_beside_this_one_counts_and_strangers_do_not() -> None:
    dead = process(200, "sibling", 90, state="Z", lasting=True, exit_signal=11)
    assert severities(verdicts(rank(0, 2, 100, "self"), dead)) == ["warning"]
    assert states(verdicts(dead)) == ["pass"]

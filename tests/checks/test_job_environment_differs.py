"""The check job-environment-differs."""

from __future__ import annotations

from rocdoctor.model.finding import Verdict
from tests.job_kit import job, rank
from tests.kit import environment, judge, machine, states

NAME = "job-environment-differs"


def verdicts(own: dict[str, str], shell: dict[str, str], whole: bool = True, *family: object) -> list[Verdict]:
    one = job(*family, shell=environment(shell, whole))  # type: ignore[arg-type]
    return judge(NAME, machine(job=one, environment=environment(own, complete=False)))


def test_equal_settings_pass() -> None:
    assert states(judge(NAME, machine())) == ["not-applicable"]
    assert states(verdicts({"NCCL_DEBUG": "INFO", "A": "1"}, {"NCCL_DEBUG": "INFO", "A": "2"})) == ["pass"]


def test_what_cannot_be_read_is_unknown() -> None:
    assert states(verdicts({}, {"NCCL_DEBUG": "INFO"})) == ["unknown"]
    assert states(verdicts({"NCCL_DEBUG": "INFO"}, {}, False)) == ["unknown"]


def test_differences_are_told_with_both_values() -> None:
    (verdict,) = verdicts({"HSA_OVERRIDE_GFX_VERSION": "11.0.0", "PATH": "/a"}, {"NCCL_DEBUG": "INFO", "PATH": "/b"})
    assert verdict.finding is not None
    assert verdict.finding.severity == "info"
    assert "2 variables" in verdict.finding.message
    values = [one.value for one in verdict.finding.evidence]
    assert values == [
        "HSA_OVERRIDE_GFX_VERSION: job: 11.0.0; this shell: (unset)",
        "NCCL_DEBUG: job: (unset); this shell: INFO",
    ]


def test_what_launchers_set_is_no_difference() -> None:
    own = {"OMP_NUM_THREADS": "1", "TORCH_NCCL_ASYNC_ERROR_HANDLING": "1", "LOCAL_RANK": "0"}
    assert states(verdicts(own, {}, True, rank(0, 2, 100, "self"))) == ["pass"]

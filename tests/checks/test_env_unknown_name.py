from __future__ import annotations

from tests.kit import environment, judge, machine, severities, states

NAME = "env-unknown-name"


def test_known_names_and_names_of_others_pass() -> None:
    values = {
        "NCCL_DEBUG": "INFO",
        "PATH": "/bin",
        "SLURM_JOB_ID": "1",
        "NCCL_PLUGIN_OF_SOMEBODY": "1",
        "HCCL_DEBUG": "1",
    }
    assert states(judge(NAME, machine(environment=environment(values)))) == ["pass"]


def test_an_older_name_that_is_still_read_passes() -> None:
    values = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True", "NCCL_ASYNC_ERROR_HANDLING": "1"}
    assert states(judge(NAME, machine(environment=environment(values)))) == ["pass"]


def test_a_misspelt_name_is_a_note_with_the_right_one() -> None:
    (verdict,) = judge(NAME, machine(environment=environment({"HIP_VISIBLE_DEVICE": "0"})))
    assert verdict.finding is not None
    assert severities([verdict]) == ["info"]
    assert "HIP_VISIBLE_DEVICES was probably meant" in verdict.finding.message


def test_a_name_that_never_existed_is_a_note_with_the_one_that_is_read() -> None:
    (verdict,) = judge(NAME, machine(environment=environment({"RCCL_DEBUG": "INFO"})))
    assert verdict.finding is not None
    assert "RCCL_DEBUG is read by no library; NCCL_DEBUG is." in verdict.finding.message


def test_a_removed_name_is_a_note() -> None:
    (verdict,) = judge(NAME, machine(environment=environment({"NCCL_TREE_THRESHOLD": "0"})))
    assert verdict.finding is not None
    assert "no longer read" in verdict.finding.message


def test_an_excerpt_is_unknown() -> None:
    assert states(judge(NAME, machine())) == ["unknown"]

from __future__ import annotations

from dataclasses import replace

import pytest

from rocdoctor.model.facts import TorchBuild
from tests.kit import amd_gpu, environment, judge, k, machine, nvidia_gpu, severities, states

NAME = "visible-devices-hides-all"
TWO = (amd_gpu(), amd_gpu(1))


@pytest.mark.parametrize(
    ("name", "value", "severity"),
    [
        ("ROCR_VISIBLE_DEVICES", "2", "error"),
        ("HIP_VISIBLE_DEVICES", "4,0", "error"),
        # what people write to hide GPUs on purpose
        ("HIP_VISIBLE_DEVICES", "-1", "warning"),
        ("ROCR_VISIBLE_DEVICES", "", "warning"),
        ("HIP_VISIBLE_DEVICES", "", "warning"),
        ("CUDA_VISIBLE_DEVICES", "none", "warning"),
    ],
)
def test_a_list_that_leaves_nothing_is_told(name: str, value: str, severity: str) -> None:
    (verdict,) = judge(NAME, machine(*TWO, environment=environment({name: value})))
    assert verdict.finding is not None and verdict.finding.fix is not None
    assert verdict.finding.severity == severity
    assert verdict.finding.cause == "visible-devices-conflict"
    assert "hides every GPU" in verdict.finding.message
    assert "two GPUs" in verdict.finding.message
    assert verdict.finding.fix.command == f"unset {name}"


def test_a_list_of_which_a_part_exists_is_a_warning() -> None:
    (verdict,) = judge(NAME, machine(*TWO, environment=environment({"HIP_VISIBLE_DEVICES": "1,2,0"})))
    assert verdict.finding is not None
    assert verdict.finding.severity == "warning"
    assert "'2' names no GPU" in verdict.finding.message
    assert "only 1 is used" in verdict.finding.message


@pytest.mark.parametrize("value", ["0", "1", "0,1", "1, 0", "GPU-4f2c1a9b7d3e5f60"])
def test_a_choice_of_existing_gpus_is_healthy(value: str) -> None:
    assert states(judge(NAME, machine(*TWO, environment=environment({"HIP_VISIBLE_DEVICES": value})))) == ["pass"]


def test_what_a_scheduler_set_is_left_alone() -> None:
    subset = environment({"SLURM_JOB_ID": "17", "ROCR_VISIBLE_DEVICES": "0"})
    assert states(judge(NAME, machine(*TWO, environment=subset))) == ["pass"]
    beyond = environment({"SLURM_JOB_ID": "17", "ROCR_VISIBLE_DEVICES": "1,5"})
    assert states(judge(NAME, machine(*TWO, environment=beyond))) == ["pass"]
    none = environment({"SLURM_JOB_ID": "17", "CUDA_VISIBLE_DEVICES": "NoDevFiles"})
    assert severities(judge(NAME, machine(nvidia_gpu(), environment=none))) == ["info"]


def test_nvidia_gpus_follow_the_cuda_variable_alone() -> None:
    assert severities(judge(NAME, machine(nvidia_gpu(), environment=environment({"CUDA_VISIBLE_DEVICES": ""})))) == [
        "warning"
    ]
    assert states(judge(NAME, machine(nvidia_gpu(), environment=environment({"HIP_VISIBLE_DEVICES": "-1"})))) == [
        "pass"
    ]
    mig = machine(nvidia_gpu(mig=True), environment=environment({"CUDA_VISIBLE_DEVICES": "3"}))
    assert states(judge(NAME, mig)) == ["pass"]


def test_an_excerpt_only_accuses_by_the_value_itself() -> None:
    of = replace(machine(*TWO, environment=environment({"HIP_VISIBLE_DEVICES": "7"}, False)), gpus_complete=False)
    assert states(judge(NAME, of)) == ["unknown"]
    of = replace(of, environment=environment({"HIP_VISIBLE_DEVICES": "-1"}, False))
    (verdict,) = judge(NAME, of)
    assert verdict.finding is not None
    assert (verdict.finding.severity, verdict.finding.confidence) == ("warning", "likely")


def test_numbers_mean_nothing_where_the_gpus_are_not_counted() -> None:
    of = replace(machine(*TWO, environment=environment({"HIP_VISIBLE_DEVICES": "7"})), gpus_complete=False)
    (verdict,) = judge(NAME, of)
    assert (verdict.state, verdict.why) == ("unknown", "how many GPUs there are is not in this evidence")


def test_two_vendors_need_a_torch_that_tells_which_one_counts() -> None:
    of = machine(amd_gpu(), nvidia_gpu(1), environment=environment({"CUDA_VISIBLE_DEVICES": "-1"}))
    assert states(judge(NAME, of)) == ["not-applicable"]
    cuda = TorchBuild(version=k("2.9.0"), hip=k(None), cuda=k("12.8"))
    assert severities(judge(NAME, replace(of, torch=cuda))) == ["warning"]


def test_unset_unknown_and_not_applicable() -> None:
    assert states(judge(NAME, machine(*TWO, environment=environment({})))) == ["pass"]
    assert states(judge(NAME, machine(*TWO))) == ["unknown"]
    assert states(judge(NAME, machine(environment=environment({"HIP_VISIBLE_DEVICES": "-1"})))) == ["not-applicable"]

from __future__ import annotations

from dataclasses import replace

from rocdoctor.model.finding import Verdict
from tests.kit import amd_gpu, environment, judge, machine, nvidia_gpu, severities, states

NAME = "visible-devices-conflict"
FOUR = tuple(amd_gpu(index) for index in range(4))


def verdicts(**values: str) -> list[Verdict]:
    return judge(NAME, machine(*FOUR, environment=environment(values)))


def test_a_second_list_that_points_past_the_end_is_an_error() -> None:
    (verdict,) = verdicts(ROCR_VISIBLE_DEVICES="1", HIP_VISIBLE_DEVICES="1")
    assert verdict.finding is not None
    assert verdict.finding.severity == "error"
    assert verdict.finding.cause == "visible-devices-conflict"
    assert verdict.finding.message == (
        "ROCR_VISIBLE_DEVICES=1 is applied first, after which one GPU is left and numbered from 0; "
        "HIP_VISIBLE_DEVICES=1 then points past the end, so no GPU is left."
    )
    assert len(verdict.finding.evidence) == 2


def test_the_same_holds_where_the_number_of_gpus_is_not_known() -> None:
    of = replace(
        machine(amd_gpu(), environment=environment({"ROCR_VISIBLE_DEVICES": "1", "HIP_VISIBLE_DEVICES": "1"}, False)),
        gpus_complete=False,
    )
    (verdict,) = judge(NAME, of)
    assert verdict.finding is not None
    assert (verdict.finding.severity, verdict.finding.confidence) == ("error", "likely")


def test_the_cuda_name_counts_while_hip_is_not_set() -> None:
    assert severities(verdicts(ROCR_VISIBLE_DEVICES="2,3", CUDA_VISIBLE_DEVICES="2,3")) == ["error"]


def test_a_part_past_the_end_and_unlike_lists_are_warnings() -> None:
    assert severities(verdicts(ROCR_VISIBLE_DEVICES="1,2", HIP_VISIBLE_DEVICES="1,2")) == ["warning"]
    assert severities(verdicts(HIP_VISIBLE_DEVICES="0,1", CUDA_VISIBLE_DEVICES="2,3")) == ["warning"]


def test_lists_that_agree_are_healthy() -> None:
    assert states(verdicts(ROCR_VISIBLE_DEVICES="0,1", HIP_VISIBLE_DEVICES="0,1")) == ["pass"]
    assert states(verdicts(ROCR_VISIBLE_DEVICES="2,3", HIP_VISIBLE_DEVICES="0,1")) == ["pass"]
    assert states(verdicts(HIP_VISIBLE_DEVICES="2, 3", CUDA_VISIBLE_DEVICES="2,3")) == ["pass"]
    assert states(verdicts(HIP_VISIBLE_DEVICES="2,3")) == ["pass"]


def test_what_a_scheduler_set_is_no_fault() -> None:
    together = {"ROCR_VISIBLE_DEVICES": "2", "HIP_VISIBLE_DEVICES": "2", "SLURM_JOB_ID": "9"}
    assert severities(judge(NAME, machine(*FOUR, environment=environment(together)))) == ["info"]
    unlike = {"CUDA_VISIBLE_DEVICES": "1", "HIP_VISIBLE_DEVICES": "2", "SLURM_JOB_ID": "9"}
    assert states(judge(NAME, machine(*FOUR, environment=environment(unlike)))) == ["pass"]


def test_unknown_and_not_applicable() -> None:
    assert states(judge(NAME, machine(*FOUR))) == ["unknown"]
    assert states(judge(NAME, machine(*FOUR, environment=environment({})))) == ["pass"]
    both = environment({"ROCR_VISIBLE_DEVICES": "1", "HIP_VISIBLE_DEVICES": "1"})
    assert states(judge(NAME, machine(amd_gpu(), nvidia_gpu(1), environment=both))) == ["not-applicable"]
    assert states(judge(NAME, machine(nvidia_gpu(), environment=both))) == ["not-applicable"]


def test_a_variable_of_rocm_alone_is_enough_where_no_gpu_is_known() -> None:
    both = environment({"ROCR_VISIBLE_DEVICES": "0,3,4,7", "HIP_VISIBLE_DEVICES": "0,3,4,7"}, complete=False)
    (verdict,) = judge(NAME, machine(gpus_complete=False, environment=both))
    assert verdict.finding is not None and "4 GPUs are left" in verdict.finding.message
    alone = environment({"HIP_VISIBLE_DEVICES": "1", "CUDA_VISIBLE_DEVICES": "2"}, complete=False)
    assert states(judge(NAME, machine(gpus_complete=False, environment=alone))) == ["not-applicable"]

from __future__ import annotations

from tests.kit import amd_gpu, environment, judge, machine, nvidia_gpu, severities, states

NAME = "env-wrong-value"


def test_right_values_pass() -> None:
    values = {"NCCL_DEBUG": "INFO", "OMP_NUM_THREADS": "8", "SLURM_NTASKS": "x", "WORLD_SIZE": "$((2*8))"}
    assert states(judge(NAME, machine(environment=environment(values)))) == ["pass"]


def test_a_number_that_is_none_is_a_warning_with_the_line() -> None:
    (verdict,) = judge(NAME, machine(environment=environment({"OMP_NUM_THREADS": "auto"})))
    assert verdict.finding is not None
    assert verdict.finding.severity == "warning"
    assert "OMP_NUM_THREADS is auto" in verdict.finding.message
    assert verdict.finding.evidence[0].line == 1


def test_what_matters_little_is_a_note() -> None:
    assert severities(judge(NAME, machine(environment=environment({"NCCL_DEBUG": "debug"})))) == ["info"]


def test_a_variable_of_another_vendor_does_nothing_here() -> None:
    values = environment({"CUDA_DEVICE_ORDER": "RANDOM"})
    assert severities(judge(NAME, machine(nvidia_gpu(), environment=values))) == ["info"]
    assert severities(judge(NAME, machine(amd_gpu(), environment=values))) == []


def test_an_excerpt_is_unknown_unless_it_shows_a_fault() -> None:
    assert states(judge(NAME, machine())) == ["unknown"]
    assert states(judge(NAME, machine(environment=environment({"OMP_NUM_THREADS": "0"}, complete=False)))) == ["fail"]

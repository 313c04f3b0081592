from __future__ import annotations

import pytest

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


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("max_split_size_mb:10", "at least 20"),
        ("expandable_segments:true", "True or False"),
        ("max_split_size_mb=128", "max_split_size_mb:value"),
        ("max_splt_size_mb:128", "max_split_size_mb was probably meant"),
        ("garbage_collection_threshold:80", "between 0 and 1"),
        ("roundup_power2_divisions:3", "powers of two"),
        ("backend:cuda", "native"),
        ("expandable_segments:True max_split_size_mb:128", "True or False"),
    ],
)
def test_allocator_options_that_torch_does_not_take(value: str, words: str) -> None:
    (verdict,) = judge(NAME, machine(environment=environment({"PYTORCH_CUDA_ALLOC_CONF": value})))
    assert verdict.finding is not None
    assert verdict.finding.severity == "warning"
    assert words in verdict.finding.message


@pytest.mark.parametrize(
    "value",
    [
        "expandable_segments:True",
        "max_split_size_mb:512,garbage_collection_threshold:0.8",
        "backend:cudaMallocAsync",
        "roundup_power2_divisions:[256:1,512:2,1024:4,>:8]",
        "option_of_the_future:7",
        "garbage_collection_threshold: 0.6, max_split_size_mb: 128",
        "$CONF",
        "per_process_memory_fraction:1.0",
    ],
)
def test_allocator_options_that_torch_takes(value: str) -> None:
    assert states(judge(NAME, machine(environment=environment({"PYTORCH_ALLOC_CONF": value})))) == ["pass"]


def test_an_override_that_no_runtime_takes_needs_no_gpu_to_be_wrong() -> None:
    values = environment({"HSA_OVERRIDE_GFX_VERSION": "gfx1030"})
    assert severities(judge(NAME, machine(environment=values))) == ["warning"]
    assert severities(judge(NAME, machine(amd_gpu(), environment=values))) == []
    assert states(judge(NAME, machine(environment=environment({"HSA_OVERRIDE_GFX_VERSION": "10.3.0"})))) == ["pass"]


def test_nccl_switches_are_numbers() -> None:
    assert severities(judge(NAME, machine(environment=environment({"NCCL_IB_DISABLE": "true"})))) != []
    assert severities(judge(NAME, machine(environment=environment({"NCCL_IB_DISABLE": "1"})))) == []

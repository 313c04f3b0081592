from __future__ import annotations

from dataclasses import replace

import pytest

from rocdoctor.model.finding import Verdict
from tests.kit import amd_gpu, environment, judge, machine, nvidia_gpu, severities, states
from tests.message_kit import pasted

NAME = "debug-variables-on"


def verdicts(**values: str) -> list[Verdict]:
    return judge(NAME, machine(amd_gpu(), environment=environment(values)))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("AMD_SERIALIZE_KERNEL", "3"),
        ("AMD_SERIALIZE_COPY", "1"),
        ("HIP_LAUNCH_BLOCKING", "1"),
        ("TORCH_NCCL_BLOCKING_WAIT", "1"),
        ("TORCH_DISTRIBUTED_DEBUG", "DETAIL"),
        ("AMD_LOG_LEVEL", "4"),
        ("PYTORCH_NO_CUDA_MEMORY_CACHING", "1"),
        ("TRITON_INTERPRET", "1"),
    ],
)
def test_what_costs_speed_is_a_warning(name: str, value: str) -> None:
    (verdict,) = verdicts(**{name: value})
    assert verdict.finding is not None and verdict.finding.fix is not None
    assert verdict.finding.severity == "warning"
    assert verdict.finding.cause == "debug-env-left-on"
    assert verdict.finding.message.startswith(f"{name} is {value}")
    assert verdict.finding.fix.command == f"unset {name}"


def test_the_switch_of_cuda_costs_nvidia_gpus_and_is_only_noted_for_amd() -> None:
    set_ = environment({"CUDA_LAUNCH_BLOCKING": "1"})
    assert severities(judge(NAME, machine(nvidia_gpu(), environment=set_))) == ["warning"]
    assert severities(judge(NAME, machine(amd_gpu(), environment=set_))) == ["info"]
    assert states(judge(NAME, machine(nvidia_gpu(), environment=environment({"AMD_SERIALIZE_KERNEL": "3"})))) == [
        "pass"
    ]


def test_loud_logging_is_worth_knowing() -> None:
    assert severities(verdicts(NCCL_DEBUG="TRACE")) == ["info"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("NCCL_DEBUG", "INFO"),
        ("NCCL_DEBUG", "WARN"),
        ("AMD_LOG_LEVEL", "0"),
        ("HIP_LAUNCH_BLOCKING", "0"),
        ("TORCH_DISTRIBUTED_DEBUG", "OFF"),
        ("NCCL_DEBUG_SUBSYS", "INIT"),
        ("OMP_NUM_THREADS", "8"),
        ("TORCH_SHOW_CPP_STACKTRACES", "1"),
        ("AMD_SERIALIZE_KERNEL", "0"),
    ],
)
def test_ordinary_settings_are_silent(name: str, value: str) -> None:
    assert states(verdicts(**{name: value})) == ["pass"]


def test_each_variable_has_a_finding_of_its_own() -> None:
    assert severities(verdicts(HIP_LAUNCH_BLOCKING="1", AMD_SERIALIZE_KERNEL="3")) == ["warning", "warning"]


def test_excerpts() -> None:
    nothing = replace(machine(), gpus_complete=False)
    assert states(judge(NAME, nothing)) == ["unknown"]
    seen = replace(nothing, environment=environment({"CUDA_LAUNCH_BLOCKING": "1"}, False))
    assert severities(judge(NAME, seen)) == ["warning"]


@pytest.mark.parametrize(
    "text",
    [
        "RuntimeError: CUDA error: device-side assert triggered",
        "HIP error: invalid device function\nCompile with `TORCH_USE_HIP_DSA` to enable device-side assertions.",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
        "Memory access fault by GPU node-1 (Agent handle: 0x55d0) on address 0x7f00. Reason: Page not present.",
    ],
)
def test_a_switch_set_for_the_failure_that_the_text_shows_is_only_noted(text: str) -> None:
    set_ = environment({"CUDA_LAUNCH_BLOCKING": "1", "TORCH_DISTRIBUTED_DEBUG": "DETAIL"}, False)
    assert severities(judge(NAME, pasted(text, nvidia_gpu(), environment=set_))) == ["info", "info"]


def test_a_slow_job_is_no_failure() -> None:
    set_ = environment({"CUDA_LAUNCH_BLOCKING": "1"}, False)
    text = "epoch 3: 0.9 it/s, it was 3.1 it/s\nNCCL INFO comm 0x1 rank 0 nranks 4 - Init COMPLETE"
    assert severities(judge(NAME, pasted(text, nvidia_gpu(), environment=set_))) == ["warning"]


def test_without_gpus_it_does_not_apply() -> None:
    assert states(judge(NAME, machine(environment=environment({"HIP_LAUNCH_BLOCKING": "1"})))) == ["not-applicable"]

"""env-old-name: old names of variables, and two names that disagree."""

from __future__ import annotations

import pytest

from tests.kit import environment, judge, machine


def _states(values: dict[str, str], complete: bool = True) -> list[tuple[str, str]]:
    found = judge("env-old-name", machine(environment=environment(values, complete)))
    return [(one.state, one.finding.severity if one.finding else "") for one in found]


def test_two_names_with_different_values_are_a_warning_that_says_which_counts() -> None:
    values = {"NCCL_BLOCKING_WAIT": "1", "TORCH_NCCL_BLOCKING_WAIT": "0"}
    (verdict,) = judge("env-old-name", machine(environment=environment(values)))
    assert verdict.finding is not None
    assert verdict.finding.severity == "warning"
    assert verdict.finding.message.endswith("TORCH_NCCL_BLOCKING_WAIT takes precedence.")
    assert verdict.finding.fix is not None
    assert verdict.finding.fix.command == "unset NCCL_BLOCKING_WAIT"


def test_the_newest_allocator_name_counts() -> None:
    values = {"PYTORCH_HIP_ALLOC_CONF": "max_split_size_mb:128", "PYTORCH_ALLOC_CONF": "expandable_segments:True"}
    (verdict,) = judge("env-old-name", machine(environment=environment(values)))
    assert verdict.finding is not None
    assert "PYTORCH_ALLOC_CONF takes precedence" in verdict.finding.message


def test_an_old_name_alone_is_worth_knowing() -> None:
    assert _states({"NCCL_ASYNC_ERROR_HANDLING": "1"}) == [("fail", "info")]


@pytest.mark.parametrize(
    "values",
    [
        {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"},
        {"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:64", "PYTORCH_ALLOC_CONF": "max_split_size_mb:64"},
        {"NCCL_BLOCKING_WAIT": "1", "TORCH_NCCL_BLOCKING_WAIT": "1"},
        {"NCCL_BLOCKING_WAIT": "$WAIT", "TORCH_NCCL_BLOCKING_WAIT": "0"},
        {"NCCL_MIN_NCHANNELS": "32", "NCCL_DEBUG": "INFO"},
    ],
)
def test_healthy_settings_are_silent(values: dict[str, str]) -> None:
    assert _states(values) == [("pass", "")]


def test_an_excerpt_is_not_the_whole_environment() -> None:
    assert _states({}, complete=False) == [("unknown", "")]

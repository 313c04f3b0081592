"""Pairs of versions that do not fit, against what their sources say."""

from __future__ import annotations

import pytest

from rocdoctor.knowledge.software.combinations import (
    branch_for,
    cuda_left,
    kernel_without,
    rocm_lists_system,
    torch_of,
)


@pytest.mark.parametrize(
    ("driver", "first"),
    [("470.256.02", "6.10"), ("470.300.01", None), ("390.157", "6.2"), ("580.95", None), ("550", None), ("", None)],
)
def test_the_first_kernel_that_a_driver_does_not_build_for(driver: str, first: str | None) -> None:
    assert kernel_without(driver) == first


def test_the_branch_that_a_gpu_needs() -> None:
    found = [branch_for(*pair) for pair in (("3.7", "535.1"), ("12.0", "550.54"), ("7.0", "595.45"))]
    assert [(one.branch, one.first) for one in found if one] == [(470, False), (570, True), (580, False)]
    assert [branch_for(*pair) for pair in (("3.7", "470.1"), ("8.6", "595"), ("", "550"), ("3.7", ""))] == [None] * 4


def test_the_cuda_release_that_leaves_a_gpu_out() -> None:
    pairs = (
        ("6.1", "12.8"),
        ("6.1", "12.6"),
        ("7.0", "12.9"),
        ("7.0", "13.0"),
        ("7.5", "13.2"),
        ("3.7", "11.8"),
        ("", "13.0"),
    )
    assert [cuda_left(*pair) for pair in pairs] == ["12.8", None, None, "13.0", None, None, None]


def test_the_torch_of_a_package() -> None:
    assert torch_of("torchvision", "0.19.1+cu124") == "2.4"
    assert torch_of("torchaudio", "2.1.0") == "2.1"
    assert torch_of("xformers", "0.0.28.post3") == "2.5"
    assert [torch_of("xformers", "0.0.35"), torch_of("torchvision", "0.29.1"), torch_of("vllm", "0.6.3")] == [None] * 3


def test_the_systems_of_a_rocm_release() -> None:
    assert rocm_lists_system("6.2", "ubuntu", "24.04") == (True, ("Ubuntu 22.04", "Ubuntu 24.04"))
    assert rocm_lists_system("6.2.1", "ubuntu", "25.10") == (False, ("Ubuntu 22.04", "Ubuntu 24.04"))
    assert rocm_lists_system("6.3", "rhel", "7.9") == (False, ("RHEL 8", "RHEL 9"))
    assert rocm_lists_system("7.2.1", "sles", "15.7") == (True, ("SLES 15",))
    # not read, a rebuild of what is listed, an unknown distribution
    unknown = (("6.4", "ubuntu", "25.10"), ("6.3", "rocky", "9.4"), ("6.2", "arch", ""), ("10.1", "ubuntu", "25.10"))
    assert [rocm_lists_system(*one) for one in unknown] == [None] * 4

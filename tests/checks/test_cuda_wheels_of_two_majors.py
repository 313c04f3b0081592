"""CUDA libraries of two majors in one environment. The lists are constructed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rocdoctor.model.facts import TorchBuild
from tests.kit import judge, k, states
from tests.message_kit import finding_of, pasted, words_of

CHECK = "cuda-wheels-of-two-majors"
BOTH = {"torch": "2.7.0", "nvidia-cudnn-cu11": "8.5.0.96", "nvidia-cudnn-cu12": "9.5.1.17"}
SYMBOL = (
    "ImportError: /venv/lib/python3.10/site-packages/torch/lib/libtorch_cuda.so: undefined symbol: "
    "cudaGetDriverEntryPointByVersion"
)


def _torch(packages: dict[str, str], cuda: str | None = "12.6") -> TorchBuild:
    return replace(TorchBuild(), version=k("2.7.0"), cuda=k(cuda), packages=k(packages))


def test_the_other_major_is_named() -> None:
    found = finding_of(CHECK, "", torch=_torch(BOTH))
    assert found is not None and found.severity == "warning" and found.cause == "python-package-mismatch"
    assert "cu11 and cu12: nvidia-cudnn" in found.message and "packages of cu11" in words_of(found)


def test_an_import_that_fails_makes_it_an_error() -> None:
    found = finding_of(CHECK, SYMBOL, torch=_torch(BOTH))
    assert found is not None and found.severity == "error"


@pytest.mark.parametrize(
    "packages",
    [
        {"nvidia-cublas-cu11": "11.10.3.66", "nvidia-cublas-cu12": "12.6.4.1"},
        {**BOTH, "torch": "2.7.0"},
    ],
)
def test_of_a_torch_of_unknown_cuda_it_is_only_worth_knowing(packages: dict[str, str]) -> None:
    found = finding_of(CHECK, "", torch=_torch(packages, None))
    assert found is not None and found.severity == "info"


def test_one_major_alone_is_right() -> None:
    assert states(judge(CHECK, pasted("", torch=_torch({"nvidia-cudnn-cu12": "9", "nvidia-nccl-cu12": "2"})))) == [
        "pass"
    ]
    assert states(judge(CHECK, pasted("", torch=_torch({"nvidia-cudnn-cu12": "9", "nvidia-nccl-cu11": "2"})))) == [
        "pass"
    ]
    assert states(judge(CHECK, pasted("", torch=_torch({"torch": "2.7.0"})))) == ["not-applicable"]

from __future__ import annotations

from dataclasses import replace

from rocdoctor.model.facts import CudaToolkit, TorchBuild
from tests.kit import environment, judge, k, machine, severities, states

NAME = "cuda-toolkit-mismatch"
TORCH = TorchBuild(version=k("2.0.1+cu117"), hip=k(None), cuda=k("11.7"), packages=k({"torch": "2.0.1"}))
CUDA_12 = CudaToolkit(k("12.2.0"), "/usr/local/cuda-12.2")
CUDA_11 = CudaToolkit(k("11.7.1"), "/usr/local/cuda-11.7")


def test_another_major_version_is_worth_knowing() -> None:
    (verdict,) = judge(NAME, machine(torch=TORCH, cuda_toolkits=(CUDA_12,)))
    assert verdict.finding is not None
    assert verdict.finding.severity == "info"
    assert "CUDA 11.7" in verdict.finding.message and "12.2.0" in verdict.finding.message


def test_with_deepspeed_which_compiles_at_run_time_it_is_a_warning() -> None:
    torch = replace(TORCH, packages=k({"deepspeed": "0.15.0"}))
    assert severities(judge(NAME, machine(torch=torch, cuda_toolkits=(CUDA_12,)))) == ["warning"]


def test_a_toolkit_that_fits_is_enough_and_cuda_home_decides() -> None:
    both = (CUDA_11, CUDA_12)
    assert states(judge(NAME, machine(torch=TORCH, cuda_toolkits=both))) == ["pass"]
    home = environment({"CUDA_HOME": "/usr/local/cuda-12.2/"})
    assert severities(judge(NAME, machine(torch=TORCH, cuda_toolkits=both, environment=home))) == ["info"]


def test_unknown_and_not_applicable() -> None:
    assert states(judge(NAME, machine(cuda_toolkits=(CUDA_12,)))) == ["unknown"]
    assert states(judge(NAME, machine(torch=TORCH))) == ["not-applicable"]
    rocm = TorchBuild(version=k("2.9.0+rocm6.4"), hip=k("6.4"), cuda=k(None))
    assert states(judge(NAME, machine(torch=rocm, cuda_toolkits=(CUDA_12,)))) == ["not-applicable"]

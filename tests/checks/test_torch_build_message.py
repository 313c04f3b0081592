"""What torch says of builds and drivers, judged by the GPUs. The texts are constructed from the formats of torch."""

from __future__ import annotations

from dataclasses import replace

from rocdoctor.model.facts import TorchBuild
from tests.kit import amd_gpu, judge, k, nvidia_gpu, states
from tests.message_kit import finding_of, pasted, words_of

CHECK = "torch-build-message"
OLD = "RuntimeError: The NVIDIA driver on your system is too old (found version 11040). Please update your GPU driver"


def test_a_cuda_build_on_amd() -> None:
    text = "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU"
    found = finding_of(CHECK, text, amd_gpu(), torch=replace(TorchBuild(), version=k("2.3.0")))
    assert found is not None and found.cause == "wrong-backend-build" and found.confidence == "certain"
    assert "CUDA build" in found.message and "ROCm" in words_of(found)


def test_an_old_driver_is_told_with_what_it_supports() -> None:
    torch = replace(TorchBuild(), version=k("2.3.0+cu121"), cuda=k("12.1"))
    found = finding_of(CHECK, OLD, nvidia_gpu(), torch=torch)
    assert found is not None and found.cause == "driver-too-old"
    assert "CUDA 11.4" in found.message and "CUDA 12.1" in found.message


def test_a_cpu_only_build() -> None:
    found = finding_of(CHECK, "AssertionError: Torch not compiled with CUDA enabled", amd_gpu())
    assert found is not None and found.severity == "error" and "ROCm build" in words_of(found)
    assert (alone := finding_of(CHECK, "AssertionError: Torch not compiled with CUDA enabled"))
    assert alone.severity == "warning"


def test_no_driver_on_nvidia_is_the_module_or_the_container() -> None:
    text = "RuntimeError: Found no NVIDIA driver on your system."
    found = finding_of(CHECK, text, nvidia_gpu())
    inside = finding_of(CHECK, text + "\n$ docker run -it image", nvidia_gpu())
    assert found is not None and found.cause == "kernel-module-not-loaded"
    assert inside is not None and inside.cause == "container-device-access" and "--gpus all" in words_of(inside)


def test_without_gpus_nobody_is_accused() -> None:
    assert states(judge(CHECK, pasted("Found no NVIDIA driver on your system."))) == ["not-applicable"]
    assert states(judge(CHECK, pasted("loss 0.1", amd_gpu()))) == ["not-applicable"]


def test_an_amd_gpu_that_is_named_without_its_model_is_enough() -> None:
    found = finding_of(CHECK, "On my AMD GPU: RuntimeError: Found no NVIDIA driver on your system.")
    assert found is not None and found.cause == "wrong-backend-build"
    assert "has an AMD GPU: no driver" in found.message

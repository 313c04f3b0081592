"""Toolkits that are missing or differ. The texts are constructed from the formats of torch, DeepSpeed and nvcc."""

from __future__ import annotations

from tests.kit import amd_gpu, judge, nvidia_gpu, states
from tests.message_kit import finding_of, pasted, words_of

CHECK = "toolkit-mismatch-message"


def test_both_versions_are_named() -> None:
    text = (
        "RuntimeError:\nThe detected CUDA version (12.4) mismatches the version that was used to compile\n"
        "PyTorch (11.8). Please make sure to use the same CUDA versions."
    )
    found = finding_of(CHECK, text)
    assert found is not None and found.confidence == "certain"
    assert "12.4" in found.message and "11.8" in found.message


def test_a_missing_compiler() -> None:
    found = finding_of(CHECK, "FileNotFoundError: [Errno 2] No such file or directory: '/usr/local/cuda-12.1/bin/nvcc'")
    assert found is not None and "nvcc" in found.message and "CUDA_HOME" in words_of(found)
    assert "hipcc" in words_of(finding_of(CHECK, "/bin/sh: 1: hipcc: not found"))


def test_nvcc_on_an_amd_machine_is_the_wrong_build() -> None:
    found = finding_of(CHECK, "OSError: CUDA_HOME environment variable is not set.", amd_gpu())
    assert found is not None and "hipcc" in found.message
    found = finding_of(CHECK, "sh: 1: nvcc: not found", amd_gpu())
    assert found is not None and found.cause == "wrong-backend-build"


def test_compilers_and_architectures() -> None:
    arch = finding_of(CHECK, "nvcc fatal   : Unsupported gpu architecture 'compute_90'")
    host = finding_of(CHECK, "error: #error -- unsupported GNU version! gcc versions later than 12 are not supported!")
    assert "sm_90" in words_of(arch) and "gcc-12" in words_of(host)


def test_a_build_that_works_is_silent() -> None:
    text = "nvcc: NVIDIA (R) Cuda compiler driver\nCuda compilation tools, release 12.4\nCUDA_HOME=/usr/local/cuda"
    assert states(judge(CHECK, pasted(text))) == ["not-applicable"]


def test_no_c_compiler_for_triton() -> None:
    found = finding_of(CHECK, "RuntimeError: Failed to find C compiler. Please specify via CC environment variable.")
    assert found is not None and found.confidence == "certain" and "Triton" in found.message
    assert "gcc" in words_of(found)
    assert "ptxas" in words_of(finding_of(CHECK, "RuntimeError: Cannot find ptxas"))


def test_an_accepted_minor_release_is_silent() -> None:
    text = (
        "Installed CUDA version 12.4 does not match the version torch was compiled with 12.1 but since the APIs are "
        "compatible, accepting this combination"
    )
    assert finding_of(CHECK, text) is None


def test_ptxas_on_an_amd_machine_is_the_wrong_build() -> None:
    text = "ptxas fatal   : Value 'sm_110' is not defined for option 'gpu-name'"
    found = finding_of(CHECK, text, amd_gpu())
    assert found is not None and (found.cause, found.confidence) == ("wrong-backend-build", "likely")
    other = finding_of(CHECK, text, nvidia_gpu())
    assert other is not None and other.cause != "wrong-backend-build"

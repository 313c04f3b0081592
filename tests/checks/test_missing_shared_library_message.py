"""Libraries that the loader does not find. The texts are constructed from the formats of glibc and TensorFlow."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rocdoctor.insight.software.libraries import library
from rocdoctor.model.facts import TorchBuild
from tests.kit import amd_gpu, judge, k, nvidia_gpu, states
from tests.message_kit import finding_of, pasted, words_of

CHECK = "missing-shared-library-message"


def _text(name: str) -> str:
    return f"ImportError: {name}: cannot open shared object file: No such file or directory"


def test_a_library_of_the_system_names_its_package() -> None:
    found = finding_of(CHECK, _text("libnuma.so.1"), amd_gpu())
    assert found is not None and found.cause == "missing-shared-library"
    assert "libnuma.so.1" in found.message and "libnuma1" in words_of(found)


def test_a_library_of_rocm_names_release_and_package() -> None:
    said = words_of(finding_of(CHECK, _text("libMIOpen.so.1"), amd_gpu()))
    assert "miopen-hip" in said and "/opt/rocm" in said


@pytest.mark.parametrize("name", ["libcudart.so.11.0", "libcuda.so.1"])
def test_libraries_of_nvidia_on_amd_are_a_wrong_build(name: str) -> None:
    found = finding_of(CHECK, _text(name), amd_gpu())
    assert found is not None and found.cause == "wrong-backend-build" and name in found.message


def test_cuda_on_nvidia_and_torch_itself() -> None:
    torch = replace(TorchBuild(), cuda=k("12.1"))
    assert "cu11" in words_of(finding_of(CHECK, _text("libcudart.so.11.0"), nvidia_gpu(), torch=torch))
    found = finding_of(CHECK, _text("libtorch_cuda_cu.so"), nvidia_gpu())
    assert found is not None and found.cause == "python-package-mismatch"


@pytest.mark.parametrize("name", ["libcudnn_cnn_infer.so.8", "libcusparseLt.so.0", "libcufile.so.0"])
def test_the_number_of_a_library_of_cuda_may_be_its_own(name: str) -> None:
    torch = replace(TorchBuild(), cuda=k("12.1"))
    said = words_of(finding_of(CHECK, _text(name), nvidia_gpu(), torch=torch))
    assert f"{name[-1]} is its own number, not that of CUDA" in said and "CUDA 12.1" in said
    assert f"of CUDA {name[-1]}" not in said and f"-cu{name[-1]}" not in said


def test_the_number_of_libcublas_is_that_of_cuda() -> None:
    said = words_of(finding_of(CHECK, _text("libcublas.so.11"), nvidia_gpu()))
    assert "of CUDA 11 (the version that libcublas.so.11 names)" in said and "its own number" not in said


def test_several_libraries_and_names_with_a_version() -> None:
    text = "\n".join(_text(name) for name in ("libnuma.so.1", "libelf.so.1", "libnuma.so.1"))
    assert states(judge(CHECK, pasted(text))) == ["fail", "fail"]
    assert library("libcudnn_ops_infer.so.8").package == "nvidia-cudnn"
    assert library("libsomething.so.2").owner == "unknown"


def test_a_library_that_loads_is_silent() -> None:
    text = "I tensorflow: Successfully opened dynamic library libcudart.so.11.0"
    assert states(judge(CHECK, pasted(text))) == ["not-applicable"]


@pytest.mark.parametrize(
    "text",
    [
        "n1:7:7 [0] NCCL INFO NET/Plugin : dlerror=librccl-net.so: cannot open shared object file: No such file",
        "n1:7:7 [0] NCCL WARN TUNER/Plugin : dlerror=libnccl-tuner-x.so: cannot open shared object file",
        "INFO:jax: backend 'tpu': libtpu.so: cannot open shared object file: No such file or directory",
        "dlerror: libnvinfer.so.8: cannot open shared object file: No such file or directory",
        "libfoo.so.1: cannot open shared object file, falling back to the Python version",
    ],
)
def test_a_library_that_the_program_does_without_is_no_fault(text: str) -> None:
    assert finding_of("missing-shared-library-message", text) is None


@pytest.mark.parametrize(
    "text",
    [
        "ImportError: libnccl.so.2: cannot open shared object file: No such file or directory",
        "provider tensorrt: libnvinfer.so.10: cannot open shared object file: No such file or directory",
        f"10:00 INFO {'reading shards ' * 6}\nImportError: libfoo.so.1: cannot open shared object file: No such file",
        "INFORMATION lost: libfoo.so.1: cannot open shared object file: No such file or directory",
    ],
)
def test_a_library_that_the_program_needs_is_one(text: str) -> None:
    assert finding_of("missing-shared-library-message", text) is not None


def test_another_major_version_in_a_listing_says_that_it_was_built_for_another_release() -> None:
    listing = "$ ls /opt/rocm-6.2.4/lib/ | grep rocm_smi\nlibrocm_smi64.so.7\nlibrocm_smi64.so.7.3\n\n"
    wanted = finding_of(CHECK, f"{listing}JAX wants librocm_smi64.so.6:", amd_gpu())
    assert wanted is not None
    assert wanted.cause == "missing-shared-library"
    assert "built for another release" in words_of(wanted)
    missing = finding_of(CHECK, f"{listing}OSError: librocm_smi64.so.6: cannot open shared object file", amd_gpu())
    assert "is 7" in words_of(missing)
    assert finding_of(CHECK, f"{listing}JAX wants librocm_smi64.so.7:", amd_gpu()) is None


def test_a_library_of_torch_for_cuda_on_an_amd_machine() -> None:
    text = "ImportError: libc10_cuda.so: cannot open shared object file: No such file or directory"
    assert [finding_of(CHECK, text, gpu).cause for gpu in (amd_gpu(), nvidia_gpu())] == [  # type: ignore[union-attr]
        "wrong-backend-build",
        "python-package-mismatch",
    ]

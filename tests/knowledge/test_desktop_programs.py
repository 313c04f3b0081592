"""Rows of programs on desktop cards: what decides between two causes, and what must not be taken for them."""

from __future__ import annotations

import pytest

from tests.kit import amd_gpu, nvidia_gpu
from tests.message_kit import finding_of, messages, words_of
from tests.text_kit import diagnosed

KNOWN = "known-message"


def _first(text: str) -> str:
    return next((one.cause for one in diagnosed(text).causes), "")


def _kinds(text: str) -> set[str]:
    return {one.kind for one in messages(text) if one.role == "now"}


def test_nvml_of_a_machine_with_an_amd_card_tells_nothing_of_a_driver_mismatch() -> None:
    text = "torch/cuda/__init__.py:734: UserWarning: Can't initialize NVML"
    assert finding_of(KNOWN, text, amd_gpu(gfx="gfx1100")) is None
    found = finding_of(KNOWN, text, nvidia_gpu())
    assert found is not None and found.cause == "driver-library-mismatch"


@pytest.mark.parametrize(
    ("processor", "cause"),
    [("AMD Ryzen 7 5700U with Radeon Graphics", "gpu-not-supported"), ("Radeon RX 7600", "driver-too-old")],
)
def test_hip_on_windows_sees_no_gpu(processor: str, cause: str) -> None:
    assert _first(f"{processor}\n** Platform: Windows\nRuntimeError: No HIP GPUs are available") == cause


def test_on_linux_it_is_the_device_file() -> None:
    assert _first("Radeon RX 7600\n** Platform: Linux\nRuntimeError: No HIP GPUs are available") == "device-permission"


LOST = "what():  vk::Queue::submit: ErrorDeviceLost"


def test_a_lost_vulkan_device_blames_no_card_where_a_release_brought_it() -> None:
    assert "gpu-hardware-fault" in [one.cause for one in diagnosed(LOST).causes]
    for more in (
        "tag b7668 has the bug, tag b7667 does not",
        "radv/amdgpu: The CS has been cancelled because the context is lost. This context is innocent.",
        "Booting with amdgpu.lockup_timeout=60000 the crash is gone.",
    ):
        assert "gpu-hardware-fault" not in [one.cause for one in diagnosed(f"{LOST}\n{more}").causes], more


def test_invoke_on_the_cpu_depends_on_the_card() -> None:
    text = "[InvokeAI]::INFO --> Using torch device: CPU"
    for gpu, cause in ((amd_gpu(gfx="gfx803"), "gpu-not-supported"), (amd_gpu(gfx="gfx1030"), "wrong-backend-build")):
        found = finding_of(KNOWN, text, gpu)
        assert found is not None and found.cause == cause
    assert finding_of(KNOWN, text) is None


def test_words_of_pip_do_not_win_over_those_of_the_program() -> None:
    """InvokeAI pins its packages, so pip complains of any torch for ROCm: the device that it uses is what counts."""
    text = (
        "RX 6800, installed torch for ROCm by hand:\n"
        "invokeai 3.6.2 requires torch==2.1.2, but you have torch 2.1.0+rocm5.6 which is incompatible.\n"
        "[InvokeAI]::INFO --> Using torch device: CPU\n"
    )
    assert _first(text) == "wrong-backend-build"


def test_a_library_of_cuda_or_its_driver() -> None:
    absent = "Could not load library cudnn_ops_infer64_8.dll. Error code 126\n"
    absent += "Please make sure cudnn_ops_infer64_8.dll is in your library path!"
    assert _first(absent) == "missing-shared-library"
    text = "Could not load library libcudnn_cnn_infer.so.8. Error: libcuda.so: cannot open shared object file"
    assert "/usr/lib/wsl/lib" in words_of(finding_of(KNOWN, text))


@pytest.mark.parametrize(
    ("status", "cause"),
    [("0xc0000135", "missing-shared-library"), ("0xc0000139", "driver-too-old"), ("0xc0000005", "")],
)
def test_exit_statuses_of_windows(status: str, cause: str) -> None:
    found = finding_of(KNOWN, f"Error: llama runner process has terminated: exit status {status}")
    assert (found.cause if found else "") == cause


def test_an_access_violation_after_files_were_put_in() -> None:
    text = "replaced rocblas.dll and the library folder with those for gfx1103\nexit status 0xc0000005"
    found = finding_of(KNOWN, text, amd_gpu(gfx="gfx1103"))
    assert found is not None and found.cause == "mixed-rocm-installs"


def test_the_entry_point_of_a_driver_and_of_windows() -> None:
    box = "The procedure entry point {} could not be located in the dynamic link library {}"
    assert _first(box.format("hipDeviceSetLimit", r"D:\ZLUDA\nvcuda.dll")) == "driver-too-old"
    assert "windows-entry-point-absent" not in _kinds(box.format("DecodePointer", "KERNEL32.DLL"))


@pytest.mark.parametrize(
    "text",
    [
        "whisper_backend_init_gpu: using CUDA0 backend\nwhisper_backend_init_gpu: no GPU found",
        "OpenGL renderer string: llvmpipe (LLVM 17.0.6, 256 bits)",
        "ggml_vulkan: Found 2 Vulkan devices:\nggml_vulkan: 0 = RTX 3060 (NVIDIA)\nggml_vulkan: 1 = llvmpipe (LLVM 15)",
        "AVX = 1 | BLAS = 0 | SSE3 = 1 |\nThe server without a GPU answers as expected.",
        "Name: torch\nVersion: 2.9.1+rocm6.4\nRequires: filelock, jinja2, pytorch-triton-rocm, sympy",
        "Is amdgpu.lockup_timeout=60000 of any use?",
        "The Tesla C2075 was replaced with a P40.",
    ],
)
def test_what_only_looks_like_it(text: str) -> None:
    new = {"whisper-built-for-cpu", "vulkan-software-device", "llama-built-without-blas-for-gpu"}
    new |= {"torch-of-cuda-required", "lockup-timeout-too-short", "program-offers-no-gpu-for-fermi"}
    assert not _kinds(text) & new

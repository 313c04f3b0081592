"""Numbers and names of CUDA errors, results of NCCL, calls to /dev/kfd, and what libraries say when they start."""

from __future__ import annotations

import pytest

from tests.message_kit import messages
from tests.text_kit import causes_of


@pytest.mark.parametrize(
    ("number", "cause"),
    [
        ("2", "out-of-memory"),
        ("35", "driver-too-old"),
        ("101", "visible-devices-conflict"),
        ("102", "gpu-not-supported"),
        ("209", "gpu-arch-not-built"),
        ("214", "gpu-hardware-fault"),
        ("221", "missing-shared-library"),
        ("700", "not-environment"),
        ("802", "fabric-manager-down"),
        ("803", "driver-library-mismatch"),
        ("901", "not-environment"),
    ],
)
@pytest.mark.parametrize("line", ["CUDA error {} at main.cu:41", "cudaSetDevice failed: {}", "CUDA error code: {}"])
def test_a_number_of_cuda_says_what_its_name_says(number: str, cause: str, line: str) -> None:
    assert causes_of(line.format(number))[:1] == [cause]


@pytest.mark.parametrize(
    "text", ["CUDA error 4242 at main.cu:41", "cudaGetDeviceCount returned 4", "CUDA error 12.4 wheels", "CUDA error 0"]
)
def test_what_is_no_number_of_an_error_says_nothing(text: str) -> None:
    assert causes_of(text) == []


def test_no_device_in_a_container_is_the_container() -> None:
    found = causes_of("$ docker run --rm my/image ./a.out\ncudaGetDeviceCount failed: 100")
    assert found[0] == "container-device-access"


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("cuLinkAddData failed with error CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "driver-too-old"),
        ("cuDeviceGet failed with error CUDA_ERROR_INVALID_DEVICE", "visible-devices-conflict"),
        ("CUDA error: operation not permitted when stream is capturing", "not-environment"),
        ("CUDA error: operation not permitted", "container-device-access"),
        ("ncclCommInitRank failed: 5", "not-environment"),
        ("ncclCommInitRank failed: 2", "network-interface-wrong"),
        ("AMDKFD_IOC_CREATE_QUEUE failed: Permission denied", "device-permission"),
        ("AMDKFD_IOC_ALLOC_MEMORY_OF_GPU failed: Cannot allocate memory", "out-of-memory"),
        ("ioctl AMDKFD_IOC_ACQUIRE_VM failed: Device or resource busy", "not-environment"),
        ("NVRM: Xid (PCI:0000:3b:00): 32, pid=1234, name=python", "not-environment"),
        ("The node reports Xid 154.", "gpu-hardware-fault"),
        ("RuntimeError: Quantizing a model using MXFP4 requires a GPU", "wrong-backend-build"),
        ("ImportError: Loading an AWQ quantized model requires auto-awq library", "python-package-mismatch"),
        ("RuntimeError: amdsmi did not return valid GCN arch", "device-permission"),
        ("RuntimeError: cannot open libamdhip64.so", "missing-shared-library"),
        ("no NVIDIA GPU device is present: /dev/nvidia0 does not exist", "kernel-module-not-loaded"),
    ],
)
def test_a_line_has_its_cause(text: str, cause: str) -> None:
    assert causes_of(text)[:1] == [cause]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Could not load library cudart64_110.dll", "cuda-dll-wanted"),
        ("CMake Error: No CMAKE_CXX_COMPILER could be found.", "compiler-not-set-by-cmake"),
        ("Flash attention support on Navi31 GPU is still experimental.", "sdpa-experimental-amd"),
        ("libx.so: undefined symbol: aoti_torch_cuda_mm", "extension-for-other-torch"),
    ],
)
def test_a_mended_literal_is_found(text: str, kind: str) -> None:
    assert kind in {one.kind for one in messages(text)}

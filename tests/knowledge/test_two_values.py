"""Two values of one text that do not fit, and a text in which they do."""

from __future__ import annotations

import pytest

from tests.text_kit import diagnosed, first_cause

_FIT = (
    "llama_params_fit_impl: projected to use 18414 MiB of device memory vs. 15020 MiB of free device memory\n"
    "llama_params_fit_impl: cannot meet free memory target of 1024 MiB, need to reduce device memory by 4418 MiB\n"
)
_NO_DEVICE = "ggml_cuda_init: failed to initialize ROCm: no ROCm-capable device is detected\n"
_ROCM_TORCH = (
    "Looking in indexes: https://download.pytorch.org/whl/rocm6.4\n"
    "RuntimeError: Torch is not able to use GPU; add --skip-torch-cuda-test\n"
)


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (f"{_FIT}ggml_backend_cuda_buffer_type_alloc_buffer: cudaMalloc failed: out of memory\n", "out-of-memory"),
        (f"{_FIT}load_tensors: offloaded 40/65 layers to GPU\nmain: server is listening\n", None),
        (
            f"llama-cli --list-devices\n{_NO_DEVICE}I set nomodeset with grubby for a switch.\n",
            "kernel-module-not-loaded",
        ),
        (f"My GPU is a GeForce RTX 4090.\n{_ROCM_TORCH}", "wrong-backend-build"),
        ("main.cpp:(.text+0x15c): undefined reference to 'hipGetDevicePropertiesR0600'\n", "mixed-rocm-installs"),
        (
            'Warning: HIP version file: "/opt/rocm-7.2.3/hip/share/hip/version" not found.  Cannot give HIP version\n',
            "mixed-rocm-installs",
        ),
        (
            'Warning: HIP version file: "/opt/rocm-7.2.4/share/hip/version" not found.  Cannot give HIP version\n',
            "cuda-toolkit-mismatch",
        ),
    ],
)
def test_what_does_not_fit_is_the_cause(text: str, cause: str | None) -> None:
    assert first_cause(text) == cause


def test_both_values_are_in_the_answer() -> None:
    said = diagnosed(f"{_FIT}cudaMalloc failed: out of memory\n").causes[0].message
    assert "18414 MiB" in said and "15020 MiB" in said
    python = "ERROR Python: version=3.14.0 required=3.[11, 12, 13] incompatible\n"
    said = diagnosed(python).causes[0].message
    assert "3.14.0" in said and "[11, 12, 13]" in said

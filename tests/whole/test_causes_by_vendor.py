"""What the GPUs that a text names, and what a log says besides, leave of a message's causes."""

from __future__ import annotations

import pytest

from tests.text_kit import first_cause

_NO_HIP = "RuntimeError: No HIP GPUs are available"
_NO_BF16 = "ValueError: bf16 mixed precision requires PyTorch >= 1.10 and a supported device."
_TOO_OLD = 'level=WARN source=amd_linux.go:300 msg="amdgpu too old gfx803" gpu=0'
_ON_CPU = 'level=INFO source=types.go:130 msg="inference compute" id=0 library=cpu variant="" compute="" driver=0.0'
_SHORT = "cudaMalloc failed: out of memory"


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (f"My RTX 4090 box, fresh install. {_NO_HIP}", "wrong-backend-build"),
        (f"My RX 7900 XTX box, fresh install. {_NO_HIP}", "device-permission"),
        (f"nvidia-smi lists a Tesla T4.\n{_NO_BF16}", "kernel-lib-arch-unsupported"),
        (_NO_BF16, None),
        (f"{_TOO_OLD}\n{_ON_CPU}", "gpu-arch-not-built"),
        (f"ggml_backend_cuda_buffer_type_alloc_buffer: allocating 6144.00 MiB on device 0: {_SHORT}", "out-of-memory"),
    ],
)
def test_the_first_cause(text: str, cause: str | None) -> None:
    assert first_cause(text) == cause

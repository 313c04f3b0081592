"""Two facts of one text decide together: with either of them alone the first cause is another one, or none."""

from __future__ import annotations

import pytest

from tests.text_kit import diagnosed, first_cause

_NVCC = "pip install flash-attn on my node:\nRuntimeError: flash_attn was requested, but nvcc was not found.\n"
_CUDA = "The detected CUDA version (12.1) mismatches the version that was used to compile\nPyTorch (11.7).\n"
_HEADER = "/usr/include/hip/hip_runtime_api.h:512:3: error: unknown type name 'hipblasComputeType_t'\n"
_LNKSTA = "/sys/class/drm/card0/device/current_link_speed:"
_LOAD = "RuntimeError: HIP error: shared object initialization failed\n"
_IMAGE = "error: hipModuleLoad returned hipErrorInvalidImage\n"
_JAX = "RuntimeError: Unable to initialize backend 'rocm': module 'jaxlib.xla_extension' has no attribute 'X'\n"
_REFUSED = "RuntimeError: Attempting to use hipBLASLt on a unsupported architecture!"
_WARNED = "Warning: Attempting to use hipBLASLt on an unsupported architecture! Overriding blas backend to hipblas"
_SYMBOL = "OSError: /work/lib/libextension_rocm61.so: undefined symbol: "
_NVML = "podman run --device nvidia.com/gpu=all cuda nvidia-smi\nFailed to initialize NVML: Insufficient Permissions\n"


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (f"{_NVCC}\ntorch.__version__  = 2.0.1+rocm5.4.2\n", "wrong-backend-build"),
        (f"{_NVCC}\ntorch.__version__  = 2.0.1+cu118\n", "cuda-toolkit-mismatch"),
        (f"On Arch with a Radeon RX 6800:\n{_CUDA}", "wrong-backend-build"),
        (f"On Arch with a GeForce RTX 3090:\n{_CUDA}", "cuda-toolkit-mismatch"),
        (f"/opt/rocm-6.4.3/lib/llvm/bin/clang++ -x hip -c acc.cu\n{_HEADER}", "mixed-rocm-installs"),
        ("Our job hangs on two MI210 after 'Init COMPLETE'.\n", "iommu-acs-p2p"),
        (
            f"The GPU is an RX 7800 XT. LACT shows Link Speed: 8.0 GT/s PCIe x16\n{_LNKSTA}16.0 GT/s PCIe\n",
            "pcie-link-degraded",
        ),
        (f"The GPU is an RX 7800 XT. LACT shows Link Speed: 8.0 GT/s PCIe x16\n{_LNKSTA}8.0 GT/s PCIe\n", None),
        (f"ROCm 6.4 on an RX 6600, torch 2.5.1+rocm6.2:\n{_LOAD}", "mixed-rocm-installs"),
        (f"ROCm 6.2 on an RX 6600, torch 2.5.1+rocm6.2:\n{_LOAD}", None),
        (f"On a Radeon RX 6600:\n{_IMAGE}", "gpu-arch-not-built"),
        (f"On an MI300X:\n{_IMAGE}", None),
        ("gfx950 (MI355X):\nRuntimeError: PassManager::run failed\n", "not-environment"),
        ("gfx1100 (RX 7900 XTX):\nRuntimeError: PassManager::run failed\n", "kernel-lib-arch-unsupported"),
        (f"{_JAX}jax-cuda12-plugin==0.4.36\n", None),
        (f"{_JAX}jaxlib==0.4.36\n", "wrong-backend-build"),
        (f"{_WARNED}\n{_REFUSED}\n", "kernel-lib-arch-unsupported"),
        (f"{_SYMBOL}_ZNSt3__15ctypeIcE2idE\n", "libc-or-abi-mismatch"),
        (f"{_SYMBOL}cudnnCreate, version libcudnn.so.8\n", "python-package-mismatch"),
        (
            "# Runs on the CPU\n\nThe upscaler uses my CPU instead of the RTX 5090. What can I do?\n",
            "wrong-backend-build",
        ),
        ("# Runs on the CPU\n\nMy game uses my CPU instead of the RTX 5090. What can I do?\n", None),
        (
            "Since I put in the second GPU the first one only runs at x4 and training is half as fast.\n",
            "pcie-link-degraded",
        ),
    ],
)
def test_what_stands_beside_a_message_decides(text: str, cause: str | None) -> None:
    assert first_cause(text) == cause


def test_selinux_is_named_where_the_system_has_it() -> None:
    said = [diagnosed(f"On {name}:\n{_NVML}").causes[0].message for name in ("Fedora 41", "Ubuntu 24.04")]
    assert ["SELinux" in one for one in said] == [True, False]

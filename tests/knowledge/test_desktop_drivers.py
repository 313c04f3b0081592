"""Rows of loaders of Vulkan and OpenCL, of old cards and of what ZLUDA cannot run."""

from __future__ import annotations

import pytest

from tests.kit import nvidia_gpu
from tests.message_kit import finding_of, messages
from tests.text_kit import causes_of

KNOWN = "known-message"


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("what():  vk::createInstance: ErrorIncompatibleDriver", "missing-shared-library"),
        ("UPSCAYL_PROGRESS:  vkCreateInstance failed -9", "missing-shared-library"),
        ("Radeon RX 6600. Resolve finds no GPU.\nNumber of platforms          0", "missing-shared-library"),
        ("I have an old GeForce GT 710. The program does not find CUDA.", "gpu-not-supported"),
        ("Tesla K80: the program runs on the CPU only", "gpu-not-supported"),
        ("RX 7900 XT, ZLUDA, xformers on: CUDA error: named symbol not found", "kernel-lib-arch-unsupported"),
        ("GPU has fallen off the bus. The supply of the box is too weak.", "thermal-or-power-limit"),
    ],
)
def test_the_cause_is_the_first(text: str, cause: str) -> None:
    assert causes_of(text)[:1] == [cause]


def test_a_container_may_have_got_the_part_for_computing_only() -> None:
    text = "$ docker run --gpus all image\nvkCreateInstance: Found no drivers!"
    assert "container-device-access" in causes_of(text)
    assert "container-device-access" not in causes_of("vkCreateInstance: Found no drivers!")


def test_a_label_that_keeps_the_gpu_away() -> None:
    text = "$ podman run image nvidia-smi\nno devices found\nWith --security-opt=label=disable it works."
    found = finding_of(KNOWN, text, nvidia_gpu())
    assert found is not None and found.cause == "container-device-access" and "SELinux" in found.message


def test_a_script_that_takes_the_cpu() -> None:
    text = "On the PC with an NVIDIA card: GPU is not available, using CPU."
    found = finding_of(KNOWN, text, nvidia_gpu())
    assert found is not None and (found.cause, found.confidence) == ("wrong-backend-build", "possible")


@pytest.mark.parametrize(
    "text",
    [
        "macOS: VK_ERROR_INCOMPATIBLE_DRIVER of MoltenVK",
        "Number of platforms                               1",
        "The GT 710 drives the display; the RTX 3090 is not detected.",
        "The Quadro K620 is not detected.",
        "ComfyUI with ZLUDA, without xformers: CUDA error: out of memory",
        "Failed to initialize NVML: Insufficient Permissions; label=disable does not help.",
        'RTX 4070: print("GPU is not available, using CPU.")',
        "GPU has fallen off the bus; a new PSU did not help.",
        "@alex maybe your PSU is too weak? I had random reboots with a 650 W one.",
    ],
)
def test_what_only_looks_like_it(text: str) -> None:
    new = {"vulkan-no-driver", "opencl-no-platform", "card-of-kepler-for-program", "xformers-under-zluda"}
    new |= {"selinux-label-keeps-gpu-away", "script-says-cpu-instead", "supply-of-box-told"}
    assert not {one.kind for one in messages(text) if one.role == "now"} & new

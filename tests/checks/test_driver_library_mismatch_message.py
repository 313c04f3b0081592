"""NVIDIA versions that differ. The texts are constructed from the formats of NVML, the module and CUDA."""

from __future__ import annotations

from tests.kit import judge, states
from tests.message_kit import finding_of, pasted, words_of

CHECK = "driver-library-mismatch-message"


def test_versions_are_named() -> None:
    text = "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 550.54\n"
    found = finding_of(CHECK, text)
    assert found is not None and "550.54" in found.message and "Reboot" in words_of(found)
    text = (
        "NVRM: API mismatch: the client has the version 550.54.15, but this kernel module has the version 535.183.01."
    )
    assert "535.183.01" in words_of(finding_of(CHECK, text))


def test_in_a_container_the_mounted_libraries_count() -> None:
    text = "docker: nvidia-container-cli: initialization error: nvml error: driver/library version mismatch: unknown."
    found = finding_of(CHECK, text)
    assert found is not None and found.confidence == "certain" and "nvidia-ctk cdi generate" in words_of(found)


def test_forward_compatibility() -> None:
    text = "Error 804: forward compatibility was attempted on non supported HW"
    assert "cuda-compat" in words_of(finding_of(CHECK, text))


def test_a_healthy_header_is_silent() -> None:
    text = "| NVIDIA-SMI 550.54.15  Driver Version: 550.54.15  CUDA Version: 12.4 |"
    assert states(judge(CHECK, pasted(text))) == ["not-applicable"]

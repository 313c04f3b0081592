"""NVIDIA versions that differ. The texts are constructed from the formats of NVML, the module and CUDA."""

from __future__ import annotations

from tests.kit import judge, k, states
from tests.message_kit import finding_of, pasted, words_of
from tests.text_kit import diagnosed

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


def test_both_versions_from_the_module_and_a_list_of_packages() -> None:
    text = (
        "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 803: system has unsupported display driver / "
        "cuda driver combination\n"
    )
    drivers = {"nvidia": {"version": k("550.90.07"), "libraries": k("550.120")}}
    found = finding_of(CHECK, text, drivers=drivers)
    assert found is not None and "Version mismatch" in found.message
    assert "libraries 550.120, module 550.90.07" in found.message
    same = finding_of(CHECK, text, drivers={"nvidia": {"version": k("550.120"), "libraries": k("550.120")}})
    assert same is not None and "libraries" not in same.message and "module 550.120" in same.message


def test_versions_in_a_pasted_text() -> None:
    text = (
        "CUDA initialization: Error 803: system has unsupported display driver / cuda driver combination\n"
        "$ cat /proc/driver/nvidia/version\n"
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31 09:35:42 UTC 2024\n"
        "$ tail -1 /var/log/apt/history.log\n"
        "Upgrade: libnvidia-compute-550:amd64 (550.90.07-0ubuntu1, 550.120-0ubuntu1), zlib1g:amd64 (1.2.1, 1.2.2)\n"
    )
    (cause, *_) = diagnosed(text).causes
    assert (cause.cause, "550.120" in cause.message, "550.90.07" in cause.message) == (
        "driver-library-mismatch",
        True,
        True,
    )


def test_a_healthy_header_is_silent() -> None:
    text = "| NVIDIA-SMI 550.54.15  Driver Version: 550.54.15  CUDA Version: 12.4 |"
    assert states(judge(CHECK, pasted(text))) == ["not-applicable"]

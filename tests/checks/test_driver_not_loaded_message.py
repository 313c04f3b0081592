"""Missing kernel modules, from what tools say. The texts are constructed from the tools' formats."""

from __future__ import annotations

from dataclasses import replace

from rocdoctor.model.facts import Kernel
from tests.kit import amd_gpu, event, judge, k, log, nvidia_gpu, states
from tests.message_kit import finding_of, pasted, words_of
from tests.text_kit import diagnosed

CHECK = "driver-not-loaded-message"
ROCM = "ROCk module is NOT loaded, possibly no GPU devices"


def test_the_module_and_the_kernel_are_named() -> None:
    found = finding_of(CHECK, ROCM, amd_gpu(), kernel=replace(Kernel(), release=k("6.5.0-14-generic")))
    assert found is not None and found.cause == "kernel-module-not-loaded"
    assert "amdgpu" in found.message and "6.5.0-14-generic" in found.message and "dkms" in words_of(found).lower()


def test_nvidia() -> None:
    text = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."
    assert "module nvidia" in words_of(finding_of(CHECK, text, nvidia_gpu()))


def test_secure_boot() -> None:
    found = finding_of(CHECK, "modprobe: ERROR: could not insert 'amdgpu': Key was rejected by service")
    assert found is not None and "Secure Boot" in found.message and found.confidence == "certain"


def test_a_refused_module_is_why_nvidia_smi_fails() -> None:
    text = (
        "All updates are installed, and nothing works while secure boot is enabled.\n\n$ nvidia-smi\n"
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest "
        "NVIDIA driver is installed and running.\n\n$ sudo modprobe nvidia\n"
        "modprobe: ERROR: could not insert 'nvidia': Key was rejected by service\n"
    )
    first = diagnosed(text).causes[0]
    assert first.cause == "kernel-module-not-loaded" and "Secure Boot" in first.message


def test_wsl_and_containers_mean_something_else() -> None:
    wsl = finding_of(CHECK, "I use WSL2.\n" + ROCM)
    inside = finding_of(CHECK, "docker run image\nUnable to open /dev/kfd read-write: No such file or directory")
    assert wsl is not None and wsl.cause == "wsl-unsupported" and wsl.severity == "warning"
    assert inside is not None and inside.cause == "container-device-access"


def test_a_loaded_module_is_no_finding() -> None:
    assert states(judge(CHECK, pasted("ROCk module is loaded", amd_gpu()))) == ["not-applicable"]


def test_a_module_that_finds_no_gpu_of_its_own_is_for_other_cards() -> None:
    text = "modprobe: ERROR: could not insert 'nvidia': No such device"
    kernel = Kernel(log=log(event("nvidia-gpu-not-supported", legacy_branch="340")))
    found = finding_of("driver-not-loaded-message", text, kernel=kernel)
    assert found is not None
    assert found.cause == "gpu-not-supported"
    assert "branch 340" in words_of(found)
    plain = finding_of("driver-not-loaded-message", text)
    assert plain is not None
    assert plain.cause == "kernel-module-not-loaded"


def test_a_tool_of_amd_on_a_machine_with_nvidia_gpus() -> None:
    text = "ERROR:root:Driver not initialized (amdgpu not found in modules)"
    assert finding_of(CHECK, text, amd_gpu()) is not None
    assert finding_of(CHECK, text, nvidia_gpu()) is None

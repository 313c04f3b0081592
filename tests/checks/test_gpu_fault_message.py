"""Kernels that were stopped by the driver. The texts are the format strings of ROCr, filled in."""

from __future__ import annotations

from tests.kit import amd_gpu, environment, judge, nvidia_gpu, states
from tests.message_kit import finding_of, pasted, words_of

CHECK = "gpu-fault-message"
FAULT = (
    "Memory access fault by GPU node-1 (Agent handle: 0x5581f0) on address 0x7f0000001000. Reason: Page not present or "
    "supervisor privilege.\nAborted (core dumped)"
)


def test_a_fault_is_said_to_be_of_the_software() -> None:
    found = finding_of(CHECK, FAULT, amd_gpu())
    assert found is not None and (found.severity, found.cause) == ("warning", "not-environment")
    assert "KFD node 1" in found.message and "page not present" in found.message
    assert "AMD_SERIALIZE_KERNEL=3" in words_of(found)


def test_a_hang_and_an_nvidia_gpu() -> None:
    hang = finding_of(CHECK, "HW Exception by GPU node-2 (Agent handle: 0x5581f0) reason :GPU Hang", amd_gpu())
    assert hang is not None and "did not end" in hang.message and "node 2" in hang.message
    illegal = finding_of(CHECK, "CUDA error: an illegal memory access was encountered", nvidia_gpu())
    assert "CUDA_LAUNCH_BLOCKING=1" in words_of(illegal)


def test_an_override_is_left_to_its_own_checks() -> None:
    variables = environment({"HSA_OVERRIDE_GFX_VERSION": "10.3.0"}, complete=False)
    assert finding_of(CHECK, FAULT, amd_gpu(), environment=variables) is None


def test_an_ecc_fault_is_of_the_hardware() -> None:
    text = "Memory access fault by GPU node-1 (Agent handle: 0x1) on address 0x7f0. Reason: DRAM ECC failure."
    assert states(judge(CHECK, pasted(text, amd_gpu()))) == ["not-applicable"]
    found = finding_of("gpu-memory-error-message", text, amd_gpu())
    assert found is not None and found.cause == "gpu-hardware-fault" and "DRAM ECC failure" in found.message

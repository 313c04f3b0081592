"""Hardware errors that programs report. The texts are constructed from the error strings of CUDA, HIP and NVML."""

from __future__ import annotations

from tests.kit import amd_gpu, judge, states
from tests.message_kit import finding_of, pasted, words_of
from tests.text_kit import diagnosed

CHECK = "gpu-memory-error-message"


def test_an_uncorrectable_error_on_a_cluster() -> None:
    found = finding_of(CHECK, "srun: job 1\nRuntimeError: CUDA error: uncorrectable ECC error encountered")
    assert found is not None and found.confidence == "certain" and "ECC" in found.message
    assert "replaced" in words_of(found) and "--exclude" in words_of(found)


def test_amd_names_its_own_tool() -> None:
    assert "rocm-smi" in words_of(finding_of(CHECK, "HIP error: hipErrorECCNotCorrectable", amd_gpu()))


def test_a_lost_gpu_with_its_address() -> None:
    text = "Unable to determine the device handle for GPU0000:41:00.0: GPU is lost.  Reboot the system to recover"
    found = finding_of(CHECK, text)
    assert found is not None and "0000:41:00.0" in found.message and found.confidence == "likely"


def test_correctable_counts_are_silent() -> None:
    text = "ECC Errors\n  Volatile SRAM Correctable : 0\n  Volatile DRAM Uncorrectable : 0"
    assert states(judge(CHECK, pasted(text))) == ["not-applicable"]


def test_a_supply_that_the_writer_has_found_comes_first() -> None:
    lost = "NVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus.\nGPU is lost. Reboot the system to recover\n"
    found = finding_of(CHECK, lost + "The supply of the box is too weak.")
    assert found is not None and (found.confidence, found.explains) == ("possible", ())
    found = finding_of(CHECK, lost + "A new PSU did not help.")
    assert found is not None and (found.confidence, found.explains) == ("likely", ("thermal-or-power-limit",))


def test_heat_before_the_card_was_gone_is_its_reason() -> None:
    lost = "NVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus.\n"
    hot = diagnosed("The card was at 95C with a job on it; a few seconds later it was gone.\n" + lost).causes
    assert [one.cause for one in hot] == ["thermal-or-power-limit"]
    cool = diagnosed("The card was at 45C with a job on it; a few seconds later it was gone.\n" + lost).causes
    assert cool[0].cause == "gpu-hardware-fault"

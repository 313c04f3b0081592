"""Messages about missing code, by what is known of the GPUs. The texts are constructed from the programs' formats."""

from __future__ import annotations

from tests.kit import amd_gpu, judge, nvidia_gpu, states, u
from tests.message_kit import finding_of, pasted, words_of

CHECK = "no-kernel-image-message"
HIP = "RuntimeError: HIP error: invalid device function\nHIP kernel errors might be asynchronously reported"
SM = (
    "NVIDIA Some Card with CUDA capability sm_120 is not compatible with the current PyTorch installation.\n"
    "The current PyTorch install supports CUDA capabilities sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_90.\n"
)


def test_names_the_target_and_the_member_of_its_group() -> None:
    found = finding_of(CHECK, HIP, amd_gpu(gfx="gfx1031", pci_id="1002:73df", name="AMD Radeon RX 6700 XT"))
    said = words_of(found)
    assert found is not None and found.severity == "error" and found.confidence == "likely"
    assert "gfx1031" in said and "HSA_OVERRIDE_GFX_VERSION=10.3.0" in said and "gfx1030" in said


def test_names_the_first_toolkit_for_a_new_nvidia_gpu() -> None:
    found = finding_of(CHECK, SM)
    said = words_of(found)
    assert found is not None and found.confidence == "certain"
    assert "sm_120" in said and "12.8" in said and "cu128" in said and "sm_90" in said


def test_an_old_nvidia_gpu_needs_an_older_release() -> None:
    text = "RuntimeError: CUDA error: no kernel image is available for execution on the device"
    said = words_of(finding_of(CHECK, text, nvidia_gpu(compute_capability="3.5", name="Tesla K40")))
    assert "sm_35" in said and "older release" in said


def test_an_integrated_gpu_beside_a_supported_card_is_the_cause() -> None:
    text = "hipErrorNoBinaryForGpu: Unable to find code object for all current devices!"
    found = finding_of(CHECK, text, amd_gpu(gfx="gfx1100"), amd_gpu(1, gfx="gfx1036", integrated=True))
    assert found is not None and found.cause == "igpu-shadows-dgpu" and "gfx1036" in found.message


def test_without_gpus_it_says_what_to_compare() -> None:
    said = words_of(finding_of(CHECK, HIP))
    assert "get_arch_list" in said and "rocminfo" in said and "HSA_OVERRIDE_GFX_VERSION=10.3.0" in said
    cuda = words_of(finding_of(CHECK, "CUDA error: no kernel image is available for execution on the device"))
    assert "get_arch_list" in cuda and "HSA_OVERRIDE" not in cuda


def test_nothing_was_said() -> None:
    assert states(judge(CHECK, pasted("all fine, loss 0.3", amd_gpu()))) == ["not-applicable"]
    advice = "If you see no kernel image is available for execution on the device, reinstall."
    assert states(judge(CHECK, pasted(advice, amd_gpu()))) == ["not-applicable"]


def test_the_name_of_the_processor_tells_of_an_integrated_gpu() -> None:
    text = HIP + "\nCPU: AMD Ryzen 7 5700G with Radeon Graphics"
    found = finding_of(CHECK, text, amd_gpu(gfx="gfx1100"))
    assert found is not None and found.cause == "igpu-shadows-dgpu"
    assert "HIP_VISIBLE_DEVICES" in words_of(finding_of(CHECK, text, amd_gpu(gfx="gfx1032")))


def test_graphics_of_the_processor_are_a_second_possibility() -> None:
    text = "RuntimeError: HIP error: invalid device function"
    inside, card = amd_gpu(1, gfx=u(), integrated=True), amd_gpu(2, gfx="gfx1031", integrated=False)
    said = pasted(text + "\nThe APU has graphics too.", inside, card)
    causes = [one.finding.cause for one in judge("no-kernel-image-message", said) if one.finding is not None]
    assert causes == ["gpu-arch-not-built", "igpu-shadows-dgpu"]


def test_the_target_that_is_asked_for_belongs_to_the_processor() -> None:
    text = (
        "rocBLAS error: Cannot read /opt/rocm/lib/rocblas/library/TensileLibrary.dat: "
        "No such file or directory for GPU arch : {}"
    )
    found = finding_of(CHECK, text.format("gfx1036"), amd_gpu(gfx="gfx1030"))
    assert found is not None and found.cause == "igpu-shadows-dgpu" and "gfx1036" in found.message
    found = finding_of(CHECK, text.format("gfx1031"), amd_gpu(gfx="gfx1030"))
    assert found is not None and found.cause == "gpu-arch-not-built"


def test_the_target_in_the_name_of_the_file() -> None:
    text = "rocBLAS error: Could not load C:\\Program Files\\AMD\\ROCm\\6.1\\bin\\/rocblas/library/"
    assert "gfx1103" in words_of(finding_of(CHECK, f"{text}TensileLibrary_lazy_gfx1103.dat"))

"""ROCm in WSL, from what tools say. The texts are constructed from the tools' formats."""

from __future__ import annotations

from dataclasses import replace

from rocdoctor.model.evidence import Known
from rocdoctor.model.facts import OperatingSystem, RocmInstall
from tests.kit import amd_gpu, judge, k, nvidia_gpu, states
from tests.message_kit import finding_of, pasted, words_of

CHECK = "wsl-unsupported-message"
TEXT = (
    "WSL environment detected.\nhsa api call failure at: rocminfo.cc\nCall returned HSA_STATUS_ERROR_OUT_OF_RESOURCES"
)


def test_the_pairing_is_named() -> None:
    version: Known[str] = k("6.1.3")
    found = finding_of(
        CHECK,
        TEXT,
        amd_gpu(),
        rocm=(RocmInstall(version, "/opt/rocm", "classic"),),
        os=replace(OperatingSystem(), id=k("ubuntu"), version_id=k("20.04")),
    )
    assert found is not None and found.severity == "error"
    assert "Ubuntu 20.04 with ROCm 6.1.3" in found.message and "supported" in words_of(found)


def test_smi_tools_do_not_exist_there() -> None:
    found = finding_of(CHECK, "on WSL2:\nERROR:root:Driver not initialized (amdgpu not found in modules)")
    assert found is not None and found.severity == "warning" and "amd-smi" in found.message


def test_wsl_that_works_is_silent() -> None:
    assert states(judge(CHECK, pasted("WSL environment detected.\nAgent 1 gfx1100", amd_gpu()))) == ["pass"]
    assert states(judge(CHECK, pasted("I use WSL2 and CUDA 12", nvidia_gpu()))) == ["pass"]


def test_what_is_not_in_the_list_is_named() -> None:
    assert "native Linux" in words_of(finding_of(CHECK, TEXT, amd_gpu(gfx="gfx1102")))
    assert "not among" not in words_of(finding_of(CHECK, TEXT, amd_gpu(gfx="gfx1201")))
    assert "RDNA1 is not supported" in words_of(finding_of(CHECK, f"{TEXT}\nmy card is RDNA1"))
    assert "Windows 11" in words_of(finding_of(CHECK, f"Windows 10 Pro. {TEXT}", amd_gpu(gfx="gfx1201")))


def test_the_library_of_wsl_has_to_be_switched_on_for_some_releases() -> None:
    def said(version: str) -> str:
        return words_of(finding_of(CHECK, TEXT, amd_gpu(), rocm=(RocmInstall(k(version), "/opt/rocm", "classic"),)))

    assert "HSA_ENABLE_DXG_DETECTION=1" in said("7.2.1")
    assert "HSA_ENABLE_DXG_DETECTION" not in said("7.13")
    assert "HSA_ENABLE_DXG_DETECTION" not in said("6.1.3")

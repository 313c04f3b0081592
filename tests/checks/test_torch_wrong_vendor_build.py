from __future__ import annotations

from dataclasses import replace

from rocdoctor.model.facts import TorchBuild
from tests.kit import amd_gpu, judge, k, machine, nvidia_gpu, severities, states, u

NAME = "torch-wrong-vendor-build"
CUDA = TorchBuild(version=k("2.9.0"), hip=k(None), cuda=k("12.8"))
ROCM = TorchBuild(version=k("2.9.0+rocm6.4"), hip=k("6.4.43482"), cuda=k(None))


def test_a_cuda_build_on_an_amd_machine_is_an_error() -> None:
    (verdict,) = judge(NAME, machine(amd_gpu(), torch=CUDA))
    assert verdict.finding is not None
    assert verdict.finding.severity == "error"
    assert verdict.finding.message == (
        "torch 2.9.0 is a CUDA build for NVIDIA GPUs, but the GPU here is from AMD (AMD Instinct MI210), so torch "
        "cannot use it."
    )
    assert verdict.finding.fix is not None
    assert "/rocm" in verdict.finding.fix.command


def test_a_rocm_build_on_an_nvidia_machine_is_an_error() -> None:
    (verdict,) = judge(NAME, machine(nvidia_gpu(), torch=ROCM, drivers={"nvidia": {"version": k("580.95.05")}}))
    assert verdict.finding is not None
    assert verdict.finding.severity == "error"
    assert verdict.finding.fix is not None
    assert "/cu130" in verdict.finding.fix.command


def test_an_excerpt_or_a_gpu_of_unknown_target_is_a_warning() -> None:
    (verdict,) = judge(NAME, replace(machine(amd_gpu(), torch=CUDA), gpus_complete=False))
    assert verdict.finding is not None
    assert (verdict.finding.severity, verdict.finding.confidence) == ("warning", "likely")
    assert severities(judge(NAME, machine(amd_gpu(gfx=u(), pci_id="1002:ffff"), torch=CUDA))) == ["warning"]


def test_a_cuda_build_beside_an_integrated_gpu_is_only_worth_knowing() -> None:
    assert severities(judge(NAME, machine(amd_gpu(gfx="gfx1036", integrated=True), torch=CUDA))) == ["info"]


def test_the_right_build_and_a_machine_with_both_vendors_pass() -> None:
    assert states(judge(NAME, machine(amd_gpu(), torch=ROCM))) == ["pass"]
    assert states(judge(NAME, machine(amd_gpu(), nvidia_gpu(1), torch=CUDA))) == ["pass"]
    intel = replace(amd_gpu(1), vendor="intel", driver=k("xe"))
    xpu = TorchBuild(version=k("2.9.0+xpu"), hip=k(None), cuda=k(None))
    assert states(judge(NAME, machine(amd_gpu(), intel, torch=xpu))) == ["pass"]
    assert states(judge(NAME, machine(amd_gpu(), torch=replace(CUDA, device_count=k(1))))) == ["pass"]


def test_what_does_not_apply_and_what_is_unknown() -> None:
    cpu = TorchBuild(version=k("2.9.0+cpu"), hip=k(None), cuda=k(None))
    assert states(judge(NAME, machine(amd_gpu(), torch=cpu))) == ["not-applicable"]
    assert states(judge(NAME, machine(torch=CUDA))) == ["not-applicable"]
    assert states(judge(NAME, machine(amd_gpu(driver="vfio-pci"), torch=CUDA))) == ["not-applicable"]
    assert states(judge(NAME, machine(amd_gpu(driver=u()), torch=CUDA))) == ["unknown"]
    assert states(judge(NAME, machine(amd_gpu()))) == ["unknown"]

from __future__ import annotations

from dataclasses import replace

from rocdoctor.model.facts import RocmInstall, TorchBuild
from tests.kit import amd_gpu, judge, k, machine, severities, states

NAME = "torch-rocm-vs-system-rocm"
TORCH = TorchBuild(version=k("2.6.0"), hip=k("6.2.41133"), cuda=k(None), bundled_rocm=k(False), packages=k({}))
ROCM_7 = (RocmInstall(k("7.2.1"), "/opt/rocm-7.2.1", "classic"),)
ROCM_6 = (RocmInstall(k("6.4.3"), "/opt/rocm-6.4.3", "classic"),)


def test_a_build_without_libraries_of_its_own_over_another_major_release_is_a_warning() -> None:
    (verdict,) = judge(NAME, machine(amd_gpu(), torch=TORCH, rocm=ROCM_7))
    assert verdict.finding is not None
    assert verdict.finding.severity == "warning"
    assert "built for ROCm 6, but ROCm 7.2.1 is installed" in verdict.finding.message
    assert severities(judge(NAME, machine(amd_gpu(), torch=TORCH, rocm=ROCM_7))) == ["warning"]


def test_the_same_major_release_and_a_wheel_with_rocm_inside_pass() -> None:
    assert states(judge(NAME, machine(amd_gpu(), torch=TORCH, rocm=ROCM_6))) == ["pass"]
    assert states(judge(NAME, machine(amd_gpu(), torch=TORCH, rocm=(*ROCM_7, *ROCM_6)))) == ["pass"]
    wheel = replace(TORCH, bundled_rocm=k(True))
    assert states(judge(NAME, machine(amd_gpu(), torch=wheel, rocm=ROCM_7))) == ["pass"]
    sdk = replace(TORCH, packages=k({"rocm-sdk-core": "7.9.0"}))
    assert states(judge(NAME, machine(amd_gpu(), torch=sdk, rocm=ROCM_7))) == ["pass"]


def test_unknown_and_not_applicable() -> None:
    assert states(judge(NAME, machine(amd_gpu(), torch=TORCH))) == ["unknown"]
    assert states(judge(NAME, machine(amd_gpu(), torch=TorchBuild(version=k("2.6.0+rocm6.2"))))) == ["unknown"]
    ten = (RocmInstall(k("10.0.0"), "/opt/rocm/core-10.0", "core"),)
    assert states(judge(NAME, machine(amd_gpu(), torch=TORCH, rocm=ten))) == ["unknown"]
    cpu = TorchBuild(version=k("2.6.0+cpu"), hip=k(None), cuda=k(None))
    assert states(judge(NAME, machine(amd_gpu(), torch=cpu, rocm=ROCM_7))) == ["not-applicable"]
    assert states(judge(NAME, machine(torch=TORCH, rocm=ROCM_7))) == ["not-applicable"]


def test_a_build_that_counts_gpus_works() -> None:
    torch = replace(TORCH, import_error=k(None), device_count=k(1))
    assert states(judge(NAME, machine(amd_gpu(), torch=torch, rocm=ROCM_7))) == ["pass"]

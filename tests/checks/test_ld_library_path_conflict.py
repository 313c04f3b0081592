from __future__ import annotations

from dataclasses import replace
from typing import Any

from rocdoctor.model.facts import Machine, RocmInstall, TorchBuild
from tests.kit import amd_gpu, environment, judge, k, machine, severities, states
from tests.message_kit import finding_of

NAME = "ld-library-path-conflict"


def host(path: str, bundled: bool = True, hip: str = "6.4.43482", **changes: Any) -> Machine:
    torch = TorchBuild(version=k("2.9.0+rocm6.4"), hip=k(hip), bundled_rocm=k(bundled))
    return machine(amd_gpu(), environment=environment({"LD_LIBRARY_PATH": path}), torch=torch, **changes)


def test_another_rocm_in_front_of_the_wheel_is_a_risk() -> None:
    (verdict,) = judge(NAME, host("/opt/rocm-6.2.0/lib:/usr/lib"))
    assert verdict.finding is not None
    assert (verdict.finding.severity, verdict.finding.cause) == ("warning", "mixed-rocm-installs")
    assert "ROCm 6.2.0" in verdict.finding.message
    assert "ROCm 6.4" in verdict.finding.message


def test_the_version_of_a_plain_root_is_that_of_its_installation() -> None:
    install = RocmInstall(k("7.0.2"), "/opt/rocm", "classic")
    assert severities(judge(NAME, host("/opt/rocm/lib", rocm=(install,)))) == ["warning"]


def test_the_same_release_or_one_of_unknown_version_is_healthy() -> None:
    assert severities(judge(NAME, host("/opt/rocm-6.4.1/lib"))) == []
    assert severities(judge(NAME, host("/opt/rocm/lib"))) == []
    assert severities(judge(NAME, host("/opt/openmpi/lib:"))) == []


def test_a_torch_that_takes_its_libraries_from_the_system_needs_the_path() -> None:
    assert severities(judge(NAME, host("/opt/rocm-6.2.0/lib", bundled=False))) == []


def test_stub_libraries_are_a_note() -> None:
    (verdict,) = judge(NAME, host("/usr/local/cuda/lib64/stubs/:/usr/lib"))
    assert verdict.finding is not None
    assert severities([verdict]) == ["info"]
    assert "stub" in verdict.finding.message


def test_unset_and_unknown() -> None:
    assert states(judge(NAME, machine(environment=environment({})))) == ["pass"]
    assert states(judge(NAME, machine())) == ["unknown"]


def test_a_torch_that_works_all_the_same_makes_it_a_note() -> None:
    of = host("/opt/rocm-6.2.0/lib")
    working = replace(of, torch=replace(of.torch, import_error=k(None), device_count=k(1)))
    assert severities(judge(NAME, working)) == ["info"]


def test_a_wheel_for_rocm_that_fails_behind_the_folder_of_another() -> None:
    set_ = environment({"LD_LIBRARY_PATH": "/opt/rocm/lib"}, complete=False)
    text = "The PyTorch wheel for ROCm carries its own libraries. LD_LIBRARY_PATH is set; without the variable it runs."
    found = finding_of(NAME, text, amd_gpu(), environment=set_)
    assert found is not None
    assert (found.severity, found.confidence) == ("warning", "possible")
    for harmless in ("The PyTorch wheel for ROCm is installed.", "It runs without the variable LD_LIBRARY_PATH."):
        assert finding_of(NAME, harmless, amd_gpu(), environment=set_) is None

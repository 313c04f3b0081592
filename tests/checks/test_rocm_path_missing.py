from __future__ import annotations

from rocdoctor.model.facts import RocmInstall, TorchBuild
from tests.kit import environment, judge, k, machine, severities, states

NAME = "rocm-path-missing"
ROCM = (RocmInstall(k("7.0.1"), "/opt/rocm-7.0.1", "classic", aliases=("/opt/rocm",)),)


def test_a_folder_that_is_gone_is_a_warning() -> None:
    (verdict,) = judge(
        NAME, machine(rocm=ROCM, rocm_complete=True, environment=environment({"ROCM_PATH": "/opt/rocm-6.2.0"}))
    )
    assert verdict.finding is not None and verdict.finding.fix is not None
    assert verdict.finding.severity == "warning"
    assert verdict.finding.message == (
        "ROCM_PATH is /opt/rocm-6.2.0, but there is no /opt/rocm-6.2.0 (installed is /opt/rocm-7.0.1)."
    )
    assert verdict.finding.fix.command == "unset ROCM_PATH"


def test_an_installation_its_link_and_folders_elsewhere_are_healthy() -> None:
    for value in ("/opt/rocm-7.0.1", "/opt/rocm", "/opt/rocm/hip", "/home/user-1/rocm", "/opt/rocm-7.0.1/"):
        of = machine(rocm=ROCM, rocm_complete=True, environment=environment({"HIP_PATH": value}))
        assert states(judge(NAME, of)) == ["pass"], value
    core = (RocmInstall(k("10.0.0"), "/opt/rocm/core-10.0", "core"),)
    of = machine(rocm=core, rocm_complete=True, environment=environment({"ROCM_PATH": "/opt/rocm"}))
    assert states(judge(NAME, of)) == ["pass"]


def test_a_link_without_any_installation_is_a_warning() -> None:
    of = machine(rocm_complete=True, environment=environment({"ROCM_HOME": "/opt/rocm"}))
    (verdict,) = judge(NAME, of)
    assert verdict.finding is not None
    assert "no ROCm is installed" in verdict.finding.message


def test_unknown() -> None:
    set_ = environment({"ROCM_PATH": "/opt/rocm-6.2.0"})
    assert states(judge(NAME, machine(rocm=ROCM, environment=set_))) == ["unknown"]
    assert states(judge(NAME, machine())) == ["unknown"]
    assert states(judge(NAME, machine(environment=environment({})))) == ["pass"]


def test_a_torch_that_works_all_the_same_makes_it_a_note() -> None:
    torch = TorchBuild(version=k("2.9.1"), hip=k("6.4.43482"), cuda=k(None), import_error=k(None), device_count=k(1))
    of = machine(rocm_complete=True, environment=environment({"ROCM_HOME": "/opt/rocm"}), torch=torch)
    assert severities(judge(NAME, of)) == ["info"]

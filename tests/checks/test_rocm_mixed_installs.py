from __future__ import annotations

from rocdoctor.model.facts import RocmInstall, TorchBuild
from tests.kit import environment, judge, k, machine, severities, states

NAME = "rocm-mixed-installs"
SIDE_BY_SIDE = (
    RocmInstall(k("6.2.0"), "/opt/rocm-6.2.0", "classic", aliases=("/opt/rocm",)),
    RocmInstall(k("7.0.1"), "/opt/rocm-7.0.1", "classic"),
)


def test_packages_of_two_releases_in_one_prefix_are_a_warning() -> None:
    packages = {"rocblas": "4.2.0.60200-66~24.04", "hip-runtime-amd": "6.2.41133.60200-66", "rccl": "2.18.6.60002-115"}
    (verdict,) = judge(NAME, machine(rocm_packages=k(packages)))
    assert verdict.finding is not None
    assert verdict.finding.severity == "warning"
    assert verdict.finding.cause == "mixed-rocm-installs"
    assert "releases 6.2.0, 6.0.2 are mixed" in verdict.finding.message
    assert "rccl" in verdict.finding.evidence[0].value


def test_search_paths_of_two_releases_are_a_warning() -> None:
    paths = environment({"LD_LIBRARY_PATH": "/opt/rocm-7.0.1/lib:/usr/lib", "ROCM_PATH": "/opt/rocm"})
    (verdict,) = judge(NAME, machine(rocm=SIDE_BY_SIDE, environment=paths))
    assert verdict.finding is not None
    assert verdict.finding.severity == "warning"
    assert "7.0.1" in verdict.finding.message and "6.2.0" in verdict.finding.message
    assert len(verdict.finding.evidence) == 2


def test_releases_side_by_side_and_a_module_that_selects_one_are_healthy() -> None:
    assert states(judge(NAME, machine(rocm=SIDE_BY_SIDE, environment=environment({})))) == ["pass"]
    loaded = environment(
        {"LD_LIBRARY_PATH": "/opt/rocm-7.0.1/lib:/opt/rocm-7.0.1/lib64", "ROCM_PATH": "/opt/rocm-7.0.1"}
    )
    assert states(judge(NAME, machine(rocm=SIDE_BY_SIDE, environment=loaded))) == ["pass"]
    packages = {"rocblas": "4.2.0.60200-66~24.04", "rccl6.0.2": "2.18.6.60002-115", "zlib1g": "1.3"}
    assert states(judge(NAME, machine(rocm_packages=k(packages)))) == ["pass"]


def test_a_folder_that_is_not_there_mixes_nothing() -> None:
    paths = environment({"LD_LIBRARY_PATH": "/opt/rocm-5.7.0/lib", "ROCM_PATH": "/opt/rocm"})
    assert states(judge(NAME, machine(rocm=SIDE_BY_SIDE, rocm_complete=True, environment=paths))) == ["pass"]
    assert states(judge(NAME, machine(rocm=SIDE_BY_SIDE, environment=paths))) == ["fail"]


def test_nothing_known_is_unknown() -> None:
    assert states(judge(NAME, machine())) == ["unknown"]


def test_paths_of_two_releases_under_a_torch_that_works_are_a_note() -> None:
    paths = environment({"LD_LIBRARY_PATH": "/opt/rocm-7.0.1/lib:/usr/lib", "ROCM_PATH": "/opt/rocm"})
    torch = TorchBuild(version=k("2.9.1"), hip=k("6.4.43482"), cuda=k(None), import_error=k(None), device_count=k(1))
    assert severities(judge(NAME, machine(rocm=SIDE_BY_SIDE, environment=paths, torch=torch))) == ["info"]

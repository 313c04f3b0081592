from __future__ import annotations

from rocdoctor.model.facts import Kernel, Nic, RocmInstall, TorchBuild
from tests.kit import amd_gpu, environment, judge, k, machine, severities, states

NAME = "known-release-issue"
ROCM_10 = (RocmInstall(k("10.0.0"), "/opt/rocm/core-10.0", "core"),)


def test_an_open_issue_is_a_note_with_its_date_as_nothing_here_shows_harm() -> None:
    found = [
        verdict.finding
        for verdict in judge(NAME, machine(amd_gpu(gfx="gfx1200"), rocm=ROCM_10))
        if verdict.finding is not None
    ]
    assert [one.severity for one in found] == ["info"]
    assert "2026-10-05" in found[0].message and "fixed in ROCm 10.1.0" in found[0].message
    assert found[0].fix is not None and "TORCH_BLAS_PREFER_HIPBLASLT=0" in found[0].fix.text
    assert found[0].references


def test_a_workaround_that_is_in_place_silences_it() -> None:
    of = machine(amd_gpu(gfx="gfx1200"), rocm=ROCM_10, environment=environment({"TORCH_BLAS_PREFER_HIPBLASLT": "0"}))
    assert states(judge(NAME, of)) == ["pass"]


def test_issues_of_less_weight_are_only_worth_knowing() -> None:
    of = machine(amd_gpu(gfx="gfx950"), rocm=ROCM_10)
    assert set(severities(judge(NAME, of))) == {"info"}


def test_issues_of_several_nodes_are_told_only_where_there_may_be_several() -> None:
    rocm = (RocmInstall(k("7.14.0"), "/opt/rocm/core-7.14", "core"),)
    assert states(judge(NAME, machine(amd_gpu(gfx="gfx942"), rocm=rocm))) == ["pass"]
    many = machine(amd_gpu(gfx="gfx942"), rocm=rocm, network=(Nic("mlx5_0", "infiniband"),))
    assert severities(judge(NAME, many)) == ["info"]
    job = machine(amd_gpu(gfx="gfx942"), rocm=rocm, environment=environment({"SLURM_NNODES": "4"}))
    assert severities(judge(NAME, job)) == ["info"]


def test_the_rocm_inside_a_wheel_counts_more_than_the_systems() -> None:
    torch = TorchBuild(version=k("2.9.1+rocm6.4"), hip=k("6.4.43482"))
    assert states(judge(NAME, machine(amd_gpu(gfx="gfx1200"), torch=torch, rocm=ROCM_10))) == ["pass"]


def test_releases_without_issues_pass_and_nothing_known_is_not_applicable() -> None:
    of = machine(
        amd_gpu(), rocm=(RocmInstall(k("6.4.3"), "/opt/rocm-6.4.3", "classic"),), kernel=Kernel(release=k("6.8.0"))
    )
    assert states(judge(NAME, of)) == ["pass"]
    assert states(judge(NAME, machine(amd_gpu()))) == ["not-applicable"]

from __future__ import annotations

from rocdoctor.model.facts import RocmInstall, TorchBuild
from tests.kit import amd_gpu, judge, k, machine, severities, states, u

NAME = "rocm-gpu-support-window"


def rocm(*versions: str) -> tuple[RocmInstall, ...]:
    return tuple(RocmInstall(k(one), f"/opt/rocm-{one}", "classic") for one in versions)


def test_a_listed_gpu_passes_and_one_of_several_releases_is_enough() -> None:
    assert states(judge(NAME, machine(amd_gpu(), rocm=rocm("6.2.0")))) == ["pass"]
    assert states(judge(NAME, machine(amd_gpu(gfx="gfx1201"), rocm=rocm("6.2.0", "7.2.1")))) == ["pass"]


def test_a_gpu_newer_than_the_release_is_a_warning() -> None:
    (verdict,) = judge(NAME, machine(amd_gpu(gfx="gfx1201"), rocm=rocm("6.2.0")))
    assert verdict.finding is not None
    assert verdict.finding.severity == "warning"
    assert "ROCm 6.2.0 is older than gfx1201" in verdict.finding.message


def test_a_gpu_that_was_never_listed_or_is_no_longer_is_only_worth_knowing() -> None:
    assert severities(judge(NAME, machine(amd_gpu(gfx="gfx1031"), rocm=rocm("6.2.0")))) == ["info"]
    assert severities(judge(NAME, machine(amd_gpu(gfx="gfx906"), rocm=rocm("7.2.1")))) == ["info"]
    (verdict,) = judge(NAME, machine(amd_gpu(gfx="gfx906"), rocm=rocm("6.2.0")))
    assert verdict.finding is not None
    assert verdict.finding.severity == "info"
    assert "support is ending" in verdict.finding.message


def test_unknown_and_not_applicable() -> None:
    assert states(judge(NAME, machine(amd_gpu()))) == ["unknown"]
    assert states(judge(NAME, machine(amd_gpu(gfx=u()), rocm=rocm("6.2.0")))) == ["unknown"]
    assert states(judge(NAME, machine(amd_gpu(), rocm_complete=True))) == ["not-applicable"]
    assert states(judge(NAME, machine(amd_gpu(gfx="gfx1201"), rocm=rocm("6.4.1")))) == ["not-applicable"]
    assert states(judge(NAME, machine(amd_gpu(integrated=True), rocm=rocm("6.2.0")))) == ["not-applicable"]
    assert states(judge(NAME, machine(rocm=rocm("6.2.0")))) == ["not-applicable"]


def test_a_torch_that_works_makes_it_a_note() -> None:
    torch = TorchBuild(version=k("2.9.1"), hip=k("6.4.43482"), cuda=k(None), import_error=k(None), device_count=k(1))
    assert severities(judge(NAME, machine(amd_gpu(gfx="gfx1201"), rocm=rocm("6.2.0"), torch=torch))) == ["info"]

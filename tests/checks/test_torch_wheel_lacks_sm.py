from __future__ import annotations

import pytest

from rocdoctor.model.facts import TorchBuild
from tests.kit import judge, k, machine, nvidia_gpu, severities, states, u

NAME = "torch-wheel-lacks-sm"
LIST = ("sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_90")


def build(*targets: str, complete: bool = True) -> TorchBuild:
    return TorchBuild(
        version=k("2.6.0+cu124"), hip=k(None), cuda=k("12.4"), arch_list=k(targets), arch_list_complete=complete
    )


@pytest.mark.parametrize("capability", ["9.0", "8.9", "8.6", "7.5", "6.1", "5.2"])
def test_code_of_the_same_major_number_runs_on_higher_minor_ones(capability: str) -> None:
    assert states(judge(NAME, machine(nvidia_gpu(compute_capability=capability), torch=build(*LIST)))) == ["pass"]


def test_a_newer_gpu_is_an_error_with_a_newer_flavour_as_the_fix() -> None:
    (verdict,) = judge(NAME, machine(nvidia_gpu(compute_capability="12.0"), torch=build(*LIST)))
    assert verdict.finding is not None and verdict.finding.fix is not None
    assert verdict.finding.severity == "error"
    assert "sm_120" in verdict.finding.message
    assert "cu128" in verdict.finding.fix.command


def test_ptx_reaches_newer_gpus_and_code_for_one_gpu_does_not() -> None:
    gpu = nvidia_gpu(compute_capability="12.0")
    assert states(judge(NAME, machine(gpu, torch=build(*LIST, "compute_90")))) == ["pass"]
    assert severities(judge(NAME, machine(gpu, torch=build("sm_90a", "compute_90a")))) == ["error"]


def test_an_old_gpu_that_the_build_dropped_is_an_error_and_a_warning_beside_a_newer_one() -> None:
    old = nvidia_gpu(compute_capability="3.7")
    (verdict,) = judge(NAME, machine(old, torch=build(*LIST)))
    assert verdict.finding is not None and verdict.finding.fix is not None
    assert verdict.finding.severity == "error"
    assert "last torch release" in verdict.finding.fix.text
    assert severities(judge(NAME, machine(old, nvidia_gpu(1), torch=build(*LIST)))) == ["warning"]


def test_unknown_and_not_applicable() -> None:
    gpu = nvidia_gpu(compute_capability="12.0")
    assert states(judge(NAME, machine(gpu, torch=build(*LIST, complete=False)))) == ["unknown"]
    assert states(judge(NAME, machine(gpu, torch=build(*LIST, "odd")))) == ["unknown"]
    assert states(judge(NAME, machine(nvidia_gpu(compute_capability=u()), torch=build(*LIST)))) == ["unknown"]
    assert states(judge(NAME, machine(gpu))) == ["unknown"]
    assert states(judge(NAME, machine(nvidia_gpu(driver="nouveau"), torch=build("sm_50")))) == ["not-applicable"]
    rocm = TorchBuild(version=k("2.9.0+rocm6.4"), hip=k("6.4"), cuda=k(None))
    assert states(judge(NAME, machine(gpu, torch=rocm))) == ["not-applicable"]


def test_an_old_card_for_the_desktop_beside_one_that_trains_is_a_note() -> None:
    torch = TorchBuild(
        version=k("2.9.1+cu128"), hip=k(None), cuda=k("12.8"), arch_list=k(("sm_80", "sm_90")), arch_list_complete=True
    )
    old = nvidia_gpu(0, compute_capability="6.1", boot_display=True)
    assert severities(judge("torch-wheel-lacks-sm", machine(old, nvidia_gpu(1), torch=torch))) == ["info"]

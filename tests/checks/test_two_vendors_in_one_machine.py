from __future__ import annotations

from rocdoctor.model.facts import TorchBuild
from tests.kit import amd_gpu, judge, k, machine, nvidia_gpu, states

NAME = "two-vendors-in-one-machine"


def test_discrete_gpus_of_both_are_a_note_that_names_the_build() -> None:
    torch = TorchBuild(version=k("2.9.0"), hip=k("7.0.0"))
    (verdict,) = judge(NAME, machine(amd_gpu(), nvidia_gpu(), nvidia_gpu(1), torch=torch))
    assert verdict.finding is not None
    assert verdict.finding.severity == "info"
    assert "one AMD GPU and two NVIDIA GPUs" in verdict.finding.message
    assert "uses AMD only" in verdict.finding.message


def test_an_integrated_gpu_and_a_gpu_of_a_guest_do_not_count() -> None:
    assert states(judge(NAME, machine(amd_gpu(integrated=True), nvidia_gpu(), nvidia_gpu(1)))) == ["pass"]
    assert states(judge(NAME, machine(amd_gpu(), nvidia_gpu(driver="vfio-pci")))) == ["pass"]
    assert states(judge(NAME, machine(amd_gpu(), amd_gpu(1)))) == ["pass"]


def test_one_gpu_is_not_applicable() -> None:
    assert states(judge(NAME, machine(amd_gpu()))) == ["not-applicable"]

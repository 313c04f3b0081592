from __future__ import annotations

from dataclasses import replace

from rocdoctor.model.facts import Container, Gpu, Kernel
from tests.kit import amd_gpu, judge, k, machine, states

NAME = "no-gpu-for-training"


def test_a_machine_without_gpu_gets_one_note() -> None:
    (verdict,) = judge(NAME, machine())
    assert verdict.finding is not None
    assert verdict.finding.severity == "info"
    assert "gloo" in verdict.finding.message
    assert verdict.finding.cause == ""


def test_a_virtual_machine_is_told_of_instance_types() -> None:
    (verdict,) = judge(NAME, machine(container=Container(virtual_machine=k("kvm"))))
    assert verdict.finding is not None
    assert verdict.finding.fix is not None
    assert "instance type" in verdict.finding.fix.text


def test_an_integrated_gpu_of_another_vendor_does_not_train() -> None:
    assert states(judge(NAME, machine(Gpu(0, "intel", integrated=k(True))))) == ["fail"]
    assert states(judge(NAME, machine(Gpu(0, "intel", integrated=k(False))))) == ["not-applicable"]


def test_an_excerpt_wsl_and_a_gpu_are_not_applicable() -> None:
    assert states(judge(NAME, replace(machine(), gpus_complete=False))) == ["not-applicable"]
    assert states(judge(NAME, machine(container=Container(kind=k("wsl"))))) == ["not-applicable"]
    release = Kernel(release=k("5.15.167.4-microsoft-standard-WSL2"))
    assert states(judge(NAME, machine(kernel=release))) == ["not-applicable"]
    assert states(judge(NAME, machine(amd_gpu()))) == ["not-applicable"]

from __future__ import annotations

from rocdoctor.model.facts import Gpu
from tests.kit import amd_gpu, judge, k, machine, nvidia_gpu, states, u

NAME = "unsupported-vendor-gpu"


def test_a_discrete_gpu_of_intel_is_a_note() -> None:
    (verdict,) = judge(NAME, machine(Gpu(0, "intel", pci_id=k("8086:e20b"), integrated=k(False))))
    assert verdict.finding is not None
    assert verdict.finding.severity == "info"
    assert "Intel" in verdict.finding.message


def test_pass_unknown_and_not_applicable() -> None:
    assert states(judge(NAME, machine(amd_gpu(), nvidia_gpu()))) == ["pass", "pass"]
    assert states(judge(NAME, machine(Gpu(0, "other", pci_id=u())))) == ["unknown"]
    laptop = machine(Gpu(0, "intel", pci_id=k("8086:9a49"), integrated=k(True)))
    assert states(judge(NAME, laptop)) == ["not-applicable"]
    assert states(judge(NAME, machine())) == ["not-applicable"]

from __future__ import annotations

from rocdoctor.model.facts import Container
from tests.kit import amd_gpu, judge, k, machine, severities, states

NAME = "virtual-machine-passthrough"


def test_a_guest_is_told_what_it_sees() -> None:
    (verdict,) = judge(NAME, machine(amd_gpu(), container=Container(virtual_machine=k("kvm"))))
    assert verdict.finding is not None
    assert severities([verdict]) == ["info"]
    assert "kvm" in verdict.finding.message


def test_bare_metal_passes() -> None:
    assert states(judge(NAME, machine(amd_gpu(), container=Container(virtual_machine=k(None))))) == ["pass"]


def test_unknown_and_not_applicable() -> None:
    assert states(judge(NAME, machine(amd_gpu()))) == ["unknown"]
    assert states(judge(NAME, machine(container=Container(virtual_machine=k("kvm"))))) == ["not-applicable"]

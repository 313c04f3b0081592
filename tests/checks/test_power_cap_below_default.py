from __future__ import annotations

from rocdoctor.model.evidence import Unknown
from rocdoctor.model.facts import Power
from tests.kit import amd_gpu, judge, k, machine, nvidia_gpu, severities, states

NAME = "power-cap-below-default"


def test_the_default_cap_a_rounding_and_a_raised_cap_pass() -> None:
    for cap in (300.0, 295.0, 330.0):
        assert states(judge(NAME, machine(amd_gpu(power=Power(cap_w=k(cap), cap_default_w=k(300.0)))))) == ["pass"]


def test_a_lowered_cap_is_a_note_with_both_figures() -> None:
    (verdict,) = judge(NAME, machine(amd_gpu(power=Power(cap_w=k(120.0), cap_default_w=k(304.0)))))
    assert verdict.finding is not None
    assert verdict.finding.severity == "info"
    assert "120 W, 61% below the default of 304 W" in verdict.finding.message


def test_the_command_is_that_of_the_vendor() -> None:
    (verdict,) = judge(NAME, machine(nvidia_gpu(power=Power(cap_w=k(400.0), cap_default_w=k(700.0)))))
    assert verdict.finding is not None
    assert verdict.finding.fix is not None
    assert verdict.finding.fix.command == "sudo nvidia-smi -pl 700"


def test_an_unknown_default_is_unknown_and_no_cap_is_not_applicable() -> None:
    assert states(judge(NAME, machine(amd_gpu(power=Power(cap_w=k(120.0)))))) == ["unknown"]
    assert states(judge(NAME, machine(amd_gpu(power=Power(cap_w=Unknown("none", "absent")))))) == ["not-applicable"]
    assert states(judge(NAME, machine(amd_gpu(power=Power(cap_w=k(0.0), cap_default_w=k(0.0)))))) == ["not-applicable"]
    assert severities(judge(NAME, machine())) == []

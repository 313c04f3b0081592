from __future__ import annotations

from rocdoctor.model.facts import Fan, Temperature
from tests.kit import amd_gpu, judge, k, machine, states, u

NAME = "fan-manual"


def test_an_automatic_fan_and_a_fan_at_full_speed_pass() -> None:
    for mode in ("automatic", "full"):
        assert states(judge(NAME, machine(amd_gpu(fan=Fan(mode=k(mode)))))) == ["pass"]


def test_a_fixed_fan_on_a_cool_card_is_a_note() -> None:
    temps = (Temperature("edge", k(60.0), k(100.0)),)
    (verdict,) = judge(NAME, machine(amd_gpu(fan=Fan(mode=k("manual"), pwm=k(60)), temps=temps)))
    assert verdict.finding is not None
    assert verdict.finding.severity == "info"
    assert "60 of 255" in verdict.finding.message
    assert verdict.finding.fix is not None
    assert "resetfan" in verdict.finding.fix.command


def test_a_fixed_fan_on_a_card_at_its_limit_is_a_warning() -> None:
    temps = (Temperature("edge", k(101.0), k(100.0)),)
    (verdict,) = judge(NAME, machine(amd_gpu(fan=Fan(mode=k("manual"), pwm=k(60)), temps=temps)))
    assert verdict.finding is not None
    assert verdict.finding.severity == "warning"
    assert verdict.finding.cause == "thermal-or-power-limit"
    assert "101 °C" in verdict.finding.message


def test_a_denied_mode_is_unknown_and_a_card_without_a_fan_is_not_judged() -> None:
    assert states(judge(NAME, machine(amd_gpu(fan=Fan(mode=u()))))) == ["unknown"]
    assert states(judge(NAME, machine(amd_gpu()))) == ["not-applicable"]

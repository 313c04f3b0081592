from __future__ import annotations

from typing import Any

from rocdoctor.model.facts import Fan, Gpu, Temperature
from tests.kit import amd_gpu, judge, k, machine, severities, states

NAME = "fan-stopped-hot"
HOT = (Temperature("junction", k(104.0), k(110.0), k(115.0)),)
COOL = (Temperature("junction", k(59.0), k(110.0), k(115.0)),)


def card(temps: tuple[Temperature, ...], rpm: int = 0, mode: str = "automatic", **changes: Any) -> Gpu:
    return amd_gpu(temps=temps, fan=Fan(rpm=k(rpm), max_rpm=k(3400), mode=k(mode)), **changes)


def test_a_fan_that_stops_while_the_card_is_cool_is_healthy() -> None:
    assert states(judge(NAME, machine(card(COOL), laptop=k(False)))) == ["pass"]
    assert states(judge(NAME, machine(card(HOT, rpm=2900), laptop=k(False)))) == ["pass"]


def test_a_fan_that_stands_still_near_the_limit_is_a_warning() -> None:
    (verdict,) = judge(NAME, machine(card(HOT), laptop=k(False)))
    assert verdict.finding is not None
    assert verdict.finding.severity == "warning"
    assert verdict.finding.cause == "thermal-or-power-limit"
    assert "0 rpm" in verdict.finding.message
    assert "104 °C, 6 °C below" in verdict.finding.message


def test_without_knowing_the_kind_of_machine_it_is_a_note() -> None:
    assert severities(judge(NAME, machine(card(HOT)))) == ["info"]
    assert severities(judge(NAME, machine(card(HOT, mode="manual"), laptop=k(False)))) == ["info"]


def test_in_a_laptop_and_on_passive_cards_there_is_nothing_to_judge() -> None:
    assert states(judge(NAME, machine(card(HOT), laptop=k(True)))) == ["not-applicable"]
    assert states(judge(NAME, machine(amd_gpu(temps=HOT)))) == ["not-applicable"]


def test_a_stopped_fan_without_limits_is_unknown() -> None:
    assert states(judge(NAME, machine(card((Temperature("edge", k(99.0)),)), laptop=k(False)))) == ["unknown"]

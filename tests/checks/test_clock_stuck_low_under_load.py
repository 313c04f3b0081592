from __future__ import annotations

from rocdoctor.model.facts import Gpu, Power
from tests.kit import amd_gpu, judge, k, machine, nvidia_gpu, states

NAME = "clock-stuck-low-under-load"


def card(busy: int, clock: float, power: float) -> Gpu:
    return amd_gpu(
        busy_percent=busy,
        clocks_mhz={"sclk": k(clock)},
        max_clocks_mhz={"sclk": k(1700.0)},
        power=Power(now_w=k(power), cap_w=k(300.0)),
    )


def test_an_idle_card_a_busy_card_and_a_waiting_card_pass() -> None:
    for gpu in (card(0, 130, 40), card(99, 1650, 290), card(100, 1600, 80), card(99, 500, 240)):
        assert states(judge(NAME, machine(gpu))) == ["pass"]


def test_busy_at_a_low_clock_and_little_power_warns_as_a_possibility() -> None:
    (verdict,) = judge(NAME, machine(card(100, 300, 55)))
    assert verdict.finding is not None
    assert (verdict.finding.severity, verdict.finding.confidence) == ("warning", "possible")
    assert "300 of 1700 MHz" in verdict.finding.message
    assert "55 of 300 W" in verdict.finding.message


def test_the_graphics_clock_of_nvidia_is_the_one_that_counts() -> None:
    gpu = nvidia_gpu(
        busy_percent=100,
        clocks_mhz={"graphics": k(210.0)},
        max_clocks_mhz={"graphics": k(1980.0)},
        power=Power(now_w=k(60.0), cap_w=k(700.0)),
    )
    assert states(judge(NAME, machine(gpu))) == ["fail"]


def test_unknown_load_or_clock_is_unknown() -> None:
    assert states(judge(NAME, machine(amd_gpu()))) == ["unknown"]
    assert states(judge(NAME, machine(amd_gpu(busy_percent=100)))) == ["unknown"]
    assert states(judge(NAME, machine(amd_gpu(busy_percent=2)))) == ["pass"]
    assert states(judge(NAME, machine())) == ["not-applicable"]

"""Fans fixed by hand and hot cards. The texts are constructed."""

from __future__ import annotations

from tests.kit import judge, states
from tests.message_kit import finding_of, pasted, words_of

CHECK = "cooling-message"


def test_a_fixed_fan_is_told_on_the_right_scale() -> None:
    found = finding_of(CHECK, "sudo rocm-smi --setfan 50\nthen the temperature climbs to 100C")
    assert found is not None and found.severity == "error"
    assert "50 of 255 (20%)" in found.message and "--resetfan" in words_of(found)
    assert (alone := finding_of(CHECK, "rocm-smi --setfan 30%")) and alone.severity == "warning"


def test_words_alone_are_possible() -> None:
    found = finding_of(CHECK, "the card is overheating during training")
    assert found is not None and found.confidence == "possible"


def test_a_fast_fan_and_silence() -> None:
    assert states(judge(CHECK, pasted("rocm-smi --setfan 255"))) == ["pass"]
    assert states(judge(CHECK, pasted("HW Thermal Slowdown                  : Not Active"))) == ["not-applicable"]

"""Cards on risers, from words of people. The texts are constructed."""

from __future__ import annotations

from tests.kit import judge, states
from tests.message_kit import finding_of, pasted

CHECK = "riser-message"


def test_a_riser_is_possible_only() -> None:
    found = finding_of(CHECK, "Copies are wrong. The card sits on a x1 mining riser.")
    assert found is not None and (found.severity, found.confidence) == ("warning", "possible")


def test_silence() -> None:
    assert states(judge(CHECK, pasted("the loss is rising"))) == ["not-applicable"]

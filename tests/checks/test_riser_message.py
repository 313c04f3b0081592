"""Cards on risers, from words of people. The texts are constructed."""

from __future__ import annotations

from rocdoctor.model.finding import Finding
from tests.kit import judge, states
from tests.message_kit import pasted
from tests.text_kit import diagnosed

CHECK = "riser-message"


def _said(text: str) -> list[Finding]:
    """What the check says of a text, read as a whole."""
    return [one.finding for one in diagnosed(text).verdicts if one.check == CHECK and one.finding is not None]


def test_a_riser_is_possible_only() -> None:
    (found,) = _said("Copies are wrong. The card sits on a x1 mining riser.")
    assert (found.severity, found.confidence) == ("warning", "possible")
    (found,) = _said("pcieport 0000:00:01.0: AER: Corrected error received\nThe card sits on a riser.\n")
    assert found.confidence == "possible"


def test_a_riser_without_trouble_is_none() -> None:
    for text in (
        "What is the maximum cable length for PCIe 4.0 risers? I want to put my cards elsewhere.",
        "I replaced the riser cable because the old one was too short. Link still Gen4 x16, everything as before.",
        "My A4000 works on the riser. Without the riser the case does not close.",
    ):
        assert _said(text) == [], text


def test_silence() -> None:
    assert states(judge(CHECK, pasted("the loss is rising"))) == ["not-applicable"]

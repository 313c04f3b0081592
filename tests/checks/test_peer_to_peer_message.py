"""Hanging collectives and the IOMMU. The texts are constructed: RCCL's warning, and words of people."""

from __future__ import annotations

from tests.kit import judge, states
from tests.message_kit import finding_of, pasted, words_of

CHECK = "peer-to-peer-message"


def test_the_warning_of_rccl() -> None:
    text = 'NCCL WARN Missing "iommu=pt" from kernel command line which can lead to system instablity or hang!'
    found = finding_of(CHECK, text)
    assert found is not None and found.severity == "warning" and "iommu=pt" in words_of(found)
    assert (both := finding_of(CHECK, text + "\nand then all_reduce_perf hangs")) and both.severity == "error"


def test_words_about_a_hang_are_possible_only() -> None:
    found = finding_of(CHECK, "With 4 GPUs all_reduce_perf hangs forever; a single one works.")
    assert found is not None and found.severity == "warning" and found.confidence == "possible"
    assert "ACS" in found.message


def test_a_failed_sample() -> None:
    found = finding_of(CHECK, "Verification error @ element 1: val = 0.000000, ref = 4.000000 after P2P copy")
    assert found is not None and found.severity == "error"


def test_other_hangs_are_not_meant() -> None:
    assert states(judge(CHECK, pasted("my editor hangs when I open the notebook"))) == ["not-applicable"]

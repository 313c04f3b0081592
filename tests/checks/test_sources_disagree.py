from __future__ import annotations

from rocdoctor.model.facts import Disagreement
from rocdoctor.model.subject import Subject
from tests.kit import amd_gpu, judge, machine, severities, states

NAME = "sources-disagree"


def _one(values: tuple[tuple[str, str], ...] = (("gfx1100", "read /a"), ("gfx1030", "run rocminfo"))) -> Disagreement:
    return Disagreement(Subject("gpu", 0, "0000:23:00.0"), "gfx", values)


def test_each_difference_is_a_note_with_both_values_and_sources() -> None:
    (verdict,) = judge(NAME, machine(amd_gpu(), disagreements=(_one(),)))
    assert verdict.finding is not None
    assert verdict.finding.severity == "info"
    assert "gfx1100 and gfx1030" in verdict.finding.message
    assert [piece.source for piece in verdict.finding.evidence] == ["read /a", "run rocminfo"]
    assert verdict.subject.label == "gpu 0 (0000:23:00.0)"


def test_many_are_counted_and_records_left_out() -> None:
    verdicts = judge(NAME, machine(amd_gpu(), disagreements=(_one(),) * 25))
    assert len(verdicts) == 21
    assert severities(verdicts) == ["info"] * 21
    records = _one((("(1, 2)", "a"), ("(1, 3)", "b")))
    assert states(judge(NAME, machine(amd_gpu(), disagreements=(records,)))) == ["pass"]


def test_pass_and_not_applicable() -> None:
    assert states(judge(NAME, machine(amd_gpu()))) == ["pass"]
    assert states(judge(NAME, machine())) == ["not-applicable"]

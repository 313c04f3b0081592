from __future__ import annotations

from rocdoctor.facts import ToolFailure
from tests.kit import amd_gpu, judge, machine, severities, states

NAME = "tool-failed"


def test_a_vendor_tool_that_hung_is_a_warning_and_one_that_failed_a_note() -> None:
    hung = ToolFailure("run rocm-smi --showtopo", "run rocm-smi --showtopo: no answer within 5.0 s")
    failed = ToolFailure("run rocminfo", "run rocminfo: it failed", "HSA_STATUS_ERROR", 3)
    verdicts = judge(NAME, machine(amd_gpu(), failures=(hung, failed, failed)))
    assert severities(verdicts) == ["warning", "info"]
    first, second = (verdict.finding for verdict in verdicts)
    assert first is not None
    assert first.message == "`rocm-smi --showtopo` hung (no answer within 5.0 s); the report does without it."
    assert second is not None
    assert second.evidence[0].value == "HSA_STATUS_ERROR"


def test_pass_and_not_applicable() -> None:
    assert states(judge(NAME, machine(amd_gpu()))) == ["pass"]
    assert states(judge(NAME, machine())) == ["not-applicable"]

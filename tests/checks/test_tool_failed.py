from __future__ import annotations

from rocdoctor.model.facts import Kernel, ToolFailure
from tests.kit import amd_gpu, event, judge, log, machine, severities, states

NAME = "tool-failed"


def test_vendor_tools_that_hang_are_a_warning_and_one_that_failed_a_note() -> None:
    other = ToolFailure(
        "run /opt/rocm/bin/rocminfo", "run /opt/rocm/bin/rocminfo: no answer within 5.0 s", reason="timeout"
    )
    hung = ToolFailure("run rocm-smi --showtopo", "run rocm-smi --showtopo: no answer within 5.0 s", reason="timeout")
    failed = ToolFailure("run rocminfo", "run rocminfo: it failed", "HSA_STATUS_ERROR", 3)
    verdicts = judge(NAME, machine(amd_gpu(), failures=(hung, failed, failed, other)))
    assert severities(verdicts) == ["warning", "info", "warning"]
    first, second = (verdict.finding for verdict in verdicts[:2])
    assert first is not None
    assert first.message == "`rocm-smi --showtopo` hung (no answer within 5.0 s); the report was made without it."
    assert second is not None
    assert second.evidence[0].value == "HSA_STATUS_ERROR"


def test_a_slow_tool_is_unknown_unless_the_log_tells_of_trouble() -> None:
    slow = ToolFailure(
        "run amd-smi static --json", "run amd-smi static --json: no answer within 5.0 s", reason="timeout"
    )
    (verdict,) = judge(NAME, machine(amd_gpu(), failures=(slow,)))
    assert (verdict.state, verdict.gap and verdict.gap.reason) == ("unknown", "timeout")
    assert "`" not in verdict.why and "amd-smi static --json" in verdict.why
    twice = ToolFailure("run rocm-smi --showtopo", "run rocm-smi --showtopo: no answer within 5.0 s", reason="timeout")
    assert severities(judge(NAME, machine(amd_gpu(), failures=(slow, twice)))) == []
    assert states(judge(NAME, machine(amd_gpu(), failures=(slow, twice)))) == ["unknown"]
    log_hung = ToolFailure("run dmesg", "run dmesg: no answer within 5.0 s", reason="timeout")
    assert states(judge(NAME, machine(amd_gpu(), failures=(log_hung,)))) == ["unknown"]
    failed = ToolFailure("run rocminfo", "run rocminfo: it failed", "HSA_STATUS_ERROR", 3)
    assert severities(judge(NAME, machine(amd_gpu(), failures=(slow, failed)))) == ["info"]
    stuck = Kernel(log=log(event("gpu-ring-timeout")))
    assert severities(judge(NAME, machine(amd_gpu(), failures=(slow,), kernel=stuck))) == ["warning"]
    reloaded = Kernel(log=log(event("gpu-ring-timeout", before_driver_load=True)))
    assert severities(judge(NAME, machine(amd_gpu(), failures=(slow,), kernel=reloaded))) == []


def test_no_program_that_only_the_evidence_names_is_offered() -> None:
    made_up = ToolFailure("run sh -c 'touch x' y.xml", "it failed")
    (verdict,) = judge(NAME, machine(amd_gpu(), failures=(made_up,)))
    assert verdict.finding is not None and verdict.finding.fix is not None
    assert verdict.finding.fix.command == ""
    assert "once you know what it does" in verdict.finding.fix.text


def test_pass_and_not_applicable() -> None:
    assert states(judge(NAME, machine(amd_gpu()))) == ["pass"]
    assert states(judge(NAME, machine())) == ["not-applicable"]

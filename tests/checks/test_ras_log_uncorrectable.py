from __future__ import annotations

from rocdoctor.model.facts import Kernel, LogEvent, Machine
from tests.kit import amd_gpu, event, judge, log, machine, severities, states

NAME = "ras-log-uncorrectable"
BDF = "0000:23:00.0"
ATHUB = "amdgpu 0000:23:00.0: {1}uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT) detected!"


def of(*events: LogEvent, complete: bool = True) -> Machine:
    return machine(amd_gpu(), kernel=Kernel(log=log(*events, complete=complete)))


def test_corrected_errors_and_a_quiet_log_pass() -> None:
    assert states(judge(NAME, of())) == ["pass"]
    assert states(judge(NAME, of(event("ras-correctable", bdf=BDF, block="umc", new_count=1)))) == ["pass"]


def test_the_fatal_interrupt_is_named() -> None:
    (verdict,) = judge(NAME, of(event("ras-uncorrectable", ATHUB, BDF, age_s=10.0, source="ERREVENT_ATHUB_INTERRUPT")))
    assert verdict.finding is not None
    assert (verdict.finding.severity, verdict.finding.cause) == ("error", "gpu-hardware-fault")
    assert verdict.subject.label == "gpu 0 (0000:23:00.0)"
    assert "fatal, ATHUB" in verdict.finding.message
    assert "less than a minute before the end of the log" in verdict.finding.message
    assert "gpu-reset-log" in verdict.finding.explains


def test_blocks_are_named_with_their_largest_count() -> None:
    one = event("ras-uncorrectable", bdf=BDF, age_s=5400.0, block="umc", new_count=1, total_count=3)
    two = event("ras-poison-consumed", bdf=BDF, age_s=5400.0, block="gfx")
    (verdict,) = judge(NAME, of(one, two))
    assert verdict.finding is not None
    assert "(umc block: 3, gfx block)" in verdict.finding.message
    assert "2 h before" in verdict.finding.message


def test_before_the_last_driver_load_it_warns_and_deferred_errors_warn() -> None:
    old = event("ras-uncorrectable", bdf=BDF, block="umc", new_count=1, before_driver_load=True)
    assert severities(judge(NAME, of(old))) == ["warning"]
    assert severities(judge(NAME, of(event("ras-deferred", bdf=BDF, block="umc", new_count=2)))) == ["warning"]


def test_each_gpu_has_its_own_finding_and_unknown_addresses_are_named() -> None:
    events = (
        event("ras-uncorrectable", bdf=BDF, block="umc"),
        event("ras-uncorrectable", bdf="0000:dd:00.0", block="umc"),
    )
    verdicts = judge(NAME, of(*events))
    assert [verdict.subject.label for verdict in verdicts] == ["gpu 0 (0000:23:00.0)", "device 0000:dd:00.0"]
    messages = {verdict.finding.message for verdict in verdicts if verdict.finding is not None}
    assert len(messages) == 1
    assert "23:00" not in messages.pop()


def test_an_excerpt_is_unknown_and_no_amd_gpu_not_applicable() -> None:
    assert states(judge(NAME, of(complete=False))) == ["unknown"]
    assert states(judge(NAME, machine(kernel=Kernel(log=log())))) == ["not-applicable"]


def test_long_ago_it_warns_and_deferred_errors_are_a_note() -> None:
    """The damaged page was retired and the GPU has worked for weeks."""
    weeks = 3_000_000.0
    (verdict,) = judge(NAME, of(event("ras-uncorrectable", bdf=BDF, block="umc", new_count=1, age_s=weeks)))
    assert verdict.finding is not None
    assert verdict.finding.severity == "warning"
    assert "loaded again" not in verdict.finding.message
    assert severities(judge(NAME, of(event("ras-deferred", bdf=BDF, block="umc", new_count=2, age_s=weeks)))) == [
        "info"
    ]

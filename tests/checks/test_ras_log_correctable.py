from __future__ import annotations

from rocdoctor.model.facts import Kernel, LogEvent, Machine
from tests.kit import amd_gpu, event, judge, log, machine, severities, states

NAME = "ras-log-correctable"
BDF = "0000:23:00.0"


def of(*events: LogEvent, complete: bool = True) -> Machine:
    return machine(amd_gpu(), kernel=Kernel(log=log(*events, complete=complete)))


def test_corrected_errors_are_a_note_with_block_count_and_age() -> None:
    (verdict,) = judge(
        NAME, of(event("ras-correctable", bdf=BDF, age_s=1200.0, block="umc", new_count=1, total_count=4))
    )
    assert verdict.finding is not None
    assert (verdict.finding.severity, verdict.finding.cause) == ("info", "")
    assert "4 correctable in the umc block" in verdict.finding.message
    assert "20 min before the end of the log" in verdict.finding.message


def test_beside_an_uncorrectable_error_of_the_same_gpu_they_warn() -> None:
    corrected = event("ras-correctable", bdf=BDF, block="umc", new_count=4)
    assert severities(judge(NAME, of(corrected, event("ras-uncorrectable", bdf=BDF, block="umc")))) == ["warning"]
    assert severities(judge(NAME, of(corrected, event("ras-uncorrectable", bdf="0000:dd:00.0")))) == ["info"]


def test_link_errors_are_left_to_the_check_of_links() -> None:
    assert states(judge(NAME, of(event("ras-correctable", bdf=BDF, block="xgmi_wafl", new_count=1533)))) == ["pass"]


def test_quiet_excerpt_and_no_gpu() -> None:
    assert states(judge(NAME, of())) == ["pass"]
    assert states(judge(NAME, of(complete=False))) == ["unknown"]
    assert states(judge(NAME, machine())) == ["not-applicable"]

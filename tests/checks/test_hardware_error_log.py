from __future__ import annotations

import pytest

from rocdoctor.model.facts import Kernel, LogEvent, Machine
from tests.kit import event, judge, log, machine, severities, states

NAME = "hardware-error-log"


def of(*events: LogEvent, complete: bool = True) -> Machine:
    return machine(kernel=Kernel(log=log(*events, complete=complete)))


@pytest.mark.parametrize(
    "one",
    [
        event("edac-corrected", count=1, time_s=500.0),
        event("machine-check-corrected", time_s=500.0),
        event("firmware-hardware-error", time_s=500.0),
        # Bit 61 of the status says "uncorrected"; here it is clear.
        event("machine-check", status="9c2040000000011b", time_s=500.0),
    ],
)
def test_corrected_errors_are_notes(one: LogEvent) -> None:
    assert severities(judge(NAME, of(one))) == ["info"]


def test_an_uncorrected_memory_error_is_an_error_with_its_age() -> None:
    (verdict,) = judge(NAME, of(event("edac-uncorrected", count=1, time_s=9000.0, age_s=600.0)))
    assert verdict.finding is not None
    assert (verdict.finding.severity, verdict.finding.cause) == ("error", "")
    assert "10 min before the end of the log" in verdict.finding.message


def test_an_uncorrected_machine_check_is_told_by_its_status() -> None:
    assert severities(judge(NAME, of(event("machine-check", status="bea0000000000108", time_s=9000.0)))) == ["error"]


def test_the_record_of_an_earlier_crash_warns() -> None:
    (verdict,) = judge(NAME, of(event("machine-check", status="bea0000000000108", time_s=1.2)))
    assert verdict.finding is not None
    assert verdict.finding.severity == "warning"
    assert "before this boot" in verdict.finding.message


def test_quiet_and_excerpt() -> None:
    assert states(judge(NAME, of())) == ["pass"]
    assert states(judge(NAME, of(complete=False))) == ["unknown"]


def test_an_uncorrected_error_of_long_ago_warns() -> None:
    """The machine has worked for weeks since: the page is out of use."""
    old = event("edac-uncorrected", count=1, time_s=9000.0, age_s=8_000_000.0)
    assert severities(judge(NAME, of(old))) == ["warning"]
    again = event("edac-uncorrected", count=1, time_s=8_008_000.0, age_s=600.0)
    assert severities(judge(NAME, of(old, again))) == ["error"]

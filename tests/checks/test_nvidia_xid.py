from __future__ import annotations

from typing import Any

import pytest

from rocdoctor.model.facts import Kernel, LogEvent, Machine
from tests.kit import amd_gpu, event, judge, log, machine, nvidia_gpu, severities, states

NAME = "nvidia-xid"
BDF = "0000:18:00.0"


def of(*events: LogEvent, complete: bool = True) -> Machine:
    return machine(nvidia_gpu(), kernel=Kernel(log=log(*events, complete=complete)))


def xid(code: int, **changes: Any) -> LogEvent:
    return event("nvidia-xid", f"NVRM: Xid (PCI:0000:18:00): {code}", BDF, **{"age_s": 7200.0, "xid": code, **changes})


@pytest.mark.parametrize("code", [13, 31, 43, 45, 69])
def test_errors_of_programs_are_notes(code: int) -> None:
    (verdict,) = judge(NAME, of(xid(code)))
    assert verdict.finding is not None
    assert (verdict.finding.severity, verdict.finding.cause) == ("info", "")
    assert f"Xid {code}" in verdict.finding.message


@pytest.mark.parametrize("code", [48, 64, 74, 79, 95, 119])
def test_errors_of_the_hardware_are_errors_and_warnings_after_a_reload(code: int) -> None:
    assert severities(judge(NAME, of(xid(code)))) == ["error"]
    assert severities(judge(NAME, of(xid(code, before_driver_load=True)))) == ["warning"]


@pytest.mark.parametrize("code", [63, 92, 94])
def test_contained_errors_warn(code: int) -> None:
    assert severities(judge(NAME, of(xid(code)))) == ["warning"]


def test_the_message_says_what_the_number_means_and_when_it_was() -> None:
    (verdict,) = judge(NAME, of(xid(79), xid(79, age_s=3600.0)))
    assert verdict.finding is not None
    assert "fallen off the bus" in verdict.finding.message
    assert "twice, last 60 min before the end of the log" in verdict.finding.message
    assert verdict.subject.label == "gpu 0 (0000:18:00.0)"


def test_an_unknown_number_is_a_note_and_each_number_has_its_finding() -> None:
    assert severities(judge(NAME, of(xid(999), xid(31), xid(48)))) == ["info", "error", "info"]


def test_quiet_excerpt_and_other_vendors() -> None:
    assert states(judge(NAME, of())) == ["pass"]
    assert states(judge(NAME, of(complete=False))) == ["unknown"]
    assert states(judge(NAME, machine(amd_gpu(), kernel=Kernel(log=log())))) == ["not-applicable"]


def test_what_happened_long_ago_is_weaker() -> None:
    """A GPU may have been reset without a restart of the driver."""
    weeks = 3_000_000.0
    assert severities(judge(NAME, of(xid(79, age_s=weeks)))) == ["warning"]
    assert severities(judge(NAME, of(xid(94, age_s=weeks)))) == ["info"]
    assert severities(judge(NAME, of(xid(79, age_s=weeks), xid(79, age_s=60.0)))) == ["error"]

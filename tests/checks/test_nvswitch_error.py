from __future__ import annotations

from rocdoctor.model.facts import Kernel, LogEvent, Machine
from tests.kit import event, judge, log, machine, nvidia_gpu, severities, states

NAME = "nvswitch-error"


def of(*events: LogEvent, complete: bool = True) -> Machine:
    return machine(nvidia_gpu(), kernel=Kernel(log=log(*events, complete=complete)))


def test_a_fatal_error_is_an_error_that_names_switch_and_number() -> None:
    (verdict,) = judge(NAME, of(event("nvswitch-sxid-fatal", age_s=60.0, sxid=20034, switch=1)))
    assert verdict.finding is not None
    assert (verdict.finding.severity, verdict.finding.cause) == ("error", "gpu-hardware-fault")
    assert "NVSwitch fatal error: SXid 20034 logged once" in verdict.finding.message


def test_history_warns_and_non_fatal_errors_are_notes() -> None:
    assert severities(judge(NAME, of(event("nvswitch-sxid-fatal", sxid=20034, before_driver_load=True)))) == ["warning"]
    (verdict,) = judge(NAME, of(event("nvswitch-sxid", sxid=12028), event("nvswitch-sxid", sxid=12028)))
    assert verdict.finding is not None
    assert (verdict.finding.severity, verdict.finding.cause) == ("info", "")
    assert "twice" in verdict.finding.message


def test_quiet_excerpt_and_no_gpu() -> None:
    assert states(judge(NAME, of())) == ["pass"]
    assert states(judge(NAME, of(complete=False))) == ["unknown"]
    assert states(judge(NAME, machine())) == ["not-applicable"]


def test_a_fatal_error_of_last_week_warns() -> None:
    assert severities(judge(NAME, of(event("nvswitch-sxid-fatal", sxid=20034, age_s=600_000.0)))) == ["warning"]

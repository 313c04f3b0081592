from __future__ import annotations

from rocdoctor.model.facts import Kernel, LogEvent, Machine, RasBlock
from tests.kit import amd_gpu, event, judge, k, log, machine, severities, states, u

NAME = "xgmi-errors"
BDF = "0000:23:00.0"


def of(*events: LogEvent, complete: bool = True) -> Machine:
    return machine(amd_gpu(), kernel=Kernel(log=log(*events, complete=complete)))


def corrected(count: int, time_s: float = 5000.0) -> LogEvent:
    return event("ras-correctable", bdf=BDF, time_s=time_s, age_s=60.0, block="xgmi_wafl", total_count=count)


def test_a_quiet_log_and_errors_of_memory_pass() -> None:
    assert states(judge(NAME, of())) == ["pass"]
    assert states(judge(NAME, of(event("ras-correctable", bdf=BDF, block="umc", new_count=1)))) == ["pass"]


def test_corrected_link_errors_alone_are_a_note() -> None:
    (verdict,) = judge(NAME, of(corrected(1533)))
    assert verdict.finding is not None
    assert (verdict.finding.severity, verdict.finding.cause) == ("info", "")
    assert "1533 correctable hardware errors" in verdict.finding.message
    assert "xgmi_wafl" in verdict.finding.message


def test_corrected_link_errors_near_a_reset_warn() -> None:
    reset = event("gpu-reset-begin", bdf="0000:dd:00.0", time_s=5030.0)
    assert severities(judge(NAME, of(corrected(1533), reset))) == ["warning"]
    much_later = event("gpu-reset-begin", bdf="0000:dd:00.0", time_s=90_000.0)
    assert severities(judge(NAME, of(corrected(1533), much_later))) == ["info"]


def test_errors_of_the_physical_layer_warn_and_a_failed_set_up_is_an_error() -> None:
    assert severities(judge(NAME, of(event("xgmi-pcs-error", bdf=BDF, error="Data_loss")))) == ["warning"]
    assert severities(judge(NAME, of(event("xgmi-init-failed", bdf=BDF)))) == ["error"]
    assert severities(judge(NAME, of(event("xgmi-init-failed", bdf=BDF, before_driver_load=True)))) != ["error"]


def test_counters_speak_where_the_log_is_closed() -> None:
    gpu = amd_gpu(ras=(RasBlock("xgmi_wafl", k(0), k(12)),))
    (verdict,) = judge(NAME, machine(gpu, kernel=Kernel(log=u())))
    assert verdict.finding is not None
    assert verdict.finding.severity == "info"
    assert verdict.subject.label == "gpu 0 (0000:23:00.0)"
    assert states(judge(NAME, machine(amd_gpu(), kernel=Kernel(log=u())))) == ["unknown"]
    assert states(judge(NAME, machine())) == ["not-applicable"]


def test_a_reset_of_an_earlier_load_is_no_harm_and_memory_counters_are_no_links() -> None:
    reset = event("gpu-reset-begin", bdf="0000:dd:00.0", time_s=5030.0, before_driver_load=True)
    assert severities(judge(NAME, of(corrected(1533), reset))) == ["info"]
    gpu = amd_gpu(ras=(RasBlock("umc", k(0), k(12)), RasBlock("xgmi_wafl", k(0), k(0))))
    assert states(judge(NAME, machine(gpu, kernel=Kernel(log=log())))) == ["pass"]


def test_link_errors_of_long_ago_or_before_a_reload_are_notes() -> None:
    assert severities(judge(NAME, of(event("xgmi-pcs-error", bdf=BDF, age_s=900_000.0)))) == ["info"]
    assert severities(judge(NAME, of(event("xgmi-pcs-error", bdf=BDF, before_driver_load=True)))) == ["info"]

from __future__ import annotations

from rocdoctor.model.facts import Kernel, LogEvent, Machine
from tests.kit import amd_gpu, event, judge, log, machine, severities, states

NAME = "bad-page-limit-log"
BDF = "0000:23:00.0"


def of(*events: LogEvent, complete: bool = True) -> Machine:
    return machine(amd_gpu(), kernel=Kernel(log=log(*events, complete=complete)))


def test_the_limit_is_an_error_with_its_figures() -> None:
    (verdict,) = judge(NAME, of(event("ras-bad-page-threshold", bdf=BDF, age_s=100.0, bad_pages=256, threshold=256)))
    assert verdict.finding is not None
    assert (verdict.finding.severity, verdict.finding.cause) == ("error", "gpu-hardware-fault")
    assert "(256 of 256)" in verdict.finding.message


def test_near_the_limit_and_new_pages_warn() -> None:
    near = event("ras-bad-page-near-threshold", bdf=BDF, bad_pages=240, threshold=256)
    added = event("ras-bad-pages-recorded", bdf=BDF, new_bad_pages=2)
    assert severities(judge(NAME, of(near))) == ["warning"]
    (verdict,) = judge(NAME, of(added, added))
    assert verdict.finding is not None
    assert verdict.finding.severity == "warning"
    assert "4 bad memory pages were added" in verdict.finding.message


def test_pages_that_were_on_the_list_already_pass() -> None:
    assert states(judge(NAME, of(event("ras-bad-pages-recorded", bdf=BDF, bad_pages=3)))) == ["pass"]


def test_quiet_excerpt_and_no_gpu() -> None:
    assert states(judge(NAME, of())) == ["pass"]
    assert states(judge(NAME, of(complete=False))) == ["unknown"]
    assert states(judge(NAME, machine())) == ["not-applicable"]

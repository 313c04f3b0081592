from __future__ import annotations

from rocdoctor.model.facts import Kernel
from tests.kit import amd_gpu, event, judge, log, machine, nvidia_gpu, states, u

NAME = "gtt-larger-than-ttm"
BDF = "0000:23:00.0"


def test_a_gtt_beyond_the_limit_is_a_warning_with_both_sizes_and_the_pages() -> None:
    line = event("gtt-ttm-mismatch", bdf=BDF, gtt_bytes=120 << 30, ttm_bytes=62 << 30)
    (verdict,) = judge(NAME, machine(amd_gpu(), kernel=Kernel(log=log(line))))
    assert verdict.finding is not None
    assert (verdict.finding.severity, verdict.finding.finer) == ("warning", "gtt-limit")
    assert "120.0 GiB" in verdict.finding.message
    assert "62.0 GiB" in verdict.finding.message
    assert verdict.finding.fix is not None
    assert verdict.finding.fix.command == "ttm.pages_limit=31457280"


def test_a_smaller_gtt_and_the_note_of_deprecation_are_silent() -> None:
    smaller = event("gtt-ttm-mismatch", bdf=BDF, gtt_bytes=8 << 30, ttm_bytes=62 << 30)
    bare = event("gtt-ttm-mismatch", "Configuring gttsize via module parameter is deprecated", BDF)
    assert states(judge(NAME, machine(amd_gpu(), kernel=Kernel(log=log(smaller, bare))))) == ["pass"]


def test_unknown_and_not_applicable() -> None:
    assert states(judge(NAME, machine(amd_gpu(), kernel=Kernel(log=u())))) == ["unknown"]
    assert states(judge(NAME, machine(amd_gpu(), kernel=Kernel(log=log(complete=False))))) == ["unknown"]
    assert states(judge(NAME, machine(nvidia_gpu()))) == ["not-applicable"]

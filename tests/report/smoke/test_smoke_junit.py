"""Smoke results as JUnit XML."""

from __future__ import annotations

from xml.etree import ElementTree

from rocdoctor.model.facts import ModeResult, SmokeRun
from rocdoctor.report.smoke.smoke_junit import render


def test_every_state_has_its_element() -> None:
    modes = (
        ModeResult("ddp", "pass", 0.25),
        ModeResult("zero-1", "fail", 0.5, "rank 1: <wrong> & \x1b[31mred", layer="link"),
        ModeResult("fsdp2", "crashed", 1.0, "rank 2 was ended by signal 9", layer="configuration"),
        ModeResult("ulysses", "not-applicable", 0.0, "needs torch 2.6"),
    )
    root = ElementTree.fromstring(render([SmokeRun(4, "nccl", "cuda", "2.13.0", 2.0, modes)]))
    (suite,) = root
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors"), suite.get("skipped")) == (
        "4",
        "1",
        "1",
        "1",
    )
    passed, failed, lost, skipped = suite
    assert list(passed) == []
    assert (failed[0].tag, failed[0].get("type")) == ("failure", "link")
    assert "<wrong> &" in (failed[0].get("message") or "")
    assert "\x1b" not in (failed[0].get("message") or "")
    assert (lost[0].tag, lost[0].get("message")) == ("error", "rank 2 was ended by signal 9")
    assert (skipped[0].tag, skipped[0].get("message")) == ("skipped", "needs torch 2.6")

"""Smoke results as JUnit XML: one test suite a set of ranks, one test case a mode."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement, tostring

from rocdoctor.model.facts import SmokeRun
from rocdoctor.report.diagnosis.junit import safe


def render(runs: Sequence[SmokeRun]) -> str:
    """Wrong numbers are failures, lost ranks errors, what was not tested is skipped; the message names the ranks."""
    top = Element("testsuites", name="rocdoctor smoke")
    for run in runs:
        states = [one.state for one in run.modes]
        suite = SubElement(
            top,
            "testsuite",
            name=safe(f"{run.world} ranks, {run.backend}, {run.device}"),
            tests=str(len(states)),
            failures=str(states.count("fail")),
            errors=str(states.count("crashed")),
            skipped=str(states.count("not-applicable") + states.count("unknown")),
            time=f"{run.wall_s:.3f}",
        )
        for one in run.modes:
            case = SubElement(suite, "testcase", classname="smoke", name=safe(one.mode), time=f"{one.wall_s:.3f}")
            if one.state == "fail":
                SubElement(case, "failure", type=one.layer or "unknown", message=safe(one.message))
            elif one.state == "crashed":
                SubElement(case, "error", type=one.layer or "unknown", message=safe(one.message))
            elif one.state != "pass":
                SubElement(case, "skipped", message=safe(one.message))
    return '<?xml version="1.0" encoding="utf-8"?>\n' + tostring(top, encoding="unicode") + "\n"

from __future__ import annotations

from dataclasses import replace
from xml.etree.ElementTree import Element, fromstring

import pytest

from rocdoctor.model.finding import Evidence, Fix, Verdict
from rocdoctor.report.diagnosis.junit import render
from tests.kit import named
from tests.report.made import FULL, HOSTILE, OVERRIDE, diagnosis, failed


def suite(text: str) -> Element:
    return fromstring(text.encode())


def case(root: Element, name: str) -> Element:
    found = root.find(f"testcase[@classname='{name}']")
    assert found is not None
    return found


def test_each_verdict_is_a_test_case_and_the_counts_agree() -> None:
    root = suite(render(FULL))
    assert root.tag == "testsuite"
    assert dict(root.attrib) == {
        "name": "rocdoctor",
        "tests": "7",
        "failures": "2",
        "errors": "1",
        "skipped": "2",
    }
    assert len(root.findall("testcase")) == 7
    assert [len(root.findall(f".//{tag}")) for tag in ("failure", "error", "skipped")] == [2, 1, 2]


def test_a_failure_carries_message_evidence_and_fix() -> None:
    failure = case(suite(render(FULL)), "gfx-override-mismatch").find("failure")
    assert failure is not None
    assert failure.get("type") == "error"
    assert failure.get("message") == OVERRIDE.message
    assert failure.text is not None
    assert "gfx942  (read /sys/class/kfd/kfd/topology/nodes/1/properties:2)" in failure.text
    assert "fix: Unset the variable unset HSA_OVERRIDE_GFX_VERSION" in failure.text


def test_a_skipped_case_says_whether_it_is_unknown_or_not_applicable() -> None:
    root = suite(render(FULL))
    reasons = {one.get("message") for one in root.findall(".//skipped")}
    assert reasons == {"unknown: no kernel log in this evidence", "not-applicable: no NVIDIA GPU here"}


@pytest.mark.parametrize(("fail_on", "failures"), [("error", "1"), ("warning", "2"), ("info", "3")])
def test_the_threshold_decides_what_fails(fail_on: str, failures: str) -> None:
    root = suite(render(FULL, fail_on))
    assert root.get("failures") == failures
    assert case(root, "persistence-off").find("system-out" if fail_on != "info" else "failure") is not None


def test_it_stays_well_formed_whatever_the_evidence_holds() -> None:
    bad = HOSTILE + "<&\"']]>\x0c\ufffe"
    found = replace(OVERRIDE, message=bad, evidence=(Evidence(bad, bad),), fix=Fix(bad, command=bad))
    text = render(diagnosis([failed(found, bad), Verdict("y", named(bad), "crashed", why=bad)]))
    root = suite(text)
    assert root.get("tests") == "2"
    assert "\x1b" not in text and "\x9b" not in text

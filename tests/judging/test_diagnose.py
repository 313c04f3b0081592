"""Which finding speaks for a cause that several tell of."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from rocdoctor.judging.diagnose import rank, settled
from rocdoctor.model.finding import Evidence, Finding, Severity, Verdict
from rocdoctor.model.subject import MACHINE


def _verdict(check: str, severity: Severity, confidence: str) -> Verdict:
    found = Finding(severity, f"{check} says", (), None, cause="wsl-unsupported", confidence=confidence)  # type: ignore[arg-type]
    return Verdict(check, MACHINE, "fail", replace(found, of_table=check == "a-row"))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("wsl", "warning", "likely"), ("a-guess", "error", "possible")),
        (("wsl", "error", "likely"), ("a-note", "warning", "certain")),
        (("wsl", "warning", "possible"), ("a-row", "warning", "possible")),
        (("wsl", "warning", "certain"), ("a-note", "warning", "likely")),
    ],
    ids=["surer-than-possible", "graver", "a-check-of-its-own", "surer"],
)
def test_the_finding_that_speaks_for_a_cause(
    first: tuple[str, Severity, str], second: tuple[str, Severity, str]
) -> None:
    for order in ((first, second), (second, first)):
        (one,) = rank([_verdict(*each) for each in order])
        assert (one.check, one.message) == (first[0], f"{first[0]} says")


def _found(check: str, cause: str, severity: Severity = "error", undecided: bool = False) -> Verdict:
    return Verdict(check, MACHINE, "fail", Finding(severity, f"{check} says", (), None, cause, undecided=undecided))


_OPEN = (
    _found("known-symptom", "wrong-backend-build", undecided=True),
    _found("known-symptom", "kernel-module-not-loaded", undecided=True),
    _found("known-symptom", "device-permission", undecided=True),
)


def test_what_a_symptom_leaves_keeps_its_order() -> None:
    """By rank of the causes the module would stand first."""
    assert settled(_OPEN) == _OPEN
    order = ["wrong-backend-build", "kernel-module-not-loaded", "device-permission"]
    assert [one.cause for one in rank(_OPEN)] == order


@pytest.mark.parametrize("severity", ["error", "warning"])
@pytest.mark.parametrize("cause", ["shm-too-small", "not-environment", ""])
def test_anything_surer_silences_what_a_symptom_leaves(severity: Severity, cause: str) -> None:
    surer = _found("a-check", cause, severity)
    left = settled((*_OPEN, surer))
    assert [one.state for one in left] == ["not-applicable"] * 3 + ["fail"]
    assert [one.finding for one in left[:3]] == [None] * 3
    assert left[0].why == "something surer was found"
    assert [one.cause for one in rank(left)] == ([cause] if cause else [])


def test_a_note_silences_nothing() -> None:
    note = _found("a-note", "shm-too-small", "info")
    assert settled((*_OPEN, note)) == (*_OPEN, note)


def _told(cause: str, line: int, confidence: str = "possible", of_table: bool = True) -> Verdict:
    shown = (Evidence("No GPU nodes found", "text", line),)
    found = Finding("error", f"{cause} it is", shown, None, cause, confidence=confidence, of_table=of_table)  # type: ignore[arg-type]
    return Verdict("known-message", MACHINE, "fail", found)


_BY_RANK = ["kernel-module-not-loaded", "container-device-access"]


def test_what_one_row_holds_for_possible_keeps_its_order() -> None:
    """The row says "..." and then "Or ..."; by rank of the causes the second would stand first."""
    told = [_told(cause, 1) for cause in reversed(_BY_RANK)]
    assert [one.cause for one in rank(told)] == [*reversed(_BY_RANK)]


@pytest.mark.parametrize(
    "second",
    [{"line": 2}, {"line": 1, "of_table": False}, {"line": 1, "confidence": "likely"}],
    ids=["of-another-message", "of-a-check", "surer"],
)
def test_others_keep_the_order_of_their_rank(second: dict[str, Any]) -> None:
    told = [_told(_BY_RANK[1], 1), _told(_BY_RANK[0], **second)]
    assert [one.cause for one in rank(told)] == _BY_RANK


_GROUPS = {"device-permission": "kfd-denied", "wrong-backend-build": "a-wheel"}


def _explaining(cause: str, confidence: str, severity: Severity = "error", explains: tuple[str, ...] = ()) -> Verdict:
    check = _GROUPS[cause]
    found = Finding(severity, f"{check} says", (), None, cause, confidence=confidence, explains=explains)  # type: ignore[arg-type]
    return Verdict(check, MACHINE, "fail", found)


@pytest.mark.parametrize("named", ["device-permission", "kfd-denied"], ids=["by-cause", "by-check"])
@pytest.mark.parametrize(
    ("reason", "seen", "stands"),
    [
        ("possible", "certain", True),
        ("possible", "likely", True),
        ("possible", "possible", False),
        ("likely", "certain", False),
        ("certain", "possible", False),
    ],
)
@pytest.mark.parametrize("severity", ["error", "warning"])
def test_a_mere_possibility_explains_nothing_that_is_surer(
    named: str, reason: str, seen: str, stands: bool, severity: Severity
) -> None:
    """A user outside the render group was told to reinstall torch first."""
    wheel = _explaining("wrong-backend-build", reason, severity, explains=(named,))
    denied = _explaining("device-permission", seen)
    for order in ((wheel, denied), (denied, wheel)):
        causes = {one.cause: one for one in rank(order)}
        assert ("device-permission" in causes) is stands
        assert (named in causes["wrong-backend-build"].explains) is not stands
        if stands:
            assert next(iter(causes)) == "device-permission"


def test_one_surer_finding_keeps_a_cause_of_several() -> None:
    wheel = _explaining("wrong-backend-build", "possible", explains=("device-permission",))
    told = Verdict("a-row", MACHINE, "fail", Finding("error", "a row says", (), None, "device-permission"))
    vague = _explaining("device-permission", "possible")
    assert [one.cause for one in rank((wheel, vague))] == ["wrong-backend-build"]
    (first, second) = rank((wheel, vague, told))
    assert (first.cause, first.message, second.cause) == ("device-permission", "a row says", "wrong-backend-build")


def test_a_possibility_does_not_speak_over_what_is_surer_of_its_own_cause() -> None:
    vague = Finding("error", "a guess", (), None, "shm-too-small", confidence="possible", explains=("b-check",))
    surer = Finding("warning", "what is read", (), None, "shm-too-small", confidence="likely")
    (one,) = rank((Verdict("a-check", MACHINE, "fail", vague), Verdict("b-check", MACHINE, "fail", surer)))
    assert one.message == "what is read"

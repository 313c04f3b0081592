"""Which finding speaks for a cause that several tell of."""

from __future__ import annotations

import pytest

from rocdoctor.judging.diagnose import rank
from rocdoctor.model.finding import Finding, Severity, Verdict
from rocdoctor.model.subject import MACHINE


def _verdict(check: str, severity: Severity, confidence: str) -> Verdict:
    found = Finding(severity, f"{check} says", (), None, cause="wsl-unsupported", confidence=confidence)  # type: ignore[arg-type]
    return Verdict(check, MACHINE, "fail", found)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("wsl", "warning", "likely"), ("a-guess", "error", "possible")),
        (("wsl", "error", "likely"), ("a-note", "warning", "certain")),
        (("wsl", "warning", "possible"), ("known-message", "warning", "possible")),
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

"""What findings are about, in few words; equal findings of several subjects are one."""

from __future__ import annotations

from collections.abc import Iterable

from rocdoctor.model.finding import SEVERITIES, Finding, Verdict
from rocdoctor.model.lazy_re import regex
from rocdoctor.model.printable import one_line

_NUMBERED = regex(r"gpu (\d{1,6})(?: \(([^)]*)\))?\Z")


def number_ranges(numbers: Iterable[int]) -> str:
    """``0-2,5`` from 0, 1, 2 and 5."""
    ranges: list[list[int]] = []
    for number in sorted(set(numbers)):
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in ranges)


def subject_parts(labels: Iterable[str]) -> tuple[str, list[str]]:
    """(``gpu 0-7``, the PCI addresses behind); subjects that are no GPUs are named as they are, without addresses."""
    names = list(dict.fromkeys(one_line(label) for label in labels))
    numbered = [_NUMBERED.match(name) for name in names]
    if not names or not all(numbered):
        return ", ".join(names), []
    found = sorted((int(match[1]), match[2]) for match in numbered if match)
    return f"gpu {number_ranges(number for number, _ in found)}", [where for _, where in found if where]


def subjects_text(labels: Iterable[str]) -> str:
    """Subjects in few words: ``gpu 0-1 (0000:03:00.0, 0000:43:00.0)``."""
    short, addresses = subject_parts(labels)
    return short + (f" ({', '.join(addresses)})" if addresses else "")


def grouped(verdicts: Iterable[Verdict]) -> list[tuple[Finding, str, list[str]]]:
    """(finding, check, subjects), the gravest first: the same finding on several subjects is one."""
    groups: dict[tuple[str, str, str], tuple[Finding, str, list[str]]] = {}
    for verdict in verdicts:
        if verdict.finding is not None:
            key = (verdict.check, verdict.finding.severity, verdict.finding.message)
            groups.setdefault(key, (verdict.finding, verdict.check, []))[2].append(verdict.subject)
    return sorted(groups.values(), key=lambda one: SEVERITIES.index(one[0].severity))

"""What findings are about, in few words; equal findings of several subjects are one."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rocdoctor.model.finding import SEVERITIES, Finding, Verdict
from rocdoctor.model.printable import one_line
from rocdoctor.model.subject import MACHINE, Subject


def number_ranges(numbers: Iterable[int]) -> str:
    """``0-2,5`` from 0, 1, 2 and 5."""
    ranges: list[list[int]] = []
    for number in sorted(set(numbers)):
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in ranges)


def subject_parts(subjects: Iterable[Subject]) -> tuple[str, list[str]]:
    """(``gpu 0-7``, the PCI addresses behind); subjects that are no GPUs are named as they are, without addresses.

    GPUs that a tool counts otherwise and that have no address carry that tool's numbers: ``gpu 0 (nvidia-smi 6)``.
    """
    each = list(dict.fromkeys(subjects))
    numbered = [(one.index, one_line(one.where)) for one in each if one.kind == "gpu" and one.index is not None]
    if not each or len(numbered) < len(each):
        return ", ".join(dict.fromkeys(one_line(one.label) for one in each)), []
    numbered.sort()
    short = f"gpu {number_ranges(number for number, _ in numbered)}"
    counted = _counted_otherwise(numbered)
    return (f"{short} ({counted})", []) if counted else (short, [where for _, where in numbered if where])


def _counted_otherwise(numbered: list[tuple[int, str]]) -> str:
    """``nvidia-smi 6-7``: the numbers of one tool that names all of these GPUs, where they are not ours; else ""."""
    named = [where.rpartition(" ") for _, where in numbered]
    if len({tool for tool, _, _ in named}) != 1 or not all(tool and number.isdecimal() for tool, _, number in named):
        return ""
    numbers = [int(number) for _, _, number in named]
    return f"{named[0][0]} {number_ranges(numbers)}" if numbers != [index for index, _ in numbered] else ""


def subjects_text(subjects: Iterable[Subject]) -> str:
    """Subjects in few words: ``gpu 0-1 (0000:03:00.0, 0000:43:00.0)``."""
    short, addresses = subject_parts(subjects)
    return short + (f" ({', '.join(addresses)})" if addresses else "")


_OF_ONE = re.compile(r"This ((?:integrated |external )?)(v?GPU) ")


def sentence(message: str, subjects: Iterable[Subject]) -> str:
    """A message as it reads beside its subjects: the checks write it of one GPU, and ``grouped`` may put it at many."""
    if len(set(subjects)) < 2:
        return message
    return _OF_ONE.sub(r"Each of these \1\2s ", message, count=1) if _OF_ONE.match(message) else message


def is_whole(subjects: Iterable[Subject]) -> bool:
    """Whether it is all about the machine as a whole, which goes without saying."""
    return all(one == MACHINE for one in subjects)


def grouped(verdicts: Iterable[Verdict]) -> list[tuple[Finding, str, list[Subject]]]:
    """(finding, check, subjects), the gravest first: the same finding on several subjects is one."""
    groups: dict[tuple[str, str, str], tuple[Finding, str, list[Subject]]] = {}
    for verdict in verdicts:
        if verdict.finding is not None:
            key = (verdict.check, verdict.finding.severity, verdict.finding.message)
            groups.setdefault(key, (verdict.finding, verdict.check, []))[2].append(verdict.subject)
    return sorted(groups.values(), key=lambda one: SEVERITIES.index(one[0].severity))

"""Checks: functions from facts to verdicts.

A check is one file in ``checks/`` whose only public function has the file's name. It is told what to look at by a
selector and answers with findings::

    @check(each_amd_gpu, cause="pcie-link-degraded")
    def pcie_link_narrow(machine: Machine, gpu: Gpu) -> Outcome:
        width, capable = known(gpu.pcie.device.width), known(gpu.pcie.device.max_width)
        if width >= capable:
            return None
        return warning(f"...", evidence=[cite(gpu.pcie.device.width)], fix=Fix("..."))

``None`` is a pass, a finding (or several) a fail, ``not_applicable(reason)`` says so, and a fact that ``known`` does
not have makes the verdict ``unknown``. The module's docstring is the manual page: first line the problem, then ``Why``,
``Fix`` and ``References``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, overload

from rocdoctor.judging.selectors import (
    each_amd_gpu,
    each_discrete_amd_gpu,
    each_discrete_gpu,
    each_gpu,
    each_nvidia_gpu,
    machine_with_amd,
    machine_with_gpus,
    machine_with_nvidia,
    machine_with_several_gpus,
    whole_machine,
)
from rocdoctor.model.evidence import Fact, Known, Source, known, unknown, value_or
from rocdoctor.model.facts import Machine
from rocdoctor.model.finding import (
    About,
    Confidence,
    Effective,
    Evidence,
    Finding,
    Fix,
    Item,
    NotApplicable,
    Safety,
    Selected,
    Severity,
    Subjects,
)
from rocdoctor.model.subject import Subject

__all__ = [
    "About",
    "Check",
    "Confidence",
    "Effective",
    "Evidence",
    "Finding",
    "Fix",
    "NotApplicable",
    "Outcome",
    "Safety",
    "Selected",
    "Selector",
    "Severity",
    "Subjects",
    "check",
    "cite",
    "each_amd_gpu",
    "each_discrete_amd_gpu",
    "each_discrete_gpu",
    "each_gpu",
    "each_nvidia_gpu",
    "error",
    "finding",
    "info",
    "known",
    "machine_with_amd",
    "machine_with_gpus",
    "machine_with_nvidia",
    "machine_with_several_gpus",
    "not_applicable",
    "quote",
    "unknown",
    "value_or",
    "warning",
    "whole_machine",
]

Outcome = Finding | NotApplicable | Sequence[Finding] | None

Selector = Callable[[Machine], Subjects[Item]]
"""From a machine to what a check is to judge there."""


@dataclass(frozen=True, slots=True)
class Check:
    """A check that was loaded from a file."""

    name: str
    function: Callable[..., Outcome]
    selector: Selector[Any]
    cause: str
    manual: str
    path: Path

    @property
    def title(self) -> str:
        """The problem in one line."""
        return self.manual.strip().split("\n", 1)[0]


@overload
def check(  # type: ignore[overload-overlap]  # None is the one item that is not handed on
    selector: Selector[None], *, cause: str = ""
) -> Callable[[Callable[[Machine], Outcome]], Callable[[Machine], Outcome]]: ...


@overload
def check(
    selector: Selector[Item], *, cause: str = ""
) -> Callable[[Callable[[Machine, Item], Outcome]], Callable[[Machine, Item], Outcome]]: ...


def check(selector: Selector[Any], *, cause: str = "") -> Callable[[Callable[..., Outcome]], Callable[..., Outcome]]:
    """Mark a function as the check of its file: what it looks at, and the root cause that its findings point to.

    The function takes the machine, and what the selector chose of it: type checkers hold the two together.
    """

    def mark(function: Callable[..., Outcome]) -> Callable[..., Outcome]:
        function.__rocdoctor__ = (selector, cause)  # type: ignore[attr-defined]
        return function

    return mark


def finding(
    severity: Severity,
    message: str,
    *,
    evidence: Iterable[Evidence] = (),
    fix: Fix | None = None,
    cause: str = "",
    explains: Iterable[str] = (),
    confidence: Confidence = "certain",
    references: Iterable[str] = (),
    subject: Subject | None = None,
    about: About = About(),  # noqa: B008  # frozen
    finer: str = "",
    undecided: bool = False,
    decides: bool = False,
    of_table: bool = False,
) -> Finding:
    """A finding; what each part means stands at ``Finding``. ``error``, ``warning`` and ``info`` are it by severity."""
    return Finding(
        severity,
        message,
        tuple(evidence),
        fix,
        cause,
        tuple(explains),
        confidence,
        tuple(references),
        subject,
        about,
        finer,
        undecided,
        decides,
        of_table,
    )


error = partial(finding, "error")
"""Training fails, hangs or computes wrongly."""
warning = partial(finding, "warning")
"""Training is slower or at risk."""
info = partial(finding, "info")
"""Worth knowing."""


def not_applicable(reason: str) -> NotApplicable:
    """The verdict of a check that has nothing to judge."""
    return NotApplicable(reason)


def cite(fact: Fact[Any], value: str = "") -> Evidence:
    """A fact as evidence: its value (or the words given) and its source."""
    if isinstance(fact, Known):
        shown = value or str(fact.value)
        return Evidence(shown, fact.source.question, fact.source.line)
    return Evidence(value or f"unknown: {fact.why}", str(fact.source or ""))


def quote(source: str | Source, value: str, line: int | None = None) -> Evidence:
    """Evidence from a source that is not a fact (a line of a log)."""
    if isinstance(source, Source):
        return Evidence(value, source.question, source.line)
    return Evidence(value, source, line)

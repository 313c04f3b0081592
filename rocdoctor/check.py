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

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rocdoctor.evidence import Fact, Known, Source
from rocdoctor.facts import Machine
from rocdoctor.finding import Confidence, Effective, Evidence, Finding, Fix, NotApplicable, Safety, Severity, Subject
from rocdoctor.selectors import (
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

__all__ = [
    "Check",
    "Confidence",
    "Effective",
    "Evidence",
    "Finding",
    "Fix",
    "NotApplicable",
    "Outcome",
    "Safety",
    "Selector",
    "Severity",
    "Subject",
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
    "machine_with_amd",
    "machine_with_gpus",
    "machine_with_nvidia",
    "machine_with_several_gpus",
    "not_applicable",
    "quote",
    "warning",
    "whole_machine",
]

Outcome = Finding | NotApplicable | Sequence[Finding] | None

Selector = Callable[[Machine], "Sequence[Subject] | NotApplicable"]


@dataclass(frozen=True, slots=True)
class Check:
    """A check that was loaded from a file."""

    name: str
    function: Callable[..., Outcome]
    selector: Selector
    cause: str
    manual: str
    path: Path

    @property
    def title(self) -> str:
        """The problem in one line."""
        return self.manual.strip().split("\n", 1)[0]


def check(selector: Selector, cause: str = "") -> Callable[[Callable[..., Outcome]], Callable[..., Outcome]]:
    """Mark a function as the check of its file: what it looks at, and the root cause that its findings point to."""

    def mark(function: Callable[..., Outcome]) -> Callable[..., Outcome]:
        function.__rocdoctor__ = (selector, cause)  # type: ignore[attr-defined]
        return function

    return mark


def finding(severity: Severity, message: str, **more: Any) -> Finding:
    """A finding; ``evidence`` may be any iterable, facts and sources included through ``cite``."""
    return Finding(severity, message, evidence=tuple(more.pop("evidence", ())), **more)


def error(message: str, **more: Any) -> Finding:
    """Training fails, hangs or computes wrongly."""
    return finding("error", message, **more)


def warning(message: str, **more: Any) -> Finding:
    """Training is slower or at risk."""
    return finding("warning", message, **more)


def info(message: str, **more: Any) -> Finding:
    """Worth knowing."""
    return finding("info", message, **more)


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

"""Checks on a machine: every one ends with verdicts, also where it crashes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from rocdoctor.host.live.patience import within
from rocdoctor.judging.check import Check
from rocdoctor.judging.loading import NO_ANSWER, OWN_LIMIT_S, is_ours
from rocdoctor.model.evidence import NotKnown
from rocdoctor.model.facts import Machine
from rocdoctor.model.finding import Finding, NotApplicable, Selected, Verdict
from rocdoctor.model.subject import MACHINE

# Checks of somebody that did not end: each holds a thread for good, and is not asked again.
_endless: set[Path] = set()


def run_check(one: Check, machine: Machine) -> list[Verdict]:
    """The verdicts of one check on one machine; a crash of the check is a verdict too, and that it does not end."""
    if is_ours(one.path):
        return _run(one, machine)
    ended = within(OWN_LIMIT_S, lambda: _run(one, machine)) if one.path not in _endless else []
    if ended:
        return ended[0]
    _endless.add(one.path)
    return [Verdict(one.name, MACHINE, "crashed", why=NO_ANSWER)]


def _run(one: Check, machine: Machine) -> list[Verdict]:
    try:
        subjects = one.selector(machine)
    except NotKnown as ended:
        return [Verdict(one.name, MACHINE, "unknown", why=ended.unknown.why, gap=ended.unknown)]
    except Exception as problem:
        return [Verdict(one.name, MACHINE, "crashed", why=f"{type(problem).__name__}: {problem}")]
    if isinstance(subjects, NotApplicable):
        return [Verdict(one.name, MACHINE, "not-applicable", why=subjects.reason)]
    verdicts: list[Verdict] = []
    for selected in subjects:
        verdicts += _judge(one, machine, selected)
    return verdicts


def _judge(one: Check, machine: Machine, selected: Selected[Any]) -> list[Verdict]:
    try:
        outcome = one.function(machine) if selected.item is None else one.function(machine, selected.item)
        if isinstance(outcome, NotApplicable):
            return [Verdict(one.name, selected.subject, "not-applicable", why=outcome.reason)]
        findings = [outcome] if isinstance(outcome, Finding) else list(outcome or ())
        failed = [
            Verdict(one.name, each.subject or selected.subject, "fail", replace(each, cause=each.cause or one.cause))
            for each in findings
        ]
    except NotKnown as ended:
        gap = ended.unknown
        return [Verdict(one.name, selected.subject, "unknown", why=gap.why, gap=gap)]
    except (Exception, SystemExit) as problem:  # a crashed check never stops another
        return [Verdict(one.name, selected.subject, "crashed", why=f"{type(problem).__name__}: {problem}")]
    return failed or [Verdict(one.name, selected.subject, "pass")]

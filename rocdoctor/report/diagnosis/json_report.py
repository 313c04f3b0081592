"""The JSON contract ``rocdoctor.report/1``: public, only added to."""

from __future__ import annotations

from typing import Any

from rocdoctor import __version__
from rocdoctor.model.finding import Cause, Diagnosis, Evidence, Finding, NextStep, Verdict
from rocdoctor.model.printable import clean

SCHEMA = "rocdoctor.report/1"


def _evidence(one: Evidence) -> dict[str, Any]:
    entry = {"source": clean(one.source), "line": one.line, "value": clean(one.value)}
    return entry if one.voice == "program" else {**entry, "voice": one.voice}  # "words" or "reply"


def _verdict(verdict: Verdict, manuals: dict[str, str]) -> dict[str, Any]:
    found = verdict.finding
    entry: dict[str, Any] = {"check": verdict.check, "subject": clean(verdict.subject.label), "state": verdict.state}
    entry["severity"] = found.severity if found else None
    entry["cause"] = (found.cause or None) if found else None
    entry["message"] = clean(found.message) if found else manuals.get(verdict.check, "")
    entry["evidence"] = [_evidence(one) for one in found.evidence] if found else []
    entry["fix"] = _fix(found, verdict.check)
    entry["why"] = clean(verdict.why)
    if found is not None:
        entry["confidence"] = found.confidence
        entry["references"] = list(found.references)
    return entry


def _fix(found: Finding | None, name: str) -> dict[str, Any] | None:
    if found is None or found.fix is None:
        return None
    fix = found.fix
    return {
        "text": clean(fix.text),
        "command": clean(fix.command),
        "safety": fix.safety,
        "effective": fix.effective,
        "verify": clean(fix.verify) or f"rocdoctor check {name}",
    }


def _cause(one: Cause) -> dict[str, Any]:
    return {
        "cause": one.cause,
        "confidence": one.confidence,
        "severity": one.severity,
        "message": clean(one.message),
        "remedy": clean(one.remedy),
        "check": one.check,
        "subjects": [clean(each.label) for each in one.subjects],
        "explains": list(one.explains),
        **({"finer": one.finding.finer} if one.finding is not None and one.finding.finer else {}),
    }


def _threads(diagnosis: Diagnosis) -> dict[str, Any]:
    found = [{"address": one.address, "settled": one.settled, "by": one.by} for one in diagnosis.threads]
    return {"threads": found} if found else {}


def _step(step: NextStep) -> dict[str, Any]:
    entry: dict[str, Any] = {"command": clean(step.command), "why": clean(step.why)}
    if step.outcomes:
        entry["outcomes"] = [{"shows": clean(one.shows), "cause": one.cause or None} for one in step.outcomes]
    return entry


def report(
    diagnosis: Diagnosis, subject: dict[str, str], timing: dict[str, Any], titles: dict[str, str]
) -> dict[str, Any]:
    """The report as plain data. ``subject`` and ``timing`` are all that may differ between a run and its replay."""
    states = ("pass", "fail", "unknown", "not-applicable", "crashed")
    summary: dict[str, Any] = {state.replace("-", "_"): diagnosis.count(state) for state in states}
    summary["worst"] = diagnosis.worst or "none"
    return {
        "schema": SCHEMA,
        "tool": {"version": __version__},
        "subject": {key: clean(value) for key, value in subject.items()},
        "summary": summary,
        "causes": [_cause(one) for one in diagnosis.causes],
        "verdicts": [_verdict(verdict, titles) for verdict in diagnosis.verdicts],
        "next": [_step(step) for step in diagnosis.next],
        "unanswered": [
            {"question": clean(one.question), "reason": one.reason, "why": clean(one.why)}
            for one in diagnosis.machine.unanswered
        ],
        "problems": [clean(problem) for problem in diagnosis.problems],
        "timing": timing,
        **_threads(diagnosis),
    }

"""Advice that a file follows, as findings: one form for Python files and for all others."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rocdoctor.knowledge.messages.advice import Advice
from rocdoctor.model.finding import Confidence, Evidence, Finding, Fix, Verdict
from rocdoctor.model.shell_command import shell
from rocdoctor.model.subject import Subject

MAX_HITS_PER_FILE = 100
_LONGEST = 120


@dataclass(frozen=True, slots=True)
class Hit:
    """A place that follows a piece of advice; ``value``: what stands there, as short as it can be shown.

    ``possible``: something that the file does not show decides whether the advice is wrong here.
    """

    advice: Advice
    line: int
    value: str
    possible: bool = False


def verdicts_of(path: str, hits: Iterable[Hit]) -> list[Verdict]:
    """The hits of one file as verdicts, by line; the same advice on one line counts once."""
    once = {(hit.line, hit.advice.id): hit for hit in reversed(list(hits))}
    ordered = [once[key] for key in sorted(once)]
    return [
        Verdict(hit.advice.name, Subject("file", hit.line, name=path), "fail", _finding(path, hit)) for hit in ordered
    ][:MAX_HITS_PER_FILE]


def _finding(path: str, hit: Hit) -> Finding:
    advice = hit.advice
    value = " ".join(hit.value.split())
    shown = value if len(value) <= _LONGEST else value[: _LONGEST - 3] + "..."
    confidence: Confidence = "possible" if hit.possible else "likely"
    return Finding(
        "info" if hit.possible else advice.severity,
        f"{advice.message.replace('{value}', shown)}. {advice.truth}",
        (Evidence(shown, f"read {path}", hit.line),),
        Fix(advice.remedy.rstrip("."), verify=shell("rocdoctor lint {file:path}", file=path)),
        confidence=confidence,
        references=advice.cited,
    )

"""Findings as SARIF 2.1.0 (OASIS), the form in which code hosting services and editors take the results of linters."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from rocdoctor import __version__
from rocdoctor.model.finding import Evidence, Finding, Verdict
from rocdoctor.model.printable import clean
from rocdoctor.model.question import Question

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {"error": "error", "warning": "warning", "info": "note"}


def render(verdicts: Iterable[Verdict], titles: Mapping[str, str]) -> str:
    """One run with a rule for each check that found something and a result for each finding."""
    failed = [(verdict.check, verdict.finding) for verdict in verdicts if verdict.finding is not None]
    rules = sorted({name for name, _ in failed})
    log = {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "rocdoctor",
                        "version": __version__,
                        "rules": [
                            {"id": name, "shortDescription": {"text": clean(titles.get(name, name))}} for name in rules
                        ],
                    }
                },
                "results": [_result(name, found, rules.index(name)) for name, found in failed],
                "columnKind": "unicodeCodePoints",
            }
        ],
    }
    return json.dumps(log, indent=2) + "\n"


def _result(name: str, found: Finding, index: int) -> dict[str, Any]:
    text = found.message if found.fix is None else f"{found.message} {found.fix.text}."
    places = [_location(one) for one in reversed(found.evidence) if Question.of(one.source).path and one.line]
    return {
        "ruleId": name,
        "ruleIndex": index,
        "level": _LEVELS[found.severity],
        "message": {"text": clean(text)},
        "locations": places[:1],
        "relatedLocations": places[1:],
        "properties": {"confidence": found.confidence, "cause": found.cause or None},
    }


def _location(one: Evidence) -> dict[str, Any]:
    path = clean(Question.of(one.source).path)
    uri = quote(path) if not path.startswith("/") else "file://" + quote(path)
    region = {"startLine": one.line, "snippet": {"text": clean(one.value)}}
    return {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": region}}

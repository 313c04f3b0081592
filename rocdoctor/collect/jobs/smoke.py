"""Smoke tests that were asked for, or that stand in a bundle."""

from __future__ import annotations

from rocdoctor.host.base import Host
from rocdoctor.model.facts import SmokeRun


def collect_smoke(host: Host, question: str) -> tuple[tuple[SmokeRun, ...], str]:
    """The runs and their question; on a live machine only when asked, since they take minutes."""
    if not question and host.kind != "live":
        question = next((one for one in host.available() if one.startswith("smoke ")), "")
    if not question:
        return (), ""
    from rocdoctor.parsers.own.smoke_results import from_text

    answer = host.ask(question)
    return (from_text(answer.text) if answer.ok else ()), question

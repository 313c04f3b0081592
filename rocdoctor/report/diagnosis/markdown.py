"""The report as markdown, to paste into an issue."""

from __future__ import annotations

from rocdoctor.model.finding import Diagnosis
from rocdoctor.report import markdown
from rocdoctor.report.diagnosis.text import document


def render(diagnosis: Diagnosis) -> str:
    """All that the report for a terminal says."""
    return markdown.render(document(diagnosis))

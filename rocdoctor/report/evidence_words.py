"""Evidence in words."""

from __future__ import annotations

from rocdoctor.model.finding import Evidence
from rocdoctor.model.printable import spelled


def evidence_place(one: Evidence) -> str:
    """Where an evidence stands, and that it is somebody's words where it is."""
    where = spelled(one.source) + (f":{one.line}" if one.line else "")
    return where + {"words": ", in words", "reply": ", in a reply or a quotation"}.get(one.voice, "")

"""Reads the answer to the question ``voices``: which lines of which answer of a text somebody said, and who."""

from __future__ import annotations

from functools import lru_cache

from rocdoctor.model.facts import Passage
from rocdoctor.model.facts.software import Voice
from rocdoctor.parsers.formats.json_values import rows

_MAX_ROWS = 20_000
_VOICES: dict[str, Voice] = {"program": "program", "words": "words", "reply": "reply", "advice": "advice"}


@lru_cache(maxsize=1)  # asked by several who look at one text
def parse_voices(text: str) -> tuple[Passage, ...]:
    """Every row that makes sense, in the given order."""
    found: list[Passage] = []
    for row in rows(text, _MAX_ROWS):
        question, first, last = row.get("question"), row.get("first"), row.get("last")
        voice = _VOICES.get(row["voice"]) if isinstance(row.get("voice"), str) else None
        if isinstance(question, str) and type(first) is int and type(last) is int and voice is not None:
            found.append(Passage(question, first, last, voice))
    return tuple(found)

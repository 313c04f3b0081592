"""Reads the answer to the question ``voices``: which lines of which answer of a text somebody said, and who."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from rocdoctor.parsers.formats.json_values import rows

Voice = Literal["program", "words", "reply", "advice"]

_MAX_ROWS = 20_000
_VOICES: dict[str, Voice] = {"program": "program", "words": "words", "reply": "reply", "advice": "advice"}


@dataclass(frozen=True, slots=True)
class Passage:
    """Lines ``first`` to ``last`` (counted from 1) of the answer to ``question``, and whose words they are."""

    question: str
    first: int
    last: int
    voice: Voice


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

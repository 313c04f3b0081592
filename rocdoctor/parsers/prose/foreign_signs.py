"""Signs of trouble in other languages than English, by expressions: words there have endings, or no blanks between."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rocdoctor.parsers.logs.log_match import compiled

_LONGEST = 600  # characters of a line
_EXCERPT = 200


@dataclass(frozen=True, slots=True)
class ForeignSign:
    """A kind of sign, words of which one stands in a line (in lower case), and an expression over that line."""

    kind: str
    words: tuple[str, ...]
    match: str


def foreign_signs(signs: Sequence[ForeignSign], text: str) -> Iterator[tuple[str, int, str]]:
    """(kind, line from 1, excerpt) of each kind, where it stands first. Never raises."""
    low = text.lower()
    for sign in signs:
        here = [word for word in sign.words if word in low]
        if not here:
            continue
        for number, line in enumerate(text.split("\n"), 1):
            part = line[:_LONGEST]
            if any(word in part.lower() for word in here) and compiled(sign.match).search(part):
                yield sign.kind, number, part.strip()[:_EXCERPT]
                break

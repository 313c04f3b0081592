"""Which lines of a text hold one of some words, found without looking at each line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import groupby

from rocdoctor.parsers.formats.alike_lines import Shapes, alike
from rocdoctor.paste.clean_text import Clean


class WordIndex:
    """The words of a text in lower case, by the lines that are alike but for their digits."""

    __slots__ = ("_alike", "_lines", "_shapes", "low")

    def __init__(self, clean: Clean) -> None:
        self._lines = clean.lines
        self._alike = clean.alike
        self.low = list(map(_lowered, clean.alike.shapes))
        self._shapes = Shapes(self.low)

    def may_hold(self, words: Iterable[str]) -> bool:
        """Whether one of the words, in their case, may occur; False is sure."""
        return any(alike(word) in self._alike.text for word in words)

    def lines(self, words: Iterable[str]) -> Iterator[int]:
        """The lines (indices, ascending) that hold one of the words, which are in lower case; found as they are asked.

        Who has enough stops asking, and the rest of a long text is not looked at.
        """
        sure: set[int] = set()
        perhaps: dict[int, list[str]] = {}  # shapes that hold words but for their digits
        for word in words:
            shape = alike(word)
            if word.isascii() and not any(map(str.isdigit, word)):
                sure.update(self._shapes.holding(shape))
                continue
            for place in self._shapes.holding(shape):
                perhaps.setdefault(place, []).append(word)
        by_first = {self._alike.lines[place][0]: words for place, words in perhaps.items() if place not in sure}
        found = self._alike.of(sure | perhaps.keys())
        return (at for at in found if self._holds(at, by_first.get(self._alike.first[at]))) if by_first else found

    def _holds(self, at: int, words: list[str] | None) -> bool:
        return words is None or any(word in _lowered(self._lines[at]) for word in words)


def ascending(*lines: Iterable[int]) -> Iterator[int]:
    """Several ascending sequences as one, each line once."""
    return (line for line, _ in groupby(merge(*lines)))


def _lowered(text: str) -> str:
    """The text in lower case, of the same length."""
    low = text.lower()
    return low if len(low) == len(text) else "".join(lower if len(lower := one.lower()) == 1 else one for one in text)

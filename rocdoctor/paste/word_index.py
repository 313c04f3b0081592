"""Which lines of a text hold one of some words, found without looking at each line."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from heapq import heapify, heappop, heapreplace, merge
from itertools import accumulate, groupby

from rocdoctor.paste.clean_text import NO_DIGITS, Clean


class WordIndex:
    """The text and its shapes in lower case, and the offsets of its lines."""

    __slots__ = ("_shapes", "lowered", "shapes", "starts")

    def __init__(self, clean: Clean) -> None:
        self._shapes = clean.shapes
        self.shapes = clean.shapes.lower()
        self.lowered = clean.text.lower()
        self.starts = list(accumulate((len(line) + 1 for line in clean.lines), initial=0))
        if len(self.lowered) != self.starts[-1] - 1:  # a letter whose lower case is longer (Turkish dotted I)
            self.lowered = "\n".join(line.lower() if line.isascii() else _same_length(line) for line in clean.lines)

    def line_at(self, offset: int) -> int:
        """The line (index) of an offset."""
        return bisect_right(self.starts, offset) - 1

    def may_hold(self, words: Iterable[str]) -> bool:
        """Whether one of the words, in their case, may occur; False is sure."""
        return any(word.translate(NO_DIGITS) in self._shapes for word in words)

    def lines(self, words: Iterable[str]) -> Iterator[int]:
        """The lines (indices, ascending) that hold one of the words, which are in lower case; found as they are asked.

        Who has enough stops asking, and the rest of a long text is not searched.
        """
        lowered, starts = self.lowered, self.starts
        places = [
            (at, word) for word in words if word.translate(NO_DIGITS) in self.shapes and (at := lowered.find(word)) >= 0
        ]
        heapify(places)
        while places:
            at, word = places[0]
            line = bisect_right(starts, at) - 1
            yield line
            end = starts[line + 1]
            while places and places[0][0] < end:
                word = places[0][1]
                at = lowered.find(word, end)
                if at < 0:
                    heappop(places)
                else:
                    heapreplace(places, (at, word))


def ascending(*lines: Iterable[int]) -> Iterator[int]:
    """Several ascending sequences as one, each line once."""
    return (line for line, _ in groupby(merge(*lines)))


def _same_length(line: str) -> str:
    return "".join(lower if len(lower := char.lower()) == 1 else char for char in line)

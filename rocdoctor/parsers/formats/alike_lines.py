"""The lines of a text by what they look like: those that differ in their digits alone are alike.

Long texts are logs, and logs repeat few lines but for their numbers. What an expression or a word has to be looked for
in each line is looked for in the different ones, their shapes, where all digits are 0: what a shape lacks no line of it
has. An expression that treats all digits alike finds the same in a line as in its shape (``tests/patterns``).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate, repeat
from operator import add

from rocdoctor.model.byte_translation import translated_bytes

_SAME_DIGITS = str.maketrans("123456789", "000000000")
_SAME_DIGIT_BYTES = bytes.maketrans(b"123456789", b"000000000")
_SHORT = 40  # signs, up to which Python translates a text itself as fast


def alike(text: str) -> str:
    """The text with all digits made equal."""
    if len(text) <= _SHORT or text.isascii():
        return text.translate(_SAME_DIGITS)
    return translated_bytes(text, _SAME_DIGIT_BYTES)


def plain(text: str) -> str:
    """A text of the same length in ASCII, in which searching is fast: other characters are question marks."""
    return text if text.isascii() else text.encode("ascii", "replace").decode("ascii")


def offsets(pieces: Iterable[str]) -> list[int]:
    """The offsets of pieces with one sign behind each, and where the next one would begin."""
    return list(accumulate(map(add, map(len, pieces), repeat(1)), initial=0))


class AlikeLines:
    """Lines with their shapes: ``shapes`` are the different ones, in the order of their first lines.

    ``lines`` are the lines (indices) of each shape, ``first`` is for each line the first one of its shape.
    """

    __slots__ = ("__dict__", "first", "lines", "shapes")

    def __init__(self, given: Sequence[str]) -> None:
        joined = "\n".join(given)
        shapes = alike(plain(joined)).split("\n")[: len(given)]
        if not joined.isascii():
            for at, line in enumerate(given):
                if not line.isascii():
                    shapes[at] = alike(line)
        seen: dict[str, int] = {}
        self.first = list(map(seen.setdefault, shapes, range(len(shapes))))
        groups: dict[int, list[int]] = {at: [] for at in seen.values()}
        for at, first in enumerate(self.first):
            groups[first].append(at)
        self.shapes = list(seen)
        self.lines = list(groups.values())

    @cached_property
    def text(self) -> str:
        """The shapes, a line each."""
        return "\n".join(self.shapes)

    def where(self, test: Callable[[str], object]) -> Iterator[int]:
        """The lines whose shape passes a test, ascending."""
        return self.of(place for place, shape in enumerate(self.shapes) if test(shape))

    def of(self, places: Iterable[int]) -> Iterator[int]:
        """The lines of some shapes (places in ``shapes``), ascending; who has enough may stop asking."""
        chosen = [self.lines[place] for place in places]
        if 4 * sum(map(len, chosen)) < len(self.first):
            return iter(sorted(at for lines in chosen for at in lines))
        firsts = {lines[0] for lines in chosen}
        return (at for at, first in enumerate(self.first) if first in firsts)


class Shapes:
    """Shapes as one text, in which words are looked up."""

    __slots__ = ("_starts", "text")

    def __init__(self, shapes: Sequence[str]) -> None:
        self.text = "\n".join(shapes)
        self._starts = offsets(shapes)

    def holding(self, word: str) -> Iterator[int]:
        """The places of shapes that hold a word, whose digits are 0."""
        at = self.text.find(word)
        while at >= 0:
            place = bisect_right(self._starts, at)
            yield place - 1
            at = self.text.find(word, self._starts[place])

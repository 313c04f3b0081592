"""Where the literals of many messages stand in a text.

A literal counts where the text has its key word, the rarest of its words, as a whole word somewhere. A short text is
searched for each literal of its words. A long one repeats few lines but for their digits: those different lines, the
shapes, tell which literals can occur at all and on which lines, and only these are looked at. What goes on over the end
of a line is found by the words on both sides of it. So the cost grows with the length of the text, and not with its
length times the number of literals.
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice, pairwise

from rocdoctor.parsers.formats.alike_lines import AlikeLines, Shapes, alike, offsets, plain
from rocdoctor.parsers.logs.literal_table import Literal, Literals
from rocdoctor.parsers.logs.log_match import only_words

MOST = 8  # places that one literal is looked up at
SHORT = 60_000  # texts up to here are searched as a whole
_KEPT = 2 * MOST  # lines of each kind that are looked at: literals that overlap themselves may use up some
_SHARE = 0.4  # of the lines that are different, above which a search of the whole text is as cheap
_MANY = 2000  # lines for which a search of the whole text is as cheap
_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


class Pieces:
    """A text of pieces without line ends, with a blank behind each: as it is, and in ASCII of the same length.

    ``plain`` has question marks for all other characters; ``low`` is that in lower case. ``closed``: there is a blank
    behind the last one too.
    """

    def __init__(self, pieces: Sequence[str], closed: bool = True) -> None:
        self.pieces = pieces
        lines = "\n".join(pieces) + "\n" * closed
        self.text = lines.replace("\n", " ")
        self.plain = self.text if self.text.isascii() else plain(lines).replace("\n", " ")
        self.low = self.plain.lower()

    @cached_property
    def starts(self) -> list[int]:
        """The offsets of the pieces, and the length of the text."""
        return offsets(self.pieces)


def located(known: Literals, text: Pieces) -> Iterator[tuple[Literal, Iterable[int]]]:
    """Each literal that the text may hold, in the order of the table, with the offsets of its first places."""
    if len(text.text) <= SHORT:
        yield from _searched(known, text, alike(text.text))
        return
    different = AlikeLines(text.pieces)
    if len(different.shapes) > _SHARE * len(different.first):
        yield from _searched(known, text, different.text)
        return
    lines = _Lines(known, text, different)
    for number in known.of_words(*_words(different.text)):
        literal = known[number]
        places = list(islice(lines.places(number, literal), MOST))
        sure = literal.is_exact or any(_is_key(literal, text, at) for at in places)
        if places and (sure or _has_key(literal, text)):
            yield literal, places


def _searched(known: Literals, text: Pieces, shapes: str) -> Iterator[tuple[Literal, Iterable[int]]]:
    """The same by a search of the whole text for each literal whose key word is one of its words."""
    for number in known.of_words(*_words(shapes)):
        literal = known[number]
        if literal.is_exact or _has_key(literal, text):
            yield literal, islice(_search(literal, text, 0, len(text.text)), MOST)


class _Lines:
    """What a long text has in its different lines."""

    def __init__(self, known: Literals, text: Pieces, lines: AlikeLines) -> None:
        self._text = text
        self._lines = lines
        written = [plain(shape) for shape in self._lines.shapes]
        low = [shape.lower() for shape in written]
        self._shapes, self._low = _Shapes(written), _Shapes(low)
        self._over = self._over_the_ends(known, dict(zip((lines[0] for lines in self._lines.lines), low, strict=True)))

    def _over_the_ends(self, known: Literals, shapes: dict[int, str]) -> dict[int, list[int]]:
        """Lines in which a literal may begin that goes on in the next one."""
        first = self._lines.first
        ends = {at: (shape[shape.rfind(" ") + 1 :], shape.partition(" ")[0]) for at, shape in shapes.items()}
        told: dict[tuple[str, str], tuple[int, ...]] = {}
        pairs: dict[tuple[int, int], tuple[int, ...]] = {}
        for pair in set(pairwise(first)):
            words = (ends[pair[0]][0], ends[pair[1]][1])
            if words not in told:
                told[words] = tuple(dict.fromkeys(known.over_the_end(*words)))
            if told[words]:
                pairs[pair] = told[words]
        found: dict[int, list[int]] = {}
        for at, pair in enumerate(pairwise(first)) if pairs else ():
            for number in pairs.get(pair, ()):
                found.setdefault(number, []).append(at)
        for number in known.over_the_end(ends[first[-1]][0], ""):
            found.setdefault(number, []).append(len(first) - 1)
        return found

    def places(self, number: int, literal: Literal) -> Iterator[int]:
        """The first places of a literal, ascending; more of them where one is asked for."""
        within = self._within(literal)
        over = self._over.get(number, ())
        if len(within) >= _MANY:
            yield from _search(literal, self._text, 0, len(self._text.text))
            return
        starts, length = self._text.starts, len(literal.text)
        ending = (
            at
            for at in over
            if any(True for _ in _search(literal, self._text, max(starts[at], starts[at + 1] - length), starts[at + 1]))
        )
        done = 0
        for at in sorted({*within, *islice(ending, _KEPT)}):
            for place in _search(literal, self._text, max(starts[at], done), starts[at + 1]):
                yield place
                done = place + length

    def _within(self, literal: Literal) -> list[int]:
        """The first lines that hold a literal, or all lines that may hold it where not each of a shape does.

        The shapes stand in the order of their first lines.
        """
        most = _KEPT if literal.is_exact else _MANY
        shapes = (self._low if literal.fold else self._shapes).with_literal(literal)
        return [at for place in islice(shapes, most) for at in islice(self._lines.lines[place], most + 1)]


class _Words(Shapes):
    """Different words as one text, or shapes."""

    __slots__ = ("__dict__", "lines")

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__(lines)
        self.lines = lines


class _Shapes(_Words):
    """Shapes in which literals are looked up by their words."""

    __slots__ = ()

    def with_literal(self, literal: Literal) -> Iterator[int]:
        """The places of the shapes that hold a literal, ascending: of those that hold the rarest of its words."""
        wanted = literal.shape
        words = only_words(wanted).split() if literal.text.isascii() else []
        if not words:
            return self.holding(wanted)
        if len(words) > 2:
            rarest = min((self._with_words.get(word, []) for word in words[1:-1]), key=len)
        else:  # what stands before the first word and behind the last one may belong to it
            rarest = self._with_part(max(words, key=len))
        return (place for place in rarest if wanted in self.lines[place])

    def _with_part(self, part: str) -> list[int]:
        """The places of the shapes that hold a word with a part, ascending."""
        different = self._different
        found = [self._with_words[different.lines[at]] for at in different.holding(part)]
        return found[0] if len(found) == 1 else sorted({place for places in found for place in places})

    @cached_property
    def _different(self) -> _Words:
        return _Words(list(self._with_words))

    @cached_property
    def _with_words(self) -> dict[str, list[int]]:
        """The places of the shapes that hold each word, ascending."""
        found: dict[str, list[int]] = {}
        for place, line in enumerate(only_words(self.text).split("\n")):
            for word in set(line.split()):
                found.setdefault(word, []).append(place)
        return found


def _search(literal: Literal, text: Pieces, start: int, end: int) -> Iterator[int]:
    """The places of a literal that begin between two offsets and do not overlap."""
    where, wanted, length = (text.low if literal.fold else text.plain), plain(literal.text), len(literal.text)
    end += length - 1
    at = where.find(wanted, start, end)
    while at >= 0:
        if "?" not in wanted or _as_written(text.text[at : at + length], literal.fold) == literal.text:
            yield at
            start = at + length
        else:
            start = at + 1
        at = where.find(wanted, start, end)


def _as_written(text: str, fold: bool) -> str:
    return text.translate(_LOWER) if fold else text


def _words(shapes: str) -> tuple[set[str], set[str]]:
    """The words of shapes: (as they are, in lower case)."""
    words = set(only_words(shapes).split())
    if shapes.isascii():
        low = shapes.lower()
        return words, words if low == shapes else set(only_words(low).split())
    return words, {word.translate(_LOWER) for word in words}


def _has_key(literal: Literal, text: Pieces) -> bool:
    """Whether the text has the key word of a literal as a whole word; other digits are not it.

    A key word without digits is one of the words by which the literal was found.
    """
    if literal.key.isascii() and not any(map(str.isdigit, literal.key)):
        return True
    where = text.low if literal.fold else text.plain
    at = where.find(literal.key)
    while at >= 0:
        if _is_whole(text.text, at, at + len(literal.key)):
            return True
        at = where.find(literal.key, at + len(literal.key))
    return False


def _is_key(literal: Literal, text: Pieces, at: int) -> bool:
    """Whether the key word is a whole word where the literal stands."""
    begin = at + literal.text.find(literal.key)
    return _is_whole(text.text, begin, begin + len(literal.key))


def _is_whole(text: str, start: int, end: int) -> bool:
    around = text[max(start - 1, 0) : start] + text[end : end + 1]
    return not only_words(around).strip()

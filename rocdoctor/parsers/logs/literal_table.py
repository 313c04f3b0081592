"""The literals of many messages, ready to be looked for: plain data that can be kept, and objects of what is met.

The order of the literals is that of the table. Of each expression the words are known of which a text must hold one.
"""

from __future__ import annotations

import marshal
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.alike_lines import alike, plain
from rocdoctor.parsers.logs.log_match import Matcher, Wording, only_words, spelled_out

_DIGIT = regex(r"[0-9]")
_MOST_ENDS = 20_000  # words at ends of lines of which it is kept what may follow
# What stands for other letters where case does not count: a dotted and a dotless i, a long s, the sign of Kelvin.
_LETTERS = {"\u0130": "i", "\u0131": "i", "\u017f": "s", "\u212a": "k"}

# Where a line may end in a literal: the last word of it, whether that is whole, the next line's first word, whether
# that is whole, the number of the literal.
Joint = tuple[str, bool, str, bool, int]


@dataclass(frozen=True, slots=True)
class Literal:
    """A literal of a wording: ``key`` is its rarest word, ``kind`` the message that it may be."""

    text: str
    key: str
    kind: str
    wording: Wording

    @property
    def fold(self) -> bool:
        """Whether it is found in any case."""
        return self.wording.fold

    @property
    def shape(self) -> str:
        """It as shapes of lines hold it."""
        return alike(plain(self.text))

    @property
    def inner_words(self) -> list[str]:
        """Its words but the first and the last, which may go on before and behind it; digits are 0."""
        return only_words(self.shape).split()[1:-1] if self.text.isascii() else []

    @property
    def is_exact(self) -> bool:
        """Whether each line whose shape holds its shape holds it."""
        return self.text.isascii() and "?" not in self.text and not _DIGIT.search(self.text)


class LiteralData(NamedTuple):
    """A table as plain data; the strings of an expression are the same objects everywhere.

    ``wordings``: the kind of the message, then the first fields of ``Wording``; ``literals``: text, key word and place
    of the wording; ``keys``: the literals of a key word, all digits made equal; ``needed``: of an expression, words in
    lower case of which a text that it is found in holds one; ``joints``: what ``joints_of`` makes, where it is known.
    """

    wordings: list[tuple[Any, ...]]
    literals: list[tuple[str, str, int]]
    keys: dict[str, list[int]]
    needed: dict[str, tuple[str, ...]]
    joints: bytes


def data_of(known: Matcher) -> LiteralData:
    """The literals of a table as plain data, without what takes long to find."""
    entries = [(entry, word) for word, found in known.index.items() for entry in found]
    entries.sort(key=lambda one: one[0][0])
    places: dict[int, int] = {}
    wordings: list[tuple[Any, ...]] = []
    literals: list[tuple[str, str, int]] = []
    keys: dict[str, list[int]] = {}
    for (rank, signature, wording, text), word in entries:
        if rank not in places:
            places[rank] = len(wordings)
            expressions = (wording.match, wording.near, wording.never)
            more = (dict(wording.constants), wording.absence)
            wordings.append((signature.kind, wording.find, *expressions, wording.fold, *more))
        keys.setdefault(alike(word), []).append(len(literals))
        literals.append((text, word, places[rank]))
    return LiteralData(wordings, literals, keys, {}, b"")


def completed(data: LiteralData) -> LiteralData:
    """The same with what takes long to find, to be kept."""
    from rocdoctor.parsers.logs.needed_words import needed_words

    needed: dict[str, tuple[str, ...]] = {}
    for _, _, match, near, never, _, _, _ in data.wordings:
        for expression in (*near, *never, *([match] if match is not None else ())):
            if expression not in needed and (words := needed_words(spelled_out(expression))):
                needed[expression] = words
    return data._replace(needed=needed, joints=marshal.dumps(joints_of(data.literals)))


def joints_of(literals: Sequence[tuple[str, str, int]]) -> dict[str, list[Joint]]:
    """Where a line may end in a literal, by the last two signs of that line's last word."""
    found: dict[str, list[Joint]] = {}
    for number, (text, _, _) in enumerate(literals):
        if " " not in text:
            continue
        words = alike(plain(text)).lower().split(" ")
        last = len(words) - 2
        for at, (before, after) in enumerate(pairwise(words)):
            found.setdefault(before[-2:], []).append((before, at > 0, after, at < last, number))
    return found


class Literals:
    """The literals of a table in its order."""

    def __init__(self, data: LiteralData) -> None:
        self._data = data
        self._made: dict[int, Literal] = {}
        self._wordings: dict[int, Wording] = {}
        self._after: dict[str, list[tuple[str, bool, int]]] = {}

    def __getitem__(self, number: int) -> Literal:
        if number not in self._made:
            text, key, place = self._data.literals[number]
            kind, *fields = self._data.wordings[place]
            if place not in self._wordings:
                self._wordings[place] = Wording(*fields)
            self._made[number] = Literal(text, key, kind, self._wordings[place])
        return self._made[number]

    def __len__(self) -> int:
        return len(self._data.literals)

    def __iter__(self) -> Iterator[Literal]:
        return (self[number] for number in range(len(self)))

    def of_words(self, words: set[str], lowered: set[str]) -> list[int]:
        """Those that some words may be of, given as they are and in lower case, all digits made equal.

        The key word of a literal must be one of them, and so must all that stand between others in it.
        """
        keys = self._data.keys
        found = {number for word in words & keys.keys() for number in keys[word]}
        found.update(number for word in lowered & keys.keys() for number in keys[word] if self[number].fold)
        return sorted(
            number for number in found if (lowered if self[number].fold else words).issuperset(self[number].inner_words)
        )

    @cached_property
    def _joints(self) -> Mapping[str, list[Joint]]:
        kept = self._data.joints
        return marshal.loads(kept) if kept else joints_of(self._data.literals)

    def over_the_end(self, before: str, after: str) -> Iterator[int]:
        """Those that may go on over the end of a line, by its last word and the first of the next, in lower case."""
        for word_after, whole_after, number in self._behind(before):
            if after == word_after if whole_after else after.startswith(word_after):
                yield number

    def _behind(self, before: str) -> list[tuple[str, bool, int]]:
        """What may stand behind a line's last word: the next word, whether that is whole, the number of the literal.

        Each word is looked up once: lines end with few words, and begin with many.
        """
        found = self._after.get(before)
        if found is None:
            found = [
                (word_after, whole_after, number)
                for end in {before[-2:], before[-1:], ""}
                for word, whole, word_after, whole_after, number in self._joints.get(end, ())
                if (before == word if whole else before.endswith(word))
            ]
            if len(self._after) < _MOST_ENDS:
                self._after[before] = found
        return found

    def may_be_in(self, expression: str, low: str) -> bool:
        """Whether an expression can be found in a text, given as ``lowered`` makes it; False is sure."""
        needed = self._data.needed.get(expression)
        return needed is None or any(word in low for word in needed)


def lowered(text: str) -> str:
    """A text in lower case, in which each word stands that an expression finds in any case."""
    if not text.isascii():
        for letter, plain_one in _LETTERS.items():
            text = text.replace(letter, plain_one)
    return text.lower()


@lru_cache(4)
def literals_of(known: Matcher) -> Literals:
    """The literals of a table, made ready once."""
    return Literals(data_of(known))

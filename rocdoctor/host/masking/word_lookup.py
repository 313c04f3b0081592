"""Looking for hundreds of words in a long text at once, by four bytes at a time."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable
from functools import lru_cache

from rocdoctor.parsers.formats.alike_lines import alike

LONG = 2000
_START = 4  # bytes of an unsigned int
_PIECE = 240  # signs: what repeats itself after 2, 3, 4, ... of them has few different pieces
_OVERLAP = 40  # more than the longest word


def different(shapes: str) -> str:
    """The different lines, and of long ones the different pieces, which overlap so that no word is cut."""
    found: set[str] = set()
    for line in set(shapes.split("\n")):
        if len(line) <= 2 * _PIECE:
            found.add(line)
        else:
            found.update(line[at : at + _PIECE + _OVERLAP] for at in range(0, len(line), _PIECE))
    return "\n".join(found)


def fours(text: str, wanted: frozenset[int]) -> set[int]:
    """Which of some numbers four bytes in a row of a text are: cutting strings takes ten times as long."""
    data = text.encode("utf-8", "surrogatepass")
    found: set[int] = set()
    for first in range(_START):
        found |= wanted.intersection(array("I", data[first : len(data) - (len(data) - first) % _START]))
    return found


def _four(data: bytes) -> int:
    return int.from_bytes(data, sys.byteorder)


def words_by_start(words: Iterable[str]) -> dict[int, tuple[tuple[str, int, str], ...]]:
    """Words that are not short with their last bytes and their shapes, by their first bytes."""
    found: dict[int, list[tuple[str, int, str]]] = {}
    for word in dict.fromkeys(words):
        shape = alike(word)
        if len(shape) >= _START:
            data = shape.encode()
            found.setdefault(_four(data[:_START]), []).append((word, _four(data[-_START:]), shape))
    return {start: tuple(rows) for start, rows in found.items()}


def short_words(words: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The shapes of short words, and the words that have each."""
    found: dict[str, tuple[str, ...]] = {}
    for word in dict.fromkeys(words):
        if len(word) < _START:
            shape = alike(word)
            found[shape] = (*found.get(shape, ()), word)
    return found


@lru_cache(maxsize=500)
def shapes_of(words: tuple[str, ...]) -> tuple[tuple[str, ...], bool]:
    """Words with their digits made equal, and whether there are digits in them."""
    shapes = tuple(map(alike, words))
    return shapes, any(char.isdigit() for shape in shapes for char in shape)

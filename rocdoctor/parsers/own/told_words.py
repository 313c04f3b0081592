"""The words of a pasted text, as they are counted to compare it with other reports, and the writer's sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.json_values import rows
from rocdoctor.parsers.formats.json_values import text as text_of

_LONGEST = 8000  # characters that are counted
_ROWS = 1000
_HEX = regex(r"0x[0-9a-fA-F]{1,40}")
_WORD = regex(r"[A-Za-z_][\w+/.-]{1,40}")
_ENDS = "./-+_"


def word_counts(lines: Iterable[tuple[int, str]]) -> Mapping[str, tuple[int, int]]:
    """How often each word stands in numbered lines, and the number of the first line with it."""
    found: dict[str, tuple[int, int]] = {}
    left = _LONGEST
    for number, line in lines:
        for word in words_of(line[:left]):
            count, first = found.get(word, (0, number))
            found[word] = (count + 1, first)
        left -= len(line) + 1
        if left <= 0:
            break
    return found


def words_of(line: str) -> Iterable[str]:
    """The words of a line in lower case: names with their dots and slashes, no numbers."""
    for found in _WORD.findall(_HEX.sub(" ", line)):
        word = found.strip(_ENDS).lower()
        if len(word) > 1:
            yield word


def parse_sentences(text: str) -> tuple[str, ...]:
    """The texts of the answer to the question ``sentences`` that are written in words from the beginning on."""
    plain = (row for row in rows(text, _ROWS) if row.get("plain") is not False)
    return tuple(found for row in plain if (found := text_of(row.get("text"), 600)) is not None)


def parse_sentence_lines(text: str) -> tuple[tuple[int, str], ...]:
    """(line, text) of all of the answer to the question ``sentences``."""
    found = ((row.get("line"), text_of(row.get("text"), 600)) for row in rows(text, _ROWS))
    return tuple((line, told) for line, told in found if isinstance(line, int) and told is not None)

"""Secrets beside a name without any sign of an assignment: two quoted words, two cells of a row."""

from __future__ import annotations

import re

from rocdoctor.host.masking.extent import value_span
from rocdoctor.host.masking.rules import MaskingTables
from rocdoctor.host.masking.telling import NAME_OF_VARIABLE, looks_random, placeholder, strongest_kind
from rocdoctor.model.lazy_re import regex

LONGEST_HEAD = 400  # signs of a first line of a table
_LONGEST_PAIR = 4000
# Two quoted words, and two cells of a table.
_PAIR_GAP = regex(r"[\"'][ \t]{0,8},[ \t]{0,8}(?:default[ \t]{0,4}=[ \t]{0,4})?(?=[urbf]{0,2}[\"'])")
_CELL_GAP = regex(r"[\"'`*]{0,3}[ \t]{0,80}(?:(?P<b>[|\u2502\u2503\u2551])[ \t]{0,80}|,)[\"'`]{0,2}")
_CELL = regex(
    r"[^\s|\u2502\u2503\u2551,\"'`]{2,400}(?=[\"'`]{0,2}[ \t]{0,80}(?:[|\u2502\u2503\u2551,]|$))", re.MULTILINE
)
_CELL_BEGIN = regex(r"(?:^|[|\u2502\u2503\u2551])[ \t]{0,80}[\"'`*]{0,3}\Z", re.MULTILINE)
_CELL_WORDS = regex(
    r"values?|types?|descriptions?|defaults?|meanings?|stat(?:us|e)|users?|usernames?|hosts?|names?|notes?|comments?|"
    r"logins?|urls?|scopes?|sources?|used|count|size|kind|data|age|ready|e?mails?|expires?|roles?|[A-Z][A-Z0-9]*_[A-Z0-9_]*",
    re.IGNORECASE,
)
# A pair in a list of pairs: ("NAME", "value") and [["NAME", "value"]].
_TUPLE = regex(r"(?:(?<![\w.])\(|[\[,][ \t]{0,8}\[)[ \t]{0,8}[urbf]{0,2}[\"']\Z")
_TUPLE_ENDS = regex(r"[\"'][ \t]{0,8},?[ \t]{0,8}[)\]]")
BEFORE_GAP = frozenset(" \t\"'`*,|\u2502\u2503\u2551")


def paired_span(
    text: str, key_start: int, after: int, kind: str, line_end: int, tables: MaskingTables
) -> tuple[int, int] | None:
    """Where the secret stands in ``"NAME", "value"`` or in the cell behind that of the name."""
    key = text[key_start:after]
    variable = key.isupper() and len(key) > 4
    gap = _PAIR_GAP.match(text, after, line_end)
    if gap is not None:
        if text[key_start - 1 : key_start] not in ("'", '"'):
            return None
        span = value_span(text, gap.end(), min(line_end, gap.end() + _LONGEST_PAIR), whole_line=False)
        sure = variable or key.startswith("--")
        if span and kind == "strong" and not sure and strongest_kind(text[span[0] : span[1]], tables) is None:
            begins = _TUPLE.search(text, max(0, key_start - 12), key_start)
            sure = begins is not None and _TUPLE_ENDS.match(text, span[1], line_end) is not None
    else:
        gap = _CELL_GAP.match(text, after, line_end)
        if gap is None or not _CELL_BEGIN.search(text, max(0, key_start - 90), key_start):
            return None
        if gap["b"] is None and not (variable and "_" in key):
            return None
        line = text.rfind("\n", max(0, key_start - LONGEST_HEAD), key_start) + 1
        if gap["b"] and " " not in gap.group() and text[line : line + 40].lstrip()[:1] != gap["b"]:
            return None  # alternatives
        cell = _CELL.match(text, gap.end(), min(line_end, gap.end() + _LONGEST_PAIR))
        span = cell.span() if cell else None
        if span and not variable and kind == "strong":  # in a row of two cells
            rest = text[span[1] : min(line_end, span[1] + 200)].strip("\"'`* \t|\u2502\u2503\u2551\r")
            sure = not rest and _CELL_WORDS.fullmatch(text[span[0] : span[1]]) is None
        else:
            sure = variable
    if span is None:
        return None
    value = text[span[0] : span[1]]
    if (
        " " in value
        or placeholder(value)
        or value.split(" ", 1)[0] in tables.inert
        or NAME_OF_VARIABLE.fullmatch(value)
    ):
        return None
    if value.lower() in tables.common_words or "masked-" in value:
        return None
    return span if (sure and not _CELL_WORDS.fullmatch(value)) or looks_random(value) else None

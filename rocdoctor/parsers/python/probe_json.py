"""Reads the JSON lines of a probe out of a text that may have anything else around them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from rocdoctor.parsers.formats import json_values

SCHEMA = "rocdoctor.probe/1"
_START = '{"schema": "rocdoctor.probe/'
MAX_LINES = 100_000
MAX_LINE = 4_000_000
MAX_ITEMS = 20_000
MAX_TEXT = 8_000


class Record(NamedTuple):
    """One JSON object and its line, counted from 1."""

    values: dict[str, Any]
    line: int


def _number(digits: str) -> int | None:
    # Conversion of very long numbers takes quadratic time; no figure here has more digits than a 64-bit one.
    return int(digits) if len(digits) <= 20 else None


_DECODER = json.JSONDecoder(parse_int=_number, parse_constant=lambda _: None)


def records(text_: str) -> Iterator[Record]:
    """The objects of the schema in order, without damaged ones and without what stands around one on its line."""
    for number, line in enumerate(text_.split("\n", MAX_LINES)[:MAX_LINES], 1):
        at = line.find(_START)
        if at < 0 or len(line) > MAX_LINE:
            continue
        try:
            values, _ = _DECODER.raw_decode(line, at)
        except (ValueError, RecursionError):
            continue
        if isinstance(values, dict) and values.get("schema") == SCHEMA:
            yield Record(values, number)


def text(values: Mapping[str, Any], key: str) -> str | None:
    """A text that is not empty; lone surrogates become "?" so that it can be printed."""
    value = values.get(key)
    return _printable(value) if isinstance(value, str) and value else None


def flag(values: Mapping[str, Any], key: str) -> bool | None:
    """True or False as the text has it."""
    return json_values.flag(values.get(key))


def whole(values: Mapping[str, Any], key: str) -> int | None:
    """A whole number that is not negative."""
    value = json_values.whole(values.get(key))
    return value if value is not None and value >= 0 else None


def dicts(value: object) -> Iterator[dict[str, Any]]:
    """The objects in a list."""
    if isinstance(value, list):
        yield from json_values.objects(value[:MAX_ITEMS])


def strings(values: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """The texts of a list; anything else gives none."""
    value = values.get(key)
    items = value[:MAX_ITEMS] if isinstance(value, list) else []
    return tuple(_printable(item) for item in items if isinstance(item, str) and item)


def _printable(value: str) -> str:
    return value[:MAX_TEXT].encode("utf-8", "replace").decode("utf-8")

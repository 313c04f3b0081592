"""Reads the answer to the question ``stated``: what a pasted text says in its own words, one JSON object a line."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rocdoctor.parsers.formats import json_values
from rocdoctor.parsers.formats.json_values import flag, whole

_MAX_ROWS = 5000


@dataclass(frozen=True, slots=True)
class Statement:
    """One value: ``line`` is that of the text; ``vendor`` to ``integrated`` are of a card alone."""

    field: str
    value: str | None
    line: int
    vendor: str | None = None
    gfx: str | None = None
    compute_capability: str | None = None
    count: int = 1
    integrated: bool | None = None


def parse_stated(text: str) -> tuple[Statement, ...]:
    """Every row that makes sense, in the given order."""
    found: list[Statement] = []
    for row in json_values.rows(text, _MAX_ROWS):
        field, line, count = row.get("field"), whole(row.get("line")), whole(row.get("count"))
        if not isinstance(field, str) or line is None:
            continue
        found.append(
            Statement(
                field,
                json_values.text(row.get("value")),
                line,
                json_values.text(row.get("vendor")),
                json_values.text(row.get("gfx")),
                json_values.text(row.get("compute_capability")),
                count if count is not None and 1 <= count <= 16 else 1,
                flag(row.get("integrated")),
            )
        )
    return tuple(found)


def of_field(found: Iterable[Statement], field: str) -> Statement | None:
    """The first statement of a field that has a value."""
    return next((one for one in found if one.field == field and one.value), None)

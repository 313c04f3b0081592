"""Reads the answer to the question ``stated``: what a pasted text says in its own words, one JSON object a line."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

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
    for raw in text.split("\n", _MAX_ROWS)[:_MAX_ROWS]:
        try:
            row = json.loads(raw[:4000]) if raw.startswith("{") else None
        except (ValueError, RecursionError):
            continue
        if not isinstance(row, dict):
            continue
        field, line, count = row.get("field"), row.get("line"), row.get("count")
        if not isinstance(field, str) or not isinstance(line, int) or isinstance(line, bool):
            continue
        integrated = row.get("integrated")
        found.append(
            Statement(
                field,
                _word(row.get("value")),
                line,
                _word(row.get("vendor")),
                _word(row.get("gfx")),
                _word(row.get("compute_capability")),
                count if isinstance(count, int) and not isinstance(count, bool) and 1 <= count <= 16 else 1,
                integrated if isinstance(integrated, bool) else None,
            )
        )
    return tuple(found)


def _word(value: object) -> str | None:
    return value[:400] if isinstance(value, str) and value else None


def of_field(found: Iterable[Statement], field: str) -> Statement | None:
    """The first statement of a field that has a value."""
    return next((one for one in found if one.field == field and one.value), None)

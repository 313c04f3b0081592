"""Values of JSON that somebody else wrote, each as the type that is wanted or as none. Nothing here raises."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any


def text(value: object, limit: int = 400) -> str | None:
    """A text that is not empty, cut to ``limit`` characters."""
    return value[:limit] if isinstance(value, str) and value else None


def whole(value: object) -> int | None:
    """A whole number of at most 64 bits; True and False are none."""
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if abs(value) < 1 << 63 else None


def number(value: object) -> float | None:
    """A finite number; True and False are none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None


def flag(value: object) -> bool | None:
    """True or False as it stands there."""
    return value if isinstance(value, bool) else None


def objects(value: object) -> list[dict[str, Any]]:
    """The objects in a list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def texts(value: object, most: int, limit: int = 400) -> tuple[str, ...]:
    """The texts among the first ``most`` entries of a list."""
    return tuple(one[:limit] for one in value[:most] if isinstance(one, str)) if isinstance(value, list) else ()


def rows(lines: str, most: int) -> Iterator[dict[str, Any]]:
    """The objects of a text that has one a line, among its first ``most`` lines."""
    for raw in lines.split("\n", most)[:most]:
        try:
            row = json.loads(raw[:4000]) if raw.startswith("{") else None
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict):
            yield row

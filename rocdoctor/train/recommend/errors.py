"""What cannot be estimated, and how numbers of a specification are read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

_TRUE, _FALSE = {"true", "yes", "on", "1"}, {"false", "no", "off", "0", "none", ""}


class SpecError(ValueError):
    """An impossible or unreadable configuration; the message names the field, and the nearest value that works."""


def whole(raw: Mapping[str, Any], key: str, name: str, low: int = 1, high: int = 10_000_000) -> int | None:
    """A whole number of a mapping, or None when the field is absent; raises SpecError for anything else."""
    value = raw.get(key)
    if value is None:
        return None
    try:
        if isinstance(value, bool):
            raise ValueError
        number = int(value) if isinstance(value, int | float) else int(str(value)[:40].replace("_", ""))
        if isinstance(value, float) and number != value:
            raise ValueError
    except (ValueError, OverflowError):
        raise SpecError(f"{name} must be a whole number, not {_shown(value)}") from None
    if not low <= number <= high:
        nearest = low if number < low else high
        raise SpecError(f"{name} must be between {low} and {high}, not {_shown(value)}; nearest: {nearest}")
    return number


def amount(raw: Mapping[str, Any], key: str, name: str, high: float = 1e16) -> float | None:
    """A positive finite number of a mapping, or None when the field is absent."""
    value = raw.get(key)
    if value is None:
        return None
    try:
        number = float("nan") if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if not math.isfinite(number) or not 0 < number <= high:
        raise SpecError(f"{name} must be a positive number, not {_shown(value)}")
    return number


def flag(raw: Mapping[str, Any], key: str, name: str) -> bool | None:
    """Yes or no of a mapping (also as text or 0 and 1), or None when the field is absent."""
    value = raw.get(key)
    if value is None or isinstance(value, bool):
        return value
    text = str(value)[:20].strip().lower()
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise SpecError(f"{name} must be true or false, not {_shown(value)}")


def table(raw: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """A mapping inside a mapping; empty when absent."""
    value = raw.get(key)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise SpecError(f"{key} must be a mapping, not {_shown(value)}")
    return value


def _shown(value: Any) -> str:
    try:
        text = repr(value)
    except ValueError:  # integers of more digits than Python prints
        text = "a number of thousands of digits"
    return text if len(text) <= 40 else text[:37] + "..."


def nearest_divisor(number: int, wanted: int) -> int:
    """The divisor of ``number`` nearest to ``wanted`` (the smaller one of two)."""
    wanted = max(1, min(wanted, number))
    small = next(one for one in range(wanted, 0, -1) if number % one == 0)
    limit = min(number, 2 * wanted - small)
    large = next((one for one in range(wanted, limit + 1) if number % one == 0), None)
    return large if large is not None and large - wanted < wanted - small else small

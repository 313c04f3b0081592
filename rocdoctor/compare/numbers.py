"""Whether two sentences of findings say the same: numbers that only move a little are no difference."""

from __future__ import annotations

import re
from functools import lru_cache

from rocdoctor.model.lazy_re import regex

# What names one machine or one device of it, and how long ago something was: never a difference.
_OWN = regex(
    r"\b[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]\b"  # PCI addresses
    r"|\b(?:GPU-)?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"
    r"|\b0x[0-9a-f]{12,16}\b"
    r"|\b(?:host|user|domain|ip|mac|serial|uuid|id|group)-\d{1,6}\b"  # masked names
    r"|\b\d+(?:\.\d+)? (?:s|min|h|seconds?|minutes?|hours?|days?) ago\b",
    re.IGNORECASE,
)
# A number by itself, with the word behind it; digits of versions and names are text.
_NUMBER = regex(r"(?<![\w.:+-])(\d{1,15}(?:\.\d{1,6})?)(?![\w:+-]|\.\w)( ?(?:°C|%|[A-Za-z]+(?:/s)?))?")
# Units of what goes up and down by itself.
_MOVES = frozenset(
    (
        "°c",
        "c",
        "mhz",
        "ghz",
        "w",
        "%",
        "rpm",
        "gb/s",
        "mb/s",
        "gib/s",
        "tflop/s",
        "s",
        "ms",
        "min",
        "h",
        "seconds",
        "minutes",
        "hours",
        "days",
        "gib",
        "mib",
        "kib",
    )
)
_LITTLE = 0.1  # our choice: clocks, temperatures and rates of equal machines differ by a few percent


@lru_cache(maxsize=4096)
def parts(message: str) -> tuple[str, tuple[tuple[float, bool], ...]]:
    """The sentence without its numbers, and each number with whether it moves by itself."""
    found: list[tuple[float, bool]] = []

    def take(match: re.Match[str]) -> str:
        found.append((float(match[1]), (match[2] or "").strip().lower() in _MOVES))
        return f"#{match[2] or ''}"

    return _NUMBER.sub(take, _OWN.sub("<own>", message)), tuple(found)


def same_words(a: str, b: str) -> bool:
    """Whether two sentences differ in numbers at most."""
    return a == b or parts(a)[0] == parts(b)[0]


def same_message(a: str, b: str) -> bool:
    """Whether two sentences say the same: the same words, counts that are equal, measured values that are near."""
    if a == b:
        return True
    (words, mine), (others, theirs) = parts(a), parts(b)
    return words == others and all(_near(x, y, moves) for (x, moves), (y, _) in zip(mine, theirs, strict=True))


def _near(a: float, b: float, moves: bool) -> bool:
    return a == b or (moves and abs(a - b) <= _LITTLE * max(abs(a), abs(b)))

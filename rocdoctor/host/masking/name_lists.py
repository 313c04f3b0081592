"""Many names at once: one expression for all of them, and lists that are written short (``n[01-04]``)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from rocdoctor.model.lazy_re import regex

COMPRESSED = regex(r"(?<![\w.-])([A-Za-z][\w.-]{0,60})\[([\d,-]{1,200})\]([\w.-]{0,60})")
_MOST_NUMBERS = 64
# How JSON, Python, URLs and mail write a sign that is no letter: a name may stand right behind it.
GLUED = regex(r"(?i)\\u00[0-7][0-9a-f]|\\x[0-7][0-9a-f]|\\[0-7]{3}|\\[nrt]|[%=][2-7][0-9a-f]")
_BEHIND = (
    r"(?:(?<![A-Za-z0-9])|(?<=\\u00[0-7][0-9a-f])|(?<=\\x[0-7][0-9a-f])|(?<=\\[0-7]{3})|(?<=\\[nrt])|"
    r"(?<=[%=][2-7][0-9a-f]))"
)


def numbers_of(ranges: str) -> list[str]:
    """The first numbers of ``01-04,7`` as they are written."""
    found: list[str] = []
    for part in ranges.split(","):
        first, _, last = part.partition("-")
        if first.isdigit() and (last or first).isdigit() and len(last or first) <= 9:
            many = range(int(first), min(int(last or first), int(first) + _MOST_NUMBERS) + 1)
            found += [str(number).zfill(len(first)) for number in many]
    return found[:_MOST_NUMBERS]


def listed_names(text: str) -> Iterator[str]:
    """The names in lists that are written short: ``n01``, ``n02`` of ``n[01-02]``."""
    for stem, ranges, rest in COMPRESSED.findall(text) if "[" in text else ():
        for number in numbers_of(ranges):
            yield f"{stem}{number}{rest}"


@lru_cache(maxsize=256)
def any_of(names: frozenset[str]) -> re.Pattern[str]:
    """An expression for learned names; the longest wins: "alice-laptop" is a host before "alice" is a user.

    A short name has to stand alone: "bob_size" is more likely a term than a person.
    """
    long = _tree([name for name in names if len(name) >= 4])
    short = _tree([name for name in names if len(name) < 4])
    parts = [rf"{_BEHIND}(?:{long})(?![A-Za-z0-9])"] if long else []
    parts += [rf"(?<![\w-])(?:{short})(?![\w-])"] if short else []
    return re.compile("|".join(parts), re.IGNORECASE)


def _tree(names: list[str]) -> str:
    """An expression for any of the names, the longest that fits: common beginnings are tried once, however many."""
    if not names:
        return ""
    after: dict[str, list[str]] = {}
    for name in sorted(names):
        if name:
            after.setdefault(name[0], []).append(name[1:])
    branches = "|".join(re.escape(sign) + _tree(rest) for sign, rest in after.items())
    if not branches:
        return ""
    return f"(?:{branches})" + ("?" if "" in names else "")

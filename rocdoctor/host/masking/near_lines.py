"""Which lines may tell of one another: those near each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

_NEAR = 60  # lines that a value may stand below its name, and more


def lines_around(places: Iterable[int]) -> Iterator[tuple[int, int]]:
    """The lines near those at the places, as far as one may tell of another: (first, last)."""
    first = last = -1
    for at in places:
        if first >= 0 and at - _NEAR > last:
            yield first, last
            first = -1
        first, last = (max(0, at - _NEAR) if first < 0 else first), at + _NEAR
    if first >= 0:
        yield first, last

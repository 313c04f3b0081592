"""Many names in few words, as schedulers write them: ``gpu[0003,0712-0719]``."""

from __future__ import annotations

from collections.abc import Iterable

_MOST_DIGITS = 9


def folded(names: Iterable[str]) -> str:
    """The names in order; neighbours in number, of equal width, are a range."""
    groups: dict[tuple[str, int, str], list[int]] = {}
    plain: list[str] = []
    for name in sorted(set(names)):
        start, end = _digits(name)
        if start == end:
            plain.append(name)
        else:
            groups.setdefault((name[:start], end - start, name[end:]), []).append(int(name[start:end]))
    words = list(plain)
    for (front, width, back), numbers in sorted(groups.items()):
        parts = [f"{a:0{width}d}" if a == b else f"{a:0{width}d}-{b:0{width}d}" for a, b in _ranges(numbers)]
        one = len(numbers) == 1
        words.append(f"{front}{parts[0]}{back}" if one else f"{front}[{','.join(parts)}]{back}")
    return ",".join(words)


def _digits(name: str) -> tuple[int, int]:
    """Where the last number of a name stands."""
    end = len(name.rstrip("".join(sign for sign in set(name) if not "0" <= sign <= "9")))
    start = end
    while start and end - start < _MOST_DIGITS and "0" <= name[start - 1] <= "9":
        start -= 1
    return start, end


def _ranges(numbers: list[int]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if found and number == found[-1][1] + 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found

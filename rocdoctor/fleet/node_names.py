"""Many names in few words, as schedulers write them: ``gpu[0003,0712-0719]``."""

from __future__ import annotations

from collections.abc import Iterable

from rocdoctor.model.lazy_re import regex

_NUMBERED = regex(r"(.*?)(\d{1,9})([^0-9]*)")


def folded(names: Iterable[str]) -> str:
    """The names in order; neighbours in number, of equal width, are a range."""
    groups: dict[tuple[str, int, str], list[int]] = {}
    plain: list[str] = []
    for name in sorted(set(names)):
        found = _NUMBERED.fullmatch(name)
        if found is None:
            plain.append(name)
        else:
            groups.setdefault((found[1], len(found[2]), found[3]), []).append(int(found[2]))
    words = list(plain)
    for (front, width, back), numbers in sorted(groups.items()):
        parts = [f"{a:0{width}d}" if a == b else f"{a:0{width}d}-{b:0{width}d}" for a, b in _ranges(numbers)]
        one = len(numbers) == 1
        words.append(f"{front}{parts[0]}{back}" if one else f"{front}[{','.join(parts)}]{back}")
    return ",".join(words)


def _ranges(numbers: list[int]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if found and number == found[-1][1] + 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found

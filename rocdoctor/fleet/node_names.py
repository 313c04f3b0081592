"""Many names in few words, as schedulers write them: ``gpu[0003,0712-0719]``."""

from __future__ import annotations

from collections.abc import Container, Iterable

from rocdoctor.model.lazy_re import regex

_MOST_DIGITS = 9
_MOST_NAMES = 100_000
_PIECE = regex(r"([A-Za-z0-9._-]{0,200})(?:\[([0-9,-]{1,4000})\])?")
_RANGE = regex(r"(\d{1,9})(?:-(\d{1,9}))?")


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


def unfolded(text: str) -> list[str]:
    """The names of ``gpu[0003,0712-0719],login1``, each once, in order; raises ValueError for what is no such list."""
    found: dict[str, None] = {}
    for word in _words(text):
        names, at = [""], 0
        while at < len(word):
            piece = _PIECE.match(word, at)
            if piece is None or piece.end() == at:
                raise ValueError(f"{word[:80]!r} is not a list of nodes such as gpu[01-40]")
            numbers = _numbers(piece[2]) if piece[2] is not None else [""]
            if len(names) * len(numbers) > _MOST_NAMES:
                raise ValueError(f"more than {_MOST_NAMES} nodes")
            names = [f"{name}{piece[1]}{number}" for name in names for number in numbers]
            at = piece.end()
        found.update(dict.fromkeys(names))
        if len(found) > _MOST_NAMES:
            raise ValueError(f"more than {_MOST_NAMES} nodes")
    return list(found)


def _words(text: str) -> list[str]:
    """Parts between commas and blanks that do not stand in brackets."""
    words, depth, word = [], 0, ""
    for sign in text:
        depth += (sign == "[") - (sign == "]")
        if depth == 0 and sign in ", \t\n":
            words.append(word)
            word = ""
        else:
            word += sign
    return [one for one in (*words, word) if one]


def _numbers(text: str) -> list[str]:
    found: list[str] = []
    for part in text.split(","):
        told = _RANGE.fullmatch(part)
        if told is None:
            raise ValueError(f"{part[:40]!r} is not a range of numbers")
        first, last = int(told[1]), int(told[2] or told[1])
        if last < first:
            raise ValueError(f"{part[:40]!r} is not a range of numbers that goes up")
        if len(found) + last - first >= _MOST_NAMES:
            raise ValueError(f"more than {_MOST_NAMES} nodes")
        found += [f"{number:0{len(told[1])}d}" for number in range(first, last + 1)]
    return found


def heard_of(lists: Iterable[str], known: Container[str]) -> tuple[str, ...]:
    """The nodes of these lists, each once. Raises ValueError for what is no list, or a node that is not known."""
    names = tuple(dict.fromkeys(name for one in lists for name in unfolded(one)))
    if never := next((name for name in names if name not in known), None):
        raise ValueError(f"{never}: no record of this node has ever arrived")
    return names

"""How long an expression takes on texts that repeat what its parts take: ``python -m tests.patterns.speed`` tries all.

The result is JSON: ``count`` expressions, and for each slow one its place and what it takes.
"""

from __future__ import annotations

import json
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

from tests.patterns.kit import Pattern, collect

PARSER: Any = import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse")
# Asked of texts that are cut before, or that only the user writes: file and beginning, and why.
BOUNDED = {
    ("rocdoctor/train/recommend/fleet/described_fleet.py", ""): "an option of the command line",
    ("rocdoctor/train/recommend/model/models.py", r"\(.*?\)"): "names are cut to 200 characters",
    ("rocdoctor/lint/advice/file_parts.py", r"(?:.*[-_.])?(?:requirements"): "names of files",
    ("rocdoctor/host/probe/interpreter.py", "-py"): "names of files",
    ("rocdoctor/parsers/system/infiniband.py", ""): "states are cut to 200 characters",
}
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")

# -- texts that make a slow expression show itself

_LETTERS = "a0 \n.:,=-/'\"_[]()<>{}#;|\\x\x01"


def pumps(pattern: Pattern) -> list[tuple[str, str]]:
    """(what comes first, what is repeated after it): for each part that may repeat, what it and its neighbours take."""
    tree = PARSER.parse(pattern.text.encode("latin-1") if pattern.is_bytes else pattern.text, pattern.flags)
    words = list(dict.fromkeys(_literals_of(tree)))[:12]
    found: dict[tuple[str, str], None] = {}
    for before, body in _repeats(tree, ""):
        taken = [sign for sign in dict.fromkeys([*words, *_LETTERS]) if _takes(body, sign, pattern.flags)][:7]
        for piece in [*taken, *_samples(body)]:
            if piece:
                found[before, piece] = None
                found["", piece] = None
                found["", before + piece * 3] = None
                found["", "\n" + before + piece] = None
    return list(found)


def _literals_of(tree: Any) -> Iterator[str]:
    for kind, value in _walk(tree):
        if str(kind) in ("LITERAL", "NOT_LITERAL"):
            yield chr(value)


def _walk(tree: Any) -> Iterator[tuple[Any, Any]]:
    for kind, value in tree:
        yield kind, value
        for inner in _inside(kind, value):
            yield from _walk(inner)


def _inside(kind: Any, value: Any) -> list[Any]:
    name = str(kind)
    if name in _REPEATS:
        return [value[2]]
    if name == "SUBPATTERN":
        return [value[3]]
    if name == "BRANCH":
        return list(value[1])
    if name in ("ASSERT", "ASSERT_NOT"):
        return [value[1]]
    if name == "ATOMIC_GROUP":
        return [value]
    if name == "GROUPREF_EXISTS":
        return [one for one in value[1:] if one is not None]
    return []


def _repeats(tree: Any, before: str) -> Iterator[tuple[str, Any]]:
    """(a text that leads to it, the body) of every part that may stand more than a few times."""
    for kind, value in tree:
        name = str(kind)
        if name in _REPEATS and value[1] > 3:
            yield before, value[2]
        for inner in _inside(kind, value):
            yield from _repeats(inner, before)
        before += _sample([(kind, value)], 1)


def _samples(body: Any) -> list[str]:
    """Texts that a body takes: each of its alternatives, with inner repeats once and twice."""
    while len(body) == 1 and str(body[0][0]) == "SUBPATTERN":
        body = body[0][1][3]
    ways = list(body[0][1][1]) if len(body) == 1 and str(body[0][0]) == "BRANCH" else [body]
    return list(dict.fromkeys(_sample(way, least) for way in ways[:8] for least in (1, 2)))


def _sample(tree: Any, least: int) -> str:
    """A text that a tree takes, as far as that is simple; repeats stand ``least`` times at least."""
    out = ""
    for kind, value in tree:
        name = str(kind)
        if name == "LITERAL":
            out += chr(value)
        elif name in ("NOT_LITERAL", "ANY", "IN"):
            out += next((sign for sign in "a0 .:-/\n\t=,()[]<>#'\"x\x1b" if _takes([(kind, value)], sign, 0)), "")
        elif name in _REPEATS:
            out += _sample(value[2], least) * max(value[0], min(least, value[1]))
        elif name == "BRANCH":
            out += _sample(value[1][0], least)
        elif name in ("SUBPATTERN", "ATOMIC_GROUP"):
            out += _sample(_inside(kind, value)[0], least)
    return out


def _takes(body: Any, sign: str, flags: int) -> bool:
    """Whether a body of one character takes a sign."""
    if len(body) != 1:
        return False
    kind, value = body[0]
    name, code = str(kind), ord(sign)
    if name == "SUBPATTERN":
        return _takes(value[3], sign, flags)
    if name == "BRANCH":
        return any(_takes(one, sign, flags) for one in value[1])
    if name == "LITERAL":
        return bool(code == value)
    if name == "NOT_LITERAL":
        return bool(code != value)
    if name == "ANY":
        return sign != "\n" or bool(flags & re.DOTALL)
    if name != "IN":
        return False
    inside, opposite = False, False
    for what, item in value:
        word = str(what)
        if word == "NEGATE":
            opposite = True
        elif word == "LITERAL":
            inside |= code == item
        elif word == "RANGE":
            inside |= item[0] <= code <= item[1]
        elif word == "CATEGORY":
            inside |= re.match(_CATEGORIES[str(item)], sign) is not None
    return inside != opposite


_CATEGORIES = {
    "CATEGORY_DIGIT": r"\d",
    "CATEGORY_NOT_DIGIT": r"\D",
    "CATEGORY_SPACE": r"\s",
    "CATEGORY_NOT_SPACE": r"\S",
    "CATEGORY_WORD": r"\w",
    "CATEGORY_NOT_WORD": r"\W",
}


def text_of(first: str, piece: str, length: int, tail: str) -> str:
    """A pumped text of about ``length`` characters that ends in what nothing takes."""
    return first + piece * max(1, length // len(piece)) + tail


# -- measuring

_SHORT, _LONG, _DOUBLINGS = 8000, 2000, 3
_QUICK_S = 0.008
# A linear expression grows 8 times over three doublings, a quadratic one 64 times.
_GROWTH = 22.0
_MOST_S = 3


class _TooLong(Exception):
    pass


def slowness(pattern: Pattern) -> str:
    """What makes an expression slow, or "": needs the main thread, since what takes for ever is ended by a signal."""
    asked = pattern.compiled()
    ask: Callable[[Any], Any] = asked.match if pattern.anchored else asked.search
    # Lines are what is asked at their beginning.
    tail = "\x01" if pattern.anchored else "\x01\n\x01"
    before = signal.signal(signal.SIGPROF, _stop)
    try:
        for first, piece in pumps(pattern):
            if pattern.anchored and "\n" in piece:
                continue
            told = f"{first[-30:]!r} and then {piece[:30]!r} again and again"
            signal.setitimer(signal.ITIMER_PROF, _MOST_S)
            try:
                if not _linear(pattern, ask, first, piece, tail):
                    return f"more than linear time for {told}"
            except _TooLong:
                return f"more than {_MOST_S} s for {told}"
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
    finally:
        signal.signal(signal.SIGPROF, before)
    return ""


def _stop(*_: object) -> None:
    raise _TooLong


def _linear(pattern: Pattern, ask: Callable[[Any], Any], first: str, piece: str, tail: str) -> bool:
    def seconds(length: int) -> float:
        text: Any = text_of(first, piece, length, tail)
        text = text.encode("latin-1", "replace") if pattern.is_bytes else text
        best = 1e9
        for _ in range(3):
            began = time.process_time()
            ask(text)
            best = min(best, time.process_time() - began)
            if best < _QUICK_S:
                break
        return best

    if seconds(_SHORT) < _QUICK_S:
        return True
    # Only what grows too fast each of three times is slow: other programs disturb one measurement, not all.
    return any(seconds(_LONG << _DOUBLINGS) < _GROWTH * seconds(_LONG) for _ in range(3))


def main() -> int:
    """Try every expression of the project."""
    patterns = collect()
    tried = [
        one
        for one in patterns
        if not any(one.where.startswith(path + ":") and one.text.startswith(begin) for path, begin in BOUNDED)
    ]
    slow = [f"{one.where}: {told}: {one.text[:200]}" for one in tried if (told := slowness(one))]
    print(json.dumps({"count": len(patterns), "slow": slow}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())

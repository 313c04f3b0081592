"""Which words a text must hold for an expression to be found in it, read off the structure of the expression.

A search for words is many times as fast as one for an expression that holds in any case. Python's parser of
expressions tells the structure; it takes as long as compiling, so the words are found once and kept.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib import import_module
from itertools import product
from typing import Any, NamedTuple

_PARSER: Any = import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse")
_MOST, _MOST_LETTERS, _LONGEST = 24, 6, 60
_SHORTEST = 3
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")
_NO_WIDTH = ("AT", "ASSERT", "ASSERT_NOT")
Words = frozenset[str]


class _Told(NamedTuple):
    """``exact``: all that a part can be, where that is little; ``needed``: words of which it holds one; else None."""

    exact: Words | None
    needed: Words | None


_ANYTHING = _Told(None, None)
_NOTHING = _Told(frozenset({""}), None)
Expression = str  # a regular expression of our tables, not what a machine says


def needed_words(expression: Expression) -> tuple[str, ...]:
    """Words in lower case of which each text holds one, case aside, that the expression is found in; () for any."""
    told = _sequence(_PARSER.parse(expression))
    best = _better(told.needed, _as_needed(told.exact))
    return tuple(sorted(best or ()))


def _as_needed(exact: Words | None) -> Words | None:
    return exact if exact and min(map(len, exact)) >= _SHORTEST and len(exact) <= _MOST else None


def _better(one: Words | None, two: Words | None) -> Words | None:
    """Of two sets of words the one whose shortest is longer, then the smaller one."""
    if one is None or two is None:
        return one or two
    return max(one, two, key=lambda words: (min(map(len, words)), -len(words)))


def _sequence(items: Iterable[tuple[Any, Any]]) -> _Told:
    """What stands behind each other."""
    run: Words = frozenset({""})  # what the last parts are together
    whole, best = True, None
    for kind, value in items:
        told = _item(str(kind), value)
        best = _better(best, told.needed)
        joined = _joined(run, told.exact)
        if joined is not None:
            run = joined
            continue
        whole, best = False, _better(best, _as_needed(run))
        run = told.exact if told.exact is not None else frozenset({""})
    best = _better(best, _as_needed(run))
    return _Told(run if whole else None, best)


def _joined(one: Words, two: Words | None) -> Words | None:
    if two is None or len(one) * len(two) > _MOST:
        return None
    found = frozenset(a + b for a, b in product(one, two))
    return found if max(map(len, found)) <= _LONGEST else None


def _item(kind: str, value: Any) -> _Told:
    if kind == "LITERAL":
        return _Told(frozenset({chr(value).lower()}), None) if value < 128 else _ANYTHING
    if kind == "IN":
        return _letters(value)
    if kind == "BRANCH":
        return _branch([_sequence(one) for one in value[1]])
    if kind in _REPEATS:
        return _repeat(*value)
    if kind == "SUBPATTERN":
        return _sequence(value[3])
    if kind == "ATOMIC_GROUP":
        return _sequence(value)
    return _NOTHING if kind in _NO_WIDTH else _ANYTHING


def _letters(members: Iterable[tuple[Any, Any]]) -> _Told:
    """A class of a few letters."""
    found: set[str] = set()
    for kind, value in members:
        if str(kind) != "LITERAL" or value >= 128:
            return _ANYTHING
        found.add(chr(value).lower())
    return _Told(frozenset(found), None) if len(found) <= _MOST_LETTERS else _ANYTHING


def _branch(ways: list[_Told]) -> _Told:
    exact: set[str] | None = set()
    needed: set[str] | None = set()
    for one in ways:
        exact = None if exact is None or one.exact is None else exact | one.exact
        words = _better(one.needed, _as_needed(one.exact))
        needed = None if needed is None or words is None else needed | words
    return _Told(
        frozenset(exact) if exact and len(exact) <= _MOST else None,
        frozenset(needed) if needed and len(needed) <= _MOST else None,
    )


def _repeat(least: int, most: Any, items: Any) -> _Told:
    told = _sequence(items)
    if least == 0:
        optional = most == 1 and told.exact is not None
        return _Told(told.exact | {""}, None) if optional and told.exact is not None else _ANYTHING
    if least == most == 1:
        return told
    return _Told(None, _better(told.needed, _as_needed(told.exact)))

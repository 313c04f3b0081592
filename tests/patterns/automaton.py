"""A regular expression as an automaton: one state for each character that it can take.

Bounded repeats above ``_UNROLLED`` become loops that know how many characters they can take. All approximations err to
the side of more runs: atomic groups take what plain ones take, assertions that look further than one character may
hold and may not (what stands in a look-ahead is a run that ends there), a back reference takes what its group takes.
Characters are Latin-1, all that the expression names, and samples of other scripts (letter, digit, space, sign).
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any

from tests.patterns.kit import Pattern

_NEW = sys.version_info >= (3, 11)
PARSER: Any = import_module("re._parser" if _NEW else "sre_parse")
_COMPILER: Any = import_module("re._compiler" if _NEW else "sre_compile")
_UNROLLED = 6
_UNROLLED_EXACT = 16  # states of a repeat with a fixed count
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")
_SAMPLES = "\u0130\u0131\u017f\u0660\u0416\u0436\u2003\u2014\u2028\u212a\u4e2d\ufb05\ufb06"
# Bits: the place before the first and after the last character, a line end that is the last character, that a gate is
# open whenever its characters are right; then characters.
EDGE, LAST, CERTAIN, FIRST_BIT = 1, 2, 4, 8
Gate = tuple[int, int]  # what may stand before (with CERTAIN) and after a place
Step = tuple[int, int, int]  # a state, and the gate on the way to it or out of it


@dataclass(slots=True)
class Part:
    """A part of an expression: where it begins, where it ends, and how it can be empty."""

    first: list[Step]
    last: list[Step]
    null: list[Gate]


@dataclass(slots=True)
class Automaton:
    """``takes``, ``loop`` (outermost, or -1) and ``steps`` by state; ``bounds``: characters of each loop at most."""

    tree: Any
    letters: str
    takes: list[int] = field(default_factory=list[int])
    loop: list[int] = field(default_factory=list[int])
    steps: list[list[Step]] = field(default_factory=list[list[Step]])
    bounds: list[float] = field(default_factory=list[float])
    groups: dict[int, Any] = field(default_factory=dict[int, Any])

    @property
    def everything(self) -> int:
        return (FIRST_BIT << len(self.letters)) - 1

    def state(self, takes: int, loop: int) -> int:
        self.takes.append(takes & ~CERTAIN)
        self.loop.append(loop)
        self.steps.append([])
        return len(self.takes) - 1

    def join(self, ends: Iterable[Step], begins: Iterable[Step]) -> None:
        begins = list(begins)
        for start, before, after in ends:
            for end, also_before, also_after in begins:
                gate = before & also_before, after & also_after
                if gate[0] & self.takes[start] and gate[1] & self.takes[end]:
                    self.steps[start].append((end, *gate))

    def members(self, items: Any, flags: int) -> int:
        """What one character of the tree takes."""
        return _members(self.letters, repr(items), flags, _Items(PARSER.SubPattern(self.tree.state, items)))


@dataclass(frozen=True, slots=True)
class _Items:
    """A tree that does not count when answers are kept; its written form does."""

    tree: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Items)

    def __hash__(self) -> int:
        return 0


@cache
def _members(letters: str, written: str, flags: int, items: _Items) -> int:
    del written
    taken = _COMPILER.compile(items.tree, flags)
    taken_of = sum(FIRST_BIT << at for at, letter in enumerate(letters) if taken.match(letter))
    return taken_of | (LAST if taken.match("\n") else 0)


def union(masks: Iterable[int]) -> int:
    out = 0
    for mask in masks:
        out |= mask
    return out


def automaton_of(pattern: Pattern) -> tuple[Automaton, list[Step]]:
    """It and where it matches; state 0 is the beginning of the text, or of a search, which has taken anything."""
    tree = PARSER.parse(pattern.text.encode("latin-1") if pattern.is_bytes else pattern.text, pattern.flags)
    letters = "".join(dict.fromkeys([*map(chr, range(256)), *("" if pattern.is_bytes else _SAMPLES), *_named(tree)]))
    auto = Automaton(tree, letters)
    # The beginning of the text, or of a search: it has taken anything.
    start = auto.state(EDGE if pattern.anchored else auto.everything, -1)
    free = auto.everything
    part = _sequence(auto, tree, tree.state.flags, -1)
    auto.join([(start, free, free)], part.first)
    return auto, part.last


def _named(tree: Any) -> Iterator[str]:
    """The characters beyond Latin-1 that a tree names."""
    for number in re.findall(r"\d{3,7}", repr(tree)):
        if 256 <= int(number) < 0x10FFFF:
            yield from (chr(int(number)), chr(int(number) + 1))


# -- from the tree to the automaton


def _sequence(auto: Automaton, items: Any, flags: int, loop: int) -> Part:
    whole = Part([], [], [(auto.everything, auto.everything)])
    for kind, value in items:
        whole = _chain(auto, whole, _item(auto, kind, value, flags, loop))
    return whole


def _chain(auto: Automaton, one: Part, two: Part) -> Part:
    auto.join(one.last, two.first)
    return Part(
        one.first + _through(one.null, two.first), two.last + _through(two.null, one.last), _both(one.null, two.null)
    )


def _through(gates: list[Gate], steps: list[Step]) -> list[Step]:
    return [(state, a & c, b & d) for a, b in gates for state, c, d in steps if a & c and b & d]


def _both(ones: list[Gate], twos: list[Gate]) -> list[Gate]:
    return [(a & c, b & d) for a, b in ones for c, d in twos if a & c and b & d]


def _item(auto: Automaton, kind: Any, value: Any, flags: int, loop: int) -> Part:
    name = str(kind)
    if name in ("LITERAL", "NOT_LITERAL", "ANY", "IN"):
        state = auto.state(auto.members([(kind, value)], flags), loop)
        free = auto.everything
        return Part([(state, free, free)], [(state, free, free)], [])
    if name == "SUBPATTERN":
        group, add, _, inner = value
        if group is not None:
            auto.groups[group] = inner
        return _sequence(auto, inner, flags | add, loop)
    if name == "ATOMIC_GROUP":
        return _sequence(auto, value, flags, loop)
    if name == "GROUPREF":
        return _sequence(auto, auto.groups.get(value, []), flags, loop)
    if name in ("BRANCH", "GROUPREF_EXISTS"):
        ways = [_sequence(auto, way or [], flags, loop) for way in (value[1] if name == "BRANCH" else value[1:])]
        firsts, lasts = [one for way in ways for one in way.first], [one for way in ways for one in way.last]
        return Part(firsts, lasts, [one for way in ways for one in way.null])
    if name in _REPEATS:
        return _repeat(auto, value, flags, loop)
    if name in ("ASSERT", "ASSERT_NOT"):
        return _look(auto, name == "ASSERT", value, flags)
    if name == "AT":
        return Part([], [], _place(auto, str(value), flags))
    if name == "FAILURE":
        return Part([], [], [])
    raise NotImplementedError(name)


def _repeat(auto: Automaton, value: Any, flags: int, loop: int) -> Part:
    least, most, body = value
    free = (auto.everything, auto.everything)
    exact = least == most and least * len(list(_leaves(body))) <= _UNROLLED_EXACT
    if most <= _UNROLLED or exact:
        rest = Part([], [], [free])
        for count in range(int(most), 0, -1):
            rest = _chain(auto, _sequence(auto, body, flags, loop), rest)
            if count > least:
                rest.null.append(free)
        return rest
    if loop < 0:
        width = body.getwidth()[1]
        # What has no end is given as a number of 2 to the 32 or more, or a product of it.
        auto.bounds.append(math.inf if max(most, width) >= 1 << 31 else float(most * width))
        loop = len(auto.bounds) - 1
    inner = _sequence(auto, body, flags, loop)
    auto.join(inner.last, inner.first)
    # One empty turn more may follow a turn.
    return Part(inner.first, inner.last + _through(inner.null, inner.last), inner.null + ([] if least else [free]))


def _leaves(tree: Any) -> Iterator[Any]:
    for kind, value in tree:
        inner = value[2:3] if str(kind) in _REPEATS else value[3:] if str(kind) == "SUBPATTERN" else []
        yield from value[1] if str(kind) == "BRANCH" else [0]
        for one in [*inner, *(value[1] if str(kind) == "BRANCH" else [])]:
            yield from _leaves(one)


def _look(auto: Automaton, wanted: bool, value: Any, flags: int) -> Part:
    direction, body = value
    everything = auto.everything
    single = _single(auto, body, flags)
    if single is None:
        gate = everything & ~CERTAIN, everything
    else:
        allowed = single | CERTAIN if wanted else everything & ~single
        gate = (allowed, everything) if direction < 0 else (everything, allowed)
    if direction < 0:
        return Part([], [], [gate])
    # A run into the look-ahead goes nowhere from there.
    first = [] if single is not None else _sequence(auto, body, flags, -1).first
    return Part(first, [], [gate])


def _single(auto: Automaton, body: Any, flags: int) -> int | None:
    """What a tree of one character or place takes; nothing for any other."""
    if len(body) != 1:
        return None
    kind, value = body[0]
    name = str(kind)
    if name in ("LITERAL", "NOT_LITERAL", "ANY", "IN"):
        return auto.members([(kind, value)], flags)
    if name == "SUBPATTERN":
        return _single(auto, value[3], flags | value[1])
    if name == "BRANCH":
        ways = [_single(auto, way, flags) for way in value[1]]
        return None if None in ways else union(way for way in ways if way is not None)
    # Only a look-ahead asks for the end.
    return EDGE if name == "AT" and str(value) == "AT_END_STRING" else None


def _place(auto: Automaton, name: str, flags: int) -> list[Gate]:
    everything = auto.everything
    line = FIRST_BIT << auto.letters.index("\n")
    if name == "AT_BEGINNING_STRING" or (name == "AT_BEGINNING" and not flags & re.MULTILINE):
        return [(CERTAIN | EDGE, everything)]
    if name == "AT_BEGINNING":
        return [(CERTAIN | EDGE | LAST | line, everything)]
    if name == "AT_END_STRING":
        return [(everything, EDGE)]
    if name == "AT_END":
        return [(everything, EDGE | LAST | (line if flags & re.MULTILINE else 0))]
    category = [(PARSER.CATEGORY, PARSER.CATEGORY_WORD)]
    word = auto.members([(PARSER.IN, category)], flags) | CERTAIN
    other = everything & ~word | CERTAIN
    return [(word, other), (other, word)] if name == "AT_BOUNDARY" else [(word, word), (other, other)]

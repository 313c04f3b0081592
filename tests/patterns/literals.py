"""Whether a literal of a wording can stand where the expression of the wording needs it, as whole words.

A literal is looked up by its rarest word, which must be a whole word of the text. So a literal that ends inside a word
of what its expression takes is never found, and neither is one that the expression never takes in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from rocdoctor.parsers.logs.log_match import Matcher, compiled, spelled_out
from tests.patterns.automaton import EDGE, FIRST_BIT, LAST, Automaton, Step, automaton_of
from tests.patterns.kit import Pattern

_BEFORE, _BEYOND = 0, -1  # in front of a match, and behind its end
_FEW = 4  # letters that a state takes which stands for a letter of the expression, in any case
_OF_WORDS = 150  # and one for signs of words; what takes more takes nearly anything


def dead_literals(known: Matcher) -> Iterator[tuple[str, str]]:
    """(kind, literal) of each literal that no text can hold whole where the expression of its wording is found."""
    for key, entries in known.index.items():
        for _, signature, wording, literal in entries:
            if wording.match is None or compiled(wording.match).search(literal):
                continue
            if not can_stand(wording.match, literal, key):
                yield signature.kind, literal


def can_stand(expression: str, literal: str, key: str) -> bool:
    """Whether some text that the expression is found in holds the literal there, with its key as a whole word.

    Where the expression spells the literal out, it must be whole in one such place: another one that takes anything
    does not count.
    """
    whole, part = _Ends.of(expression, literal, key), _Ends(0, 0)
    named = _stands(expression, literal, part, _FEW)
    return _stands(expression, literal, whole, _OF_WORDS if named else 0)


class _Ends(NamedTuple):
    """What may stand in front of a literal and behind it; 0: anything."""

    before: int
    after: int

    @classmethod
    def of(cls, expression: str, literal: str, key: str) -> _Ends:
        auto, _ = _automaton(expression)
        other = EDGE | LAST
        other |= sum(FIRST_BIT << at for at, one in enumerate(auto.letters) if not (one.isalnum() or one == "_"))
        return cls(other if literal.startswith(key) else 0, other if literal.endswith(key) else 0)


def _stands(expression: str, literal: str, ends: _Ends, few: int) -> bool:
    """Whether it stands so; with ``few`` only where states take in all of it that take no more."""
    auto, last = _automaton(expression)
    bits = [FIRST_BIT << auto.letters.find(letter) for letter in literal if letter in auto.letters]
    if len(bits) < len(literal):
        return True  # a sign of which the automaton has none
    exits: dict[int, list[Step]] = {}
    for step in last:
        exits.setdefault(step[0], []).append(step)
    anything = auto.everything | EDGE
    previous = ends.before or anything
    states = {state for state, takes in enumerate(auto.takes) if takes & previous} | {_BEFORE}
    for bit in bits:
        states = set(_after(auto, exits, states, previous, bit))
        if few:
            states = {state for state in states if state > 0 and auto.takes[state].bit_count() <= few}
        previous = bit
    return any(_goes_on(auto, exits, state, previous, ends.after or anything) for state in states - {_BEFORE})


@lru_cache(maxsize=1)
def _automaton(expression: str) -> tuple[Automaton, list[Step]]:
    return automaton_of(Pattern(spelled_out(expression), 0, False, False, ""))


def _after(
    auto: Automaton, exits: dict[int, list[Step]], states: Iterable[int], previous: int, bit: int
) -> Iterator[int]:
    """The states after one more character, which may stand in front of the match or behind it."""
    for state in states:
        if state in (_BEFORE, _BEYOND):
            yield state
        if state == _BEYOND:
            continue
        last = auto.takes[state] & previous
        for to, left, right in auto.steps[state]:
            if last & left and right & bit & auto.takes[to]:
                yield to
        if any(last & left and right & bit for _, left, right in exits.get(state, ())):
            yield _BEYOND


def _goes_on(auto: Automaton, exits: dict[int, list[Step]], state: int, last: int, after: int) -> bool:
    """Whether what may stand behind the literal can follow a state."""
    if state == _BEYOND:
        return True
    if any(last & left and right & after for _, left, right in exits.get(state, ())):
        return True
    return any(last & left and right & after & auto.takes[to] for to, left, right in auto.steps[state])

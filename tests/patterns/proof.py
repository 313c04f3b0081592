"""Whether an expression can take more than linear time, read off its structure without running it.

A backtracking matcher walks each run of the automaton (``tests/patterns/automaton.py``) at most once, so a start costs
linear time when no text has more than a fixed number of runs. A search adds a state before all that takes anything.
Runs multiply in two ways: *exponential*, two runs that part in a loop and meet in it again on one text; *polynomial*,
a text that leads around one loop, around a later loop, and from the first to the second. The latter is called
*restart* where the first loop is the beginning of a search at each character; states from which a match is certain do
not count there, since the search ends with it. Not counted are repeats of a few times: each is a factor of a constant.
``python -m tests.patterns.proof`` judges all expressions of the project.
"""

from __future__ import annotations

import gc
import json
import math
import sys
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tests.patterns.automaton import CERTAIN, EDGE, FIRST_BIT, Automaton, Step, automaton_of, union
from tests.patterns.kit import Pattern, collect

# Runs at one character at most, where bounded repeats multiply.
MOST_RUNS = 20_000


@dataclass(frozen=True, slots=True)
class Verdict:
    """``kind``: "" (linear), "exponential", "polynomial" or "restart"; ``cost``: runs at most at one character."""

    kind: str
    told: str = ""
    cost: float = 1


# -- questions to the automaton: a state of these is a tuple of states and what their last character may be


def _moves(auto: Automaton, at: tuple[int, ...], last: int) -> Iterator[tuple[tuple[int, ...], tuple[Step, ...], int]]:
    """(states, steps, last character) after one more character that all take."""

    def go(index: int, before: int, after: int, steps: tuple[Step, ...]) -> Iterator[tuple[tuple[Step, ...], int]]:
        if index == len(at):
            yield steps, after
            return
        for step in auto.steps[at[index]]:
            left, right = before & step[1], after & step[2] & auto.takes[step[0]]
            if left and right:
                yield from go(index + 1, left, right, (*steps, step))

    for steps, after in go(0, last, auto.everything & ~EDGE, ()):
        yield tuple(step[0] for step in steps), steps, after


def _reaches(
    auto: Automaton, starts: Iterable[tuple[int, ...]], goals: Collection[tuple[int, ...]], within: Any
) -> bool:
    """Whether one text leads from one of the tuples to another, by one step at least."""
    seen: set[tuple[tuple[int, ...], int]] = set()
    todo = [(at, _meet(auto, at)) for at in starts]
    while todo:
        at, last = todo.pop()
        if last:
            for after, _, took in _moves(auto, at, last):
                if after in goals:
                    return True
                if within(after) and (after, took) not in seen:
                    seen.add((after, took))
                    todo.append((after, took))
    return False


def _meet(auto: Automaton, at: tuple[int, ...]) -> int:
    out = auto.everything
    for state in at:
        out &= auto.takes[state]
    return out


def _exponential(auto: Automaton, loop: int) -> int | None:
    """A state of the loop where two runs part that meet again in the loop."""
    inside = {state for state, of in enumerate(auto.loop) if of == loop}
    for state in inside:
        parted: set[tuple[int, ...]] = set()
        for after, steps, _ in _moves(auto, (state, state), auto.takes[state]):
            if steps[0] is not steps[1] and inside >= set(after):
                if after[0] == after[1]:
                    return state
                parted.add((min(after), max(after)))
        goals = {(one, one) for one in inside}
        if parted and _reaches(auto, parted, goals, lambda after: inside.issuperset(after)):
            return state
    return None


def _follows(auto: Automaton, one: list[int], two: list[int]) -> bool:
    """Whether a text leads around the first loop, around the second, and from the first to the second."""
    if not union(auto.takes[at] for at in one) & union(auto.takes[at] for at in two):
        return False
    first, second = set(one), set(two)

    def within(after: tuple[int, ...]) -> bool:
        return after[0] in first and after[2] in second

    pairs = [(q, r) for q in one for r in two]
    merged = {(q, r, r) for q, r in pairs}
    if not _reaches(auto, [(q, q, r) for q, r in pairs], merged, within):
        return False
    return len(pairs) > 100 or any(_reaches(auto, [(q, q, r)], {(q, r, r)}, within) for q, r in pairs)


def _sure(auto: Automaton, last: list[Step]) -> set[int]:
    """The states from which some run matches whatever comes, so that a search ends there."""
    exits: dict[int, int] = {}
    for state, before, after in last:
        if before & CERTAIN and not auto.takes[state] & ~before:
            exits[state] = exits.get(state, 0) | after
    sure = set(range(len(auto.takes)))
    while True:
        failing: set[int] = set()
        for at in sure:
            covered = exits.get(at, 0) | CERTAIN
            for to, before, after in auto.steps[at]:
                if to in sure and before & CERTAIN and not auto.takes[at] & ~before:
                    covered |= auto.takes[to] & after
            if auto.everything & ~covered:
                failing.add(at)
        if not failing:
            return sure
        sure -= failing


def judge(pattern: Pattern) -> Verdict:
    """Whether the expression is proven linear; ``cost`` is a bound on the runs at one character if it is."""
    auto, last = automaton_of(pattern)
    start, free = 0, auto.everything
    sure = _sure(auto, last)
    loops = [[at for at, of in enumerate(auto.loop) if of == loop] for loop in range(len(auto.bounds))]
    for number in range(len(loops)):
        if (at := _exponential(auto, number)) is not None:
            return Verdict("exponential", f"two ways around the loop at {_shown(auto, [at])}")
    bounds, follows = list(auto.bounds), {}
    for one, first in enumerate(loops):
        follows[one] = [two for two, second in enumerate(loops) if two != one and _follows(auto, first, second)]
        endless = [two for two in follows[one] if math.inf == bounds[one] == bounds[two]]
        if endless:
            return Verdict("polynomial", f"{_shown(auto, first)} and then {_shown(auto, loops[endless[0]])}")
    if not pattern.anchored:
        auto.steps[start].append((start, free, free))
        bounds.append(math.inf)
        tried = [[at for at in loop if at not in sure] for loop in loops]
        follows[len(loops)] = [two for two, loop in enumerate(tried) if loop and _follows(auto, [start], loop)]
        endless = [two for two in follows[len(loops)] if bounds[two] == math.inf]
        if endless:
            return Verdict("restart", f"tried again at each character of {_shown(auto, loops[endless[0]])}")
    return Verdict("", cost=max((_runs(follows, bounds, [one]) for one in follows), default=1))


def _runs(follows: dict[int, list[int]], bounds: list[float], chain: list[int]) -> float:
    """The places where one loop of a chain can hand over to the next: all but the longest loop choose freely."""
    lengths = sorted(bounds[one] for one in chain)
    here = math.prod(lengths[:-1])
    return max([here, *(_runs(follows, bounds, [*chain, two]) for two in follows[chain[-1]] if two not in chain)])


def _shown(auto: Automaton, states: list[int]) -> str:
    taken = union(auto.takes[at] for at in states)
    shown = [one for at, one in enumerate(auto.letters) if taken & (FIRST_BIT << at) and " " < one <= "~"]
    return f"a repeat of {len(states)} with {''.join(shown)[:30]!r}"


def main() -> int:
    """Print JSON: ``count`` expressions, and of each ``unproven`` one its place, its text and what is wrong."""
    gc.disable()  # trees and automata are kept to the end, and looking through them takes longer than making them
    judged = [(one, judge(one)) for one in collect()]
    unproven = [
        (one.where, one.text, f"{verdict.kind}: {verdict.told}" if verdict.kind else f"{verdict.cost:.0f} runs")
        for one, verdict in judged
        if verdict.kind or verdict.cost > MOST_RUNS
    ]
    print(json.dumps({"count": len(judged), "unproven": unproven}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Which GPU of one list is which of another: by address and chip, then by chip in order, then by address."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

A = TypeVar("A")
B = TypeVar("B")


@dataclass(frozen=True, slots=True)
class Key:
    """What a GPU is found by; None where it is not known."""

    bdf: str | None
    chip: str | None


@dataclass(frozen=True, slots=True)
class Match(Generic[A, B]):
    """Pairs of the same GPU, and what only one list has. ``moved``: pairs at another address than before."""

    pairs: tuple[tuple[A, B], ...]
    gone: tuple[A, ...]
    new: tuple[B, ...]
    moved: tuple[tuple[A, B], ...]


def match(before: Sequence[A], now: Sequence[B], key_a: Callable[[A], Key], key_b: Callable[[B], Key]) -> Match[A, B]:
    """Pair the GPUs of two lists.

    Addresses of all buses change when a card is put in, so GPUs of one chip are paired in order where addresses do not
    tell; a chip of another kind at the same address is the same place with another card.
    """
    left, right = dict(enumerate(map(key_a, before))), dict(enumerate(map(key_b, now)))
    pairs: dict[int, int] = {}
    moved: set[int] = set()

    def take(fits: Callable[[Key, Key], bool], moves: bool = False) -> None:
        for place, a in list(left.items()):
            found = next((other for other, b in right.items() if fits(a, b)), None)
            if found is not None:
                del left[place], right[found]
                pairs[place] = found
                if moves:
                    moved.add(place)

    take(lambda a, b: a.bdf is not None and a.bdf == b.bdf and _may_equal(a.chip, b.chip))
    take(lambda a, b: None not in (a.bdf, b.bdf, a.chip) and a.chip == b.chip, moves=True)
    take(lambda a, b: a.bdf is not None and a.bdf == b.bdf)
    # Without addresses on one side the order is all there is, and nobody can say that one moved.
    take(lambda a, b: None in (a.bdf, b.bdf) and _may_equal(a.chip, b.chip))
    return Match(
        tuple((before[a], now[pairs[a]]) for a in sorted(pairs)),
        tuple(before[place] for place in left),
        tuple(now[place] for place in right),
        tuple((before[a], now[pairs[a]]) for a in sorted(moved)),
    )


def _may_equal(a: str | None, b: str | None) -> bool:
    return a is None or b is None or a == b

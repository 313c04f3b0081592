"""How much words of a report speak for a cause: weights that were fitted on labelled texts (``likeness.yaml``).

The table is made by ``tools/likeness.py``, which says on what and how well it did on texts that it had not seen.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from rocdoctor.knowledge.load import load_table
from rocdoctor.model.lazy_re import regex

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
"""Each stands for the cause at its place in the list of the table."""
_PART = regex(r"([A-Za-z])(-?\d{1,4})")
_TENTHS, _HUNDREDTHS = 10, 100


@dataclass(frozen=True, slots=True)
class Likened:
    """Of texts that were left out of the fit and whose likeliest cause had more than this share: how many had it."""

    share: float
    answered: int
    right: int


@dataclass(frozen=True, slots=True)
class Likeness:
    """The weights: of each word how rare it is, and (place of the cause, weight) where it weighs anything.

    ``threshold``: the share of the likeliest cause below which none may be named; ``hints``: that below which not even
    the commands that show them are worth running; ``counted``: how often the likeliest was right, by its share.
    """

    causes: tuple[str, ...]
    bias: tuple[float, ...]
    words: Mapping[str, str]
    threshold: float
    hints: float = 0.0
    counted: tuple[Likened, ...] = ()

    def how_often(self, share: float) -> Likened | None:
        """What was counted at the highest share that is not above this one."""
        return max((one for one in self.counted if one.share <= share), key=lambda one: one.share, default=None)

    def rarity(self, word: str) -> float:
        """The inverse document frequency of a word of the table."""
        row = self.words[word]
        return int(row[: _digits(row)]) / _HUNDREDTHS

    def weights(self, word: str) -> Iterable[tuple[int, float]]:
        """(place of a cause, weight) of a word of the table."""
        row = self.words[word]
        for letter, number in _PART.findall(row[_digits(row) :]):
            yield LETTERS.index(letter), int(number) / _TENTHS


def _digits(row: str) -> int:
    return len(row) - len(row.lstrip("0123456789"))


@cache
def likeness() -> Likeness:
    """The weights that ship."""
    table = load_table("likeness")
    return Likeness(
        tuple(table["causes"]),
        tuple(one / _HUNDREDTHS for one in table["bias"]),
        table["words"],
        table["threshold"] / _HUNDREDTHS,
        table["hints"] / _HUNDREDTHS,
        tuple(Likened(share / _HUNDREDTHS, answered, right) for share, answered, right in table["counted"]),
    )


@dataclass(frozen=True, slots=True)
class Likely:
    """A cause, the share of probability that the words give it, and the words that speak for it, strongest first."""

    cause: str
    share: float
    words: tuple[str, ...]


def weighed(known: Likeness, counts: Mapping[str, int], most: int = 6) -> tuple[Likely, ...]:
    """Every cause by its share, the greatest first, for a text with these words."""
    values = {word: (1 + math.log(count)) * known.rarity(word) for word, count in counts.items() if word in known.words}
    length = math.sqrt(sum(value * value for value in values.values())) or 1.0
    scores = list(known.bias)
    speaking: list[list[tuple[float, str]]] = [[] for _ in known.causes]
    for word, value in values.items():
        for place, weight in known.weights(word):
            part = weight * value / length
            scores[place] += part
            if part > 0:
                speaking[place].append((part, word))
    top = max(scores)
    shares = [math.exp(score - top) for score in scores]
    total = sum(shares)
    found = [
        Likely(cause, share / total, tuple(word for _, word in sorted(parts, reverse=True)[:most]))
        for cause, share, parts in zip(known.causes, shares, speaking, strict=True)
    ]
    return tuple(sorted(found, key=lambda one: (-one.share, one.cause)))

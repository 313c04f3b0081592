"""What is known, from where, and what is not known, and why.

A fact is either ``Known`` (a value with the question that answered it) or ``Unknown`` (a reason). There is no third
state: an unknown number is never 0, an unknown name never "N/A". A check reads a fact with ``known``, which ends the
check for this subject with the verdict ``unknown`` when there is nothing to judge.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Literal, TypeAlias, TypeVar

from rocdoctor.model.question import Question

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
U = TypeVar("U")

Reason = Literal[
    "absent",  # a complete source says that there is no such thing
    "denied",  # this user may not ask
    "timeout",  # the question had no answer in time
    "unparsable",  # there was an answer, but no sense in it
    "not-asked",  # nobody asked, or the evidence does not cover it (an excerpt, an older capture)
    "suspended",  # the device sleeps and was left asleep
    "failed",  # the tool or the kernel answered with an error
    "undecided",  # there are answers, and they do not tell: two differ, or no table knows what they say
]


@dataclass(frozen=True, slots=True)
class Source:
    """The exact question that gave an answer, and the line of the answer (counted from 1) where the value stands."""

    question: str
    line: int | None = None

    @property
    def asked(self) -> Question:
        """The question taken apart."""
        return Question.of(self.question)

    def __str__(self) -> str:
        return self.question if self.line is None else f"{self.question}:{self.line}"


@dataclass(frozen=True, slots=True)
class Known(Generic[T_co]):
    """A value and where it was read."""

    value: T_co
    source: Source


@dataclass(frozen=True, slots=True)
class Unknown:
    """Why there is no value: ``why`` is one readable clause, ``reason`` its kind, ``source`` the question that was, or
    would have been, asked for it."""

    why: str
    reason: Reason = "not-asked"
    source: Source | None = None


# No __bool__ on either: `if fact:` is a type error (mypy truthy-bool) because it would hide the difference.
Fact: TypeAlias = Known[T] | Unknown

NOT_ASKED = Unknown("the evidence does not cover it")
NOT_LOOKED_AT = Unknown("none of the checks that were named looks at it")


class NotKnown(Exception):
    """Ends a check for one subject: a fact that it needs is unknown."""

    def __init__(self, unknown: Unknown) -> None:
        super().__init__(unknown.why)
        self.unknown = unknown


def known(fact: Fact[T]) -> T:
    """The value of a fact; raises ``NotKnown``, which becomes the verdict ``unknown``, when there is none."""
    if isinstance(fact, Known):
        return fact.value
    raise NotKnown(fact)


def unknown(why: str | Unknown, reason: Reason = "not-asked", source: Source | None = None) -> NotKnown:
    """What a check raises to end as unknown for its subject: a clause that says why, or a fact without a value."""
    return NotKnown(why if isinstance(why, Unknown) else Unknown(why, reason, source))


def value_or(fact: Fact[T], default: U) -> T | U:
    """The value of a fact, or ``default`` where unknown is a legitimate case of its own (never to invent a value)."""
    return fact.value if isinstance(fact, Known) else default


def is_known(fact: Fact[T]) -> bool:
    """True when there is a value."""
    return isinstance(fact, Known)


def convert(fact: Fact[T], function: Callable[[T], U]) -> Fact[U]:
    """The fact with ``function`` applied to its value; the source stays."""
    return Known(function(fact.value), fact.source) if isinstance(fact, Known) else fact


def first_known(*facts: Fact[T]) -> Fact[T]:
    """The first fact that is known, best source first; else the most telling reason (anything but "not asked")."""
    for fact in facts:
        if isinstance(fact, Known):
            return fact
    telling = [fact for fact in facts if isinstance(fact, Unknown) and fact.reason != "not-asked"]
    return telling[0] if telling else (facts[0] if facts else NOT_ASKED)

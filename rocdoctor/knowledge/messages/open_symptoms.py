"""Symptoms: what people see when several causes may be behind it, as rows of ``open_symptoms.yaml``.

A sign is a wording that is looked for in the words of a text; a symptom is signs that stand together on a kind of
machine, the two or three causes that remain then, and the command that tells them apart. ``last_resorts.yaml`` has
those that are asked where nothing else answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from rocdoctor.knowledge.load import load_table, words
from rocdoctor.knowledge.messages.answers import MessageAnswer, When, answer_of, when_of
from rocdoctor.knowledge.messages.program_errors import rows_of, signatures_of
from rocdoctor.parsers.logs.log_match import Matcher

if TYPE_CHECKING:
    from rocdoctor.parsers.prose.foreign_signs import ForeignSign


@dataclass(frozen=True, slots=True)
class SymptomQuestion:
    """A command that tells the causes of a symptom apart; ``outcomes``: (what it shows, the cause or "")."""

    command: str
    why: str
    outcomes: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Symptom:
    """A symptom: the kinds of messages of which one must stand (``seen``), the condition, and what may be behind it.

    ``despite``: kinds that speak against the machine elsewhere and not here; ``why``: the reason why these causes
    remain; ``source``: where it was read.
    """

    name: str
    means: str
    seen: tuple[str, ...]
    despite: tuple[str, ...]
    when: When
    why: str
    source: str
    answers: tuple[MessageAnswer, ...]
    questions: tuple[SymptomQuestion, ...]


@cache
def sign_rows() -> tuple[Mapping[str, Any], ...]:
    """The rows of signs, written as those of messages are."""
    return rows_of(load_table("open_symptoms"), "signs")


@cache
def last_sign_rows() -> tuple[Mapping[str, Any], ...]:
    """The rows of signs that only the last resorts ask for."""
    return rows_of(load_table("last_resorts"), "signs")


@cache
def sign_signatures() -> Matcher:
    """The signatures of all signs."""
    return signatures_of((*sign_rows(), *last_sign_rows()))


@cache
def foreign_sign_rows() -> tuple[ForeignSign, ...]:
    """Signs in other languages than English."""
    from rocdoctor.parsers.prose.foreign_signs import ForeignSign

    return tuple(
        ForeignSign(one["kind"], words(one["words"]), one["match"]) for one in load_table("last_resorts")["foreign"]
    )


@cache
def speaking_against() -> frozenset[str]:
    """The kinds of signs and messages that speak against the machine as the cause."""
    return frozenset((*load_table("open_symptoms")["against"], *_speaking("against")))


@cache
def of_the_domain() -> frozenset[str]:
    """The kinds of signs of which one stands in every text that this project is about."""
    return frozenset(load_table("open_symptoms")["domain"])


@cache
def of_trouble() -> frozenset[str]:
    """The kinds of signs that tell of something that does not work."""
    return frozenset(_speaking("of trouble"))


@cache
def of_last_trouble() -> frozenset[str]:
    """Those, and the kinds of signs that only the last resorts ask for and that do so too."""
    return of_trouble() | frozenset(_speaking("of trouble", last_sign_rows()))


def _speaking(what: str, rows: Iterable[Mapping[str, Any]] = ()) -> list[str]:
    return [row["kind"] for row in rows or sign_rows() if row.get("speaks") == what]


@cache
def symptoms() -> tuple[Symptom, ...]:
    """The symptoms in the order of the table, in which the first one that holds counts."""
    return tuple(_symptom(row) for row in load_table("open_symptoms")["symptoms"])


@cache
def last_resorts() -> tuple[Symptom, ...]:
    """The kinds of trouble that are left where nothing else answers; some of them name no cause."""
    return tuple(_symptom(row) for row in load_table("last_resorts")["symptoms"])


def _symptom(row: Mapping[str, Any]) -> Symptom:
    return Symptom(
        row["symptom"],
        row["means"],
        tuple(row["seen"]),
        words(row.get("despite")),
        when_of(row.get("when", {})),
        row["why"],
        row["source"],
        tuple(answer_of({"confidence": "possible", **one}) for one in row["says"]),
        tuple(_question(one) for one in row["ask"]),
    )


def _question(row: Mapping[str, Any]) -> SymptomQuestion:
    outcomes = tuple((str(one["shows"]), str(one.get("cause", ""))) for one in row["outcomes"])
    return SymptomQuestion(str(row["command"]), str(row["why"]), outcomes)

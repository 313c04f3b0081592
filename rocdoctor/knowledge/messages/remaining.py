"""What to say of a cause that is only one of a few that remain, and the command that shows it (``remaining.yaml``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from rocdoctor.knowledge.load import load_table
from rocdoctor.knowledge.messages.answers import MessageAnswer, When, answer_of, when_of


@dataclass(frozen=True, slots=True)
class RemainingCause:
    """The answers of a cause, of which the first that holds counts; ``shows``: what ``command`` shows if it is it.

    ``unless``: conditions of which one shows that it is not this cause, whatever words resemble it.
    """

    answers: tuple[MessageAnswer, ...]
    command: str
    why: str
    shows: str
    unless: tuple[When, ...] = ()


@cache
def remaining_causes() -> Mapping[str, RemainingCause]:
    """Every cause that may remain, by its id."""
    return {
        row["cause"]: RemainingCause(
            tuple(answer_of({"confidence": "possible", "cause": row["cause"], **one}) for one in row["says"]),
            str(row["ask"]["command"]),
            str(row["ask"]["why"]),
            str(row["ask"]["shows"]),
            tuple(when_of(one) for one in row.get("unless", ())),
        )
        for row in load_table("remaining")["causes"]
    }

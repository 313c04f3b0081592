"""Which symptom a pasted text tells of, and which causes remain for it."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from rocdoctor.insight.texts.answers import Applied, filled, holds, values_of
from rocdoctor.insight.texts.named_things import named
from rocdoctor.insight.texts.pasted import said
from rocdoctor.knowledge.messages.open_symptoms import (
    Symptom,
    SymptomQuestion,
    last_resorts,
    of_last_trouble,
    speaking_against,
    symptoms,
)
from rocdoctor.knowledge.messages.remaining import remaining_causes
from rocdoctor.knowledge.messages.told import MENDED, NO_REPORT, OWN_TROUBLE, TROUBLE
from rocdoctor.model.facts import Machine, Message
from rocdoctor.model.finding import NextStep, StepOutcome
from rocdoctor.model.shell_command import shell_of_table

MOST = 3  # causes of one symptom
# What tells that the trouble is there: sentences of the writer, or a program's words of failure.
_TOLD = frozenset({TROUBLE, "people-tell-of-failure", "people-tell-of-crash", "sign-foreign-memory"})
_NOT_LIVE = frozenset({MENDED, NO_REPORT})
WISHES = frozenset({"sign-of-wish", "prose-is-request"})
"""Kinds of a wish: who wishes for something and tells of the own trouble has both."""


@dataclass(frozen=True, slots=True)
class Remaining:
    """A symptom that the text tells of, and the causes that remain, the most probable first."""

    symptom: Symptom
    causes: tuple[Applied, ...]


def remaining(machine: Machine) -> Remaining | None:
    """The first symptom of the table that holds and leaves causes; None where there is none."""
    return _first(machine, symptoms()) if machine.messages else None


def last_resort(machine: Machine) -> Remaining | None:
    """The kind of trouble that a text complains of, for one that nothing else answers; it may have no causes.

    None where its writer tells of no trouble that is there.
    """
    present = {one.kind for one in machine.messages if one.role == "now"}
    return _first(machine, last_resorts()) if tells_of_trouble(present) else None


def tells_of_trouble(present: AbstractSet[str]) -> bool:
    """Whether kinds of messages say that a trouble is there, and neither that it is over nor that it is a wish."""
    return not present.isdisjoint(_TOLD | of_last_trouble()) and not present & (_NOT_LIVE | _wished(present))


def _first(machine: Machine, table: Sequence[Symptom]) -> Remaining | None:
    present = {one.kind for one in machine.messages if one.role == "now"}
    against = present & (speaking_against() - WISHES | _wished(present))
    for symptom in table:
        if present.isdisjoint(symptom.seen) or against - set(symptom.despite):
            continue
        messages = tuple(one for one in said(machine, *symptom.seen) if one.role == "now")
        found = _of_symptom(machine, symptom, messages)
        if found or (found is not None and not symptom.answers):
            return Remaining(symptom, found)
    return None


def _wished(present: AbstractSet[str]) -> frozenset[str]:
    """The kinds of a wish, which count where the writer tells of no trouble of the own GPU."""
    return WISHES if OWN_TROUBLE not in present else frozenset()


def _of_symptom(machine: Machine, symptom: Symptom, messages: tuple[Message, ...]) -> tuple[Applied, ...] | None:
    """The causes of a symptom that hold; None where the symptom itself does not."""
    related = (*messages, *(said(machine, *symptom.when.every, *symptom.when.together)))
    values = {**named(machine), **values_of(machine, related)}
    if not messages or not holds(symptom.when, machine, values):
        return None
    by_cause: dict[str, Applied] = {}
    for one in symptom.answers:
        if one.cause not in by_cause and holds(one.when, machine, values) and filled(one, values):
            by_cause[one.cause] = Applied(symptom.name, one, messages, values)
    return tuple(by_cause.values())[:MOST]


def telling_apart(machine: Machine, causes: Sequence[str]) -> tuple[NextStep, ...]:
    """The commands that tell open causes apart: those of the symptom, and one for each cause that they do not show.

    Without causes those that tell what the trouble is that the text complains of; none where it complains of none.
    """
    found = remaining(machine) if causes else None
    found = found or last_resort(machine)
    if found is not None and not causes:
        return tuple(_asked(one) for one in found.symptom.questions) if not found.symptom.answers else ()
    steps = []
    for one in found.symptom.questions if found is not None else ():
        outcomes = tuple(StepOutcome(shows, cause) for shows, cause in one.outcomes if cause in causes or not cause)
        if any(each.cause for each in outcomes):
            steps.append(NextStep(shell_of_table(one.command), one.why, outcomes=outcomes))
    told = {each.cause for step in steps for each in step.outcomes}
    return (*steps, *marks([one for one in causes if one not in told]))


def _asked(one: SymptomQuestion) -> NextStep:
    outcomes = tuple(StepOutcome(shows, cause) for shows, cause in one.outcomes)
    return NextStep(shell_of_table(one.command), one.why, outcomes=outcomes)


def marks(causes: Sequence[str]) -> tuple[NextStep, ...]:
    """For each of some causes the command that shows it."""
    known = remaining_causes()
    return tuple(
        NextStep(shell_of_table(known[one].command), known[one].why, outcomes=(StepOutcome(known[one].shows, one),))
        for one in causes
        if one in known
    )

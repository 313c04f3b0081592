"""Which symptom a pasted text tells of, and which causes remain for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rocdoctor.insight.texts.answers import Applied, filled, holds, values_of
from rocdoctor.insight.texts.named_things import named
from rocdoctor.insight.texts.pasted import said
from rocdoctor.knowledge.messages.open_symptoms import Symptom, speaking_against, symptoms
from rocdoctor.knowledge.messages.remaining import remaining_causes
from rocdoctor.model.facts import Machine, Message
from rocdoctor.model.finding import NextStep, StepOutcome
from rocdoctor.model.shell_command import shell_of_table

MOST = 3  # causes of one symptom


@dataclass(frozen=True, slots=True)
class Remaining:
    """A symptom that the text tells of, and the causes that remain, the most probable first."""

    symptom: Symptom
    causes: tuple[Applied, ...]


def remaining(machine: Machine) -> Remaining | None:
    """The first symptom of the table that holds and leaves causes; None where there is none."""
    if not machine.messages:
        return None
    present = {one.kind for one in machine.messages if one.role == "now"}
    against = present & speaking_against()
    for symptom in symptoms():
        if present.isdisjoint(symptom.seen) or against - set(symptom.despite):
            continue
        messages = tuple(one for one in said(machine, *symptom.seen) if one.role == "now")
        found = _of_symptom(machine, symptom, messages)
        if found:
            return Remaining(symptom, found)
    return None


def _of_symptom(machine: Machine, symptom: Symptom, messages: tuple[Message, ...]) -> tuple[Applied, ...]:
    related = (*messages, *(said(machine, *symptom.when.every, *symptom.when.together)))
    values = {**named(machine), **values_of(machine, related)}
    if not messages or not holds(symptom.when, machine, values):
        return ()
    by_cause: dict[str, Applied] = {}
    for one in symptom.answers:
        if one.cause not in by_cause and holds(one.when, machine, values) and filled(one, values):
            by_cause[one.cause] = Applied(symptom.name, one, messages, values)
    return tuple(by_cause.values())[:MOST]


def telling_apart(machine: Machine, causes: Sequence[str]) -> tuple[NextStep, ...]:
    """The commands that tell open causes apart: those of the symptom, and one for each cause that they do not show."""
    found = remaining(machine)
    steps = []
    for one in found.symptom.questions if found is not None else ():
        outcomes = tuple(StepOutcome(shows, cause) for shows, cause in one.outcomes if cause in causes or not cause)
        if any(each.cause for each in outcomes):
            steps.append(NextStep(shell_of_table(one.command), one.why, outcomes=outcomes))
    told = {each.cause for step in steps for each in step.outcomes}
    return (*steps, *marks([one for one in causes if one not in told]))


def marks(causes: Sequence[str]) -> tuple[NextStep, ...]:
    """For each of some causes the command that shows it."""
    known = remaining_causes()
    return tuple(
        NextStep(shell_of_table(known[one].command), known[one].why, outcomes=(StepOutcome(known[one].shows, one),))
        for one in causes
        if one in known
    )

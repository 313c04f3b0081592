"""What the writer of a text tells: comparisons, and where nothing surer is known what is described and named."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rocdoctor.insight.texts.answers import Applied, holds, values_of
from rocdoctor.insight.texts.likeness import answer_for
from rocdoctor.insight.texts.named_things import named
from rocdoctor.insight.texts.pasted import said
from rocdoctor.knowledge.messages.answers import MessageAnswer
from rocdoctor.knowledge.messages.open_symptoms import speaking_against
from rocdoctor.knowledge.messages.told import NAMED, ToldAnswer, ToldKind, told_kinds, told_topics
from rocdoctor.model.facts import Machine, Message

MOST = 3  # causes
_DESCRIBED = 4.0  # what a description counts, against the weights of what is named
_LEAST = 3.5
_BESIDE = 0.6  # of the score of the first cause: others are named too
# A comparison speaks for itself, but in a wish.
_WISHES = frozenset(("sign-of-wish", "prose-is-request"))
# Wordings that speak against the machine in reports of one kind alone.
_LOOSE = frozenset(("prose-hang-in-code", "prose-hang-needs-option", "not-a-cluster-problem"))


@dataclass(frozen=True, slots=True)
class ToldCause:
    """A cause that statements point to; ``decides``: they compare two conditions."""

    applied: Applied
    decides: bool


def told_causes(machine: Machine) -> tuple[ToldCause, ...]:
    """At most three causes, each once: of comparisons if there are some, else by all that is described and named."""
    present = {one.kind for one in machine.messages if one.role == "now"}
    kinds = [one for one in told_kinds() if one.kind in present]
    found: dict[str, ToldCause] = {}
    for kind in kinds:
        if kind.decides and not present & _WISHES - set(kind.despite):
            for one in _of_kind(machine, kind)[:1]:
                found.setdefault(one.answer.cause, ToldCause(one, True))
    return tuple(found.values())[:MOST] or _weighed(machine, kinds, present)


def _weighed(machine: Machine, kinds: list[ToldKind], present: set[str]) -> tuple[ToldCause, ...]:
    against = present & speaking_against() - _LOOSE
    described: dict[str, Applied] = {}
    for kind in kinds:
        if not kind.decides and not against - set(kind.despite):
            for one in _of_kind(machine, kind):
                described.setdefault(one.answer.cause, one)
    if against and not described:
        return ()
    scores = {
        cause: sum(weight for name, weight in weights.items() if NAMED + name in present)
        + (_DESCRIBED if cause in described else 0)
        for cause, weights in told_topics().items()
    }
    ranked = sorted((cause for cause, score in scores.items() if score >= _LEAST), key=lambda one: -scores[one])
    near = [cause for cause in ranked if scores[cause] >= _BESIDE * scores[ranked[0]]][:MOST]
    made = (described.get(cause) or _general(machine, ToldAnswer(cause), _names(machine, cause)) for cause in near)
    return tuple(ToldCause(one, False) for one in made if one is not None)


def _names(machine: Machine, cause: str) -> tuple[Message, ...]:
    """The sentences that name what speaks for a cause, the weightiest first."""
    weights = told_topics()[cause]
    return tuple(
        said(machine, NAMED + name)[0]
        for name in sorted(weights, key=lambda one: -weights[one])
        if said(machine, NAMED + name)
    )


def _of_kind(machine: Machine, kind: ToldKind) -> list[Applied]:
    messages = said(machine, kind.kind)
    values = {**named(machine), **values_of(machine, messages)}
    return list(_made(machine, kind, messages, values))


def _made(machine: Machine, kind: ToldKind, messages: tuple[Message, ...], values: dict[str, str]) -> Iterator[Applied]:
    for told in kind.answers:
        if not holds(told.when, machine, values):
            continue
        if told.text:
            answer = MessageAnswer(
                told.cause, told.text, told.fix, "possible", explains=told.explains, finer=told.finer
            )
            yield Applied(kind.kind, answer, messages, values)
        elif (general := _general(machine, told, messages)) is not None:
            yield general


def _general(machine: Machine, told: ToldAnswer, messages: tuple[Message, ...]) -> Applied | None:
    """What is said of a cause in general words."""
    general = answer_for(machine, told.cause)
    if general is None:
        return None
    one = general.answer
    answer = MessageAnswer(
        told.cause,
        one.text,
        one.fix,
        "possible",
        one.severity,
        one.command,
        one.verify,
        one.safety,
        told.explains,
        told.finer,
    )
    return Applied(told.cause, answer, messages, {**general.values, **values_of(machine, messages)})

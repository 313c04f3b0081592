"""What the writer of a text compares in words, and the causes that it points to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rocdoctor.insight.texts.answers import Applied, holds, values_of
from rocdoctor.insight.texts.likeness import answer_for
from rocdoctor.insight.texts.named_things import named
from rocdoctor.insight.texts.pasted import said
from rocdoctor.knowledge.messages.told import ToldKind, told_kinds
from rocdoctor.model.facts import Machine

MOST = 3  # causes
# A comparison speaks for itself, but in a wish.
_WISHES = frozenset(("sign-of-wish", "prose-is-request"))


def told_causes(machine: Machine) -> tuple[Applied, ...]:
    """At most three causes that comparisons point to, each once."""
    present = {one.kind for one in machine.messages if one.role == "now"}
    found: dict[str, Applied] = {}
    for kind in told_kinds() if present else ():
        if kind.kind in present and not present & _WISHES - set(kind.despite):
            one = next(_of_kind(machine, kind), None)
            if one is not None:
                found.setdefault(one.answer.cause, one)
    return tuple(found.values())[:MOST]


def _of_kind(machine: Machine, kind: ToldKind) -> Iterator[Applied]:
    """The answers of a kind that hold: its own sentence, with its own or the general way out of its cause."""
    messages = said(machine, kind.kind)
    values = {**named(machine), **values_of(machine, messages)}
    for told in kind.answers:
        general = answer_for(machine, told.cause) if holds(told.when, machine, values) else None
        if general is not None:
            answer = replace(
                general.answer,
                text=told.text or general.answer.text,
                explains=told.explains,
                fix=told.fix or general.answer.fix,
                command=told.command or general.answer.command,
                confidence="possible",
                severity="info" if general.answer.severity == "info" else "warning",
            )
            yield Applied(kind.kind, answer, messages, {**general.values, **values})

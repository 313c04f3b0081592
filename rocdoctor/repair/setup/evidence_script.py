"""A plan made from evidence, as a script that its reader may run: nothing that the evidence names is started by it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from rocdoctor.repair.setup.command_lines import PYTHON
from rocdoctor.repair.setup.plan import Action, SetupPlan
from rocdoctor.repair.setup.script_guards import joined_groups
from rocdoctor.repair.setup.torch_environment import NEW


def for_reader(plan: SetupPlan, python: str | None) -> tuple[SetupPlan, str]:
    """The plan for whoever runs its script, and the interpreter of the evidence that it must be told a stand-in for.

    ``python``: the interpreter that the reader chose; without one the script asks for it in the variable PYTHON. The
    person who joins groups is the one who runs the script. "" where the plan starts no interpreter of the evidence.
    """
    named = [name for step in plan.steps for one in step.actions if (name := _foreign(one))]
    foreign = next(iter(named), "")
    into = python or PYTHON
    steps = tuple(
        replace(
            step, actions=_own(step.actions, into), undo=_own(step.undo, into), proof=_proof(step.proof, into, named)
        )
        if step.state != "done"
        else step
        for step in plan.steps
    )
    return replace(plan, steps=steps), "" if python else foreign


def _foreign(action: Action) -> str:
    """The program of an action where it is a path, and not of the environment that the plan makes itself."""
    program = action.words[0] if action.words else ""
    return program if "/" in program and program != f"{NEW}/bin/python" else ""


def _proof(words: tuple[str, ...], python: str, foreign: Collection[str]) -> tuple[str, ...]:
    """What proves a step, by the reader's interpreter in place of one of these."""
    at = next((place for place, word in enumerate(words) if word != "env" and "=" not in word), 0)
    return (*words[:at], python, *words[at + 1 :]) if words[at:] and words[at] in foreign else words


def _own(actions: Iterable[Action], python: str) -> tuple[Action, ...]:
    return tuple(_with_user(replace(one, words=(python, *one.words[1:])) if _foreign(one) else one) for one in actions)


def _with_user(action: Action) -> Action:
    joins = joined_groups(action)
    if joins is None:
        return action
    return replace(action, words=tuple("$USER" if word == joins[0] else word for word in action.words))

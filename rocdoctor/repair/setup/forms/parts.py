"""What the forms of a plan share: where it comes from, and what becomes of each step where nobody sits before it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from rocdoctor.model.evidence import value_or
from rocdoctor.model.facts import Machine
from rocdoctor.repair.setup.command_lines import is_ready, typed
from rocdoctor.repair.setup.plan import SetupPlan, Step
from rocdoctor.repair.setup.script_guards import ends_session, is_by_hand
from rocdoctor.repair.setup.words import RISK_WORDS, number, source_words, verify_words
from rocdoctor.train.emit.files import comment, plain

# done: nothing to do. look: a command of ours, whose result decides nothing here. restart: the machine starts anew.
# person: left to somebody. no-way: no source names one. run: its commands can be run where nobody answers.
Fate = Literal["done", "look", "restart", "person", "no-way", "run"]


class CannotExpress(Exception):
    """The plan has no form of this kind; the message says why, and what has."""


@dataclass(frozen=True, slots=True)
class PlanOrigin:
    """The machine of a plan: what it was read from, and the system that its commands are for.

    ``name`` tells machines apart (the file that was read). ``root``: the plan was made for the user root. ``foreign``
    is an interpreter of the evidence that the reader's own one stands for.
    """

    subject: str
    root: bool
    name: str = ""
    foreign: str = ""
    os_id: str = ""
    os_version: str = ""
    os_words: str = ""
    gpus: str = ""


def origin(machine: Machine, subject: str, root: bool, name: str = "", foreign: str = "") -> PlanOrigin:
    """The origin of a plan that was made of these facts."""
    os, found = machine.os, [gpu.name for gpu in machine.gpus if gpu.vendor in ("amd", "nvidia")]
    names = [plain(value_or(one, "")) or "a GPU" for one in found]
    counted = [f"{names.count(one)}x {one}" for one in dict.fromkeys(names)]
    return PlanOrigin(
        subject,
        root,
        name,
        foreign,
        plain(value_or(os.id, "")),
        plain(value_or(os.version_id, "")),
        plain(value_or(os.pretty_name, "")),
        ", ".join(counted),
    )


def fate(plan: SetupPlan, step: Step) -> Fate:
    """What becomes of a step where nobody sits before the machine: as in the script of the plan."""
    if step.state == "done":
        return "done"
    if step.actions and all(ends_session(one) for one in step.actions):
        return "restart"
    if step.state == "impossible":
        return "no-way"
    if step.actions and all(one.words[:1] == ("rocdoctor",) for one in step.actions):
        return "look"
    by_hand = step.risk == "manual" or not all(is_ready(one) and not is_by_hand(one) for one in step.actions)
    if by_hand or not step.actions or step.state == "unknown":
        # What waits for a step before it, a start or a login is judged anew after that.
        return "look" if step.state == "waiting" and not step.actions and not step.handed_to else "person"
    return "run"


def reasons(plan: SetupPlan, step: Step) -> Iterator[str]:
    """The sentences that stand above a step in any file: what it is, why, who supports it, who says so."""
    title = f"Step {number(plan, step)} of {len(plan.steps)}: {plain(step.title)}"
    if step.state == "done":
        shown = "; ".join(plain(one.value) for one in step.evidence[:3])
        yield f"{title}. It was done{': ' + shown if shown else ''}."
        return
    yield title
    yield step.why
    if step.support:
        yield f"Support: {step.support}"
    yield from (f"Source: {one}" for one in source_words(step))


def about(plan: SetupPlan, step: Step, verified: bool = False) -> Iterator[str]:
    """The reasons, and for a file that changes a machine what the step risks, how to verify and to undo it.

    ``verified``: the file does that itself.
    """
    yield from reasons(plan, step)
    if step.state == "done":
        return
    yield f"Risk: {RISK_WORDS[step.risk]}{'; not needed for the goal' if step.optional else ''}."
    yield from (f"Note: {one}" for one in step.notes)
    yield from (f"Undo: {one}" for one in typed(step.undo, sudo=True))
    command, shows = verify_words(step)
    if command and not verified:
        yield f"To verify: {command}{f'   ({shows})' if shows else ''}"


def comments(plan: SetupPlan, step: Step, indent: str = "", verified: bool = False) -> list[str]:
    """The lines of ``about`` as comments."""
    return [line for told in about(plan, step, verified) for line in comment(told, indent=indent)]


def left_to_a_person(plan: SetupPlan) -> list[Step]:
    """The steps that somebody has to do beside the file."""
    return [step for step in plan.steps if fate(plan, step) == "person" and not step.optional]


def what_is_left(step: Step) -> str:
    """What a person has to do for a step, in one sentence."""
    told = [plain(step.why), *(plain(one) for one in step.notes[:2])]
    typed_ = "; ".join(typed(step.actions, sudo=True))
    return " ".join([*told, f"Type: {plain(typed_)}" if typed_ else ""]).strip()

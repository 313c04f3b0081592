"""A set-up plan as a document: what to do next, then every step with its state in words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from rocdoctor.knowledge import install
from rocdoctor.model.printable import clean, one_line
from rocdoctor.repair.setup.command_lines import commands, tokens_of
from rocdoctor.repair.setup.plan import Action, SetupPlan, Step
from rocdoctor.repair.setup.words import (
    EFFECT_WORDS,
    GOAL_WORDS,
    RISK_WORDS,
    cost_words,
    headline,
    left,
    notes,
    number,
    sources,
    state_words,
    verify_words,
    waits_for,
)
from rocdoctor.report.document import (
    GAP,
    Block,
    Code,
    CommandLines,
    Fixed,
    Para,
    Row,
    Stage,
    Table,
    Title,
    Tokens,
    Words,
)
from rocdoctor.report.evidence_words import evidence_place
from rocdoctor.report.machine.summary import HEAD

_COLOURS = {"now": "1", "to do": "1", "done": "32", "no way": "31;1", "unknown": "33", "waiting": ""}
_SHORT = 64  # columns that stand beside "verify" on any terminal
_OF_DONE = ("why", "support", "note", "verify", "source")


def document(
    plan: SetupPlan,
    machine: Iterable[str] = (),
    *,
    sudo: bool = True,
    quiet: bool = False,
    verbose: bool = False,
    only: int | None = None,
) -> Iterator[Block]:
    """What to do next, then a line for each step; ``machine`` are lines about the machine.

    ``quiet`` leaves what to do next; ``verbose`` has all that is known of every step, ``only`` of one, by its number.
    ``sudo``: commands that need privileges ask for them.
    """
    yield Title(f"Setup for {GOAL_WORDS[plan.goal]}")
    if only is not None:
        yield from step_blocks(plan, plan.steps[only - 1], sudo=sudo, verbose=True, whole=True)
        return
    yield from _head(plan, sudo)
    if quiet:
        return
    yield GAP
    yield Row("goal", "; ".join([GOAL_WORDS[plan.goal], *cost_words(left(plan))]), column=HEAD + 1)
    yield Fixed(tuple(machine), " " * (HEAD + 1))
    for note in plan.notes:
        yield Row("note", one_line(note), column=HEAD + 1)
    if verbose:
        yield from _whole(plan, sudo)
    else:
        yield from _lines(plan)


def _whole(plan: SetupPlan, sudo: bool) -> Iterator[Block]:
    """All that is known of every step."""
    steps = tuple((str(number(plan, one)), one_line(one.title), state_words(plan, one)) for one in plan.steps)
    yield Table(("", "step", "state"), steps)
    before = ""
    for step in plan.steps:
        if (before, step.state) != ("done", "done"):
            yield GAP
        yield from step_blocks(plan, step, sudo=sudo, verbose=True)
        before = step.state
    if plan.steps:
        yield GAP
        yield Para(f"The facts are from {install.tables_day()}. What was not clear then:", "", "  ")
        yield from (Para(one, "  ", "    ") for one in install.not_settled())


def _lines(plan: SetupPlan) -> Iterator[Block]:
    """A line for each step that the goal needs, what speaks against one that is done, and the others in a sentence."""
    yield GAP
    figures = len(str(len(plan.steps)))
    for step in plan.steps:
        if step.optional and step.state != "done" and step is not plan.next:
            continue
        state = state_words(plan, step)
        title, cost = one_line(step.title), cost_words([step]) if step.state in ("todo", "waiting") else []
        words = f"{title}: {', '.join(cost)}" if cost and step.id != "restart" else title
        yield Stage(number(plan, step), figures, state, _COLOURS.get(state, ""), words)
        for told in _caveats(step) if step.state == "done" else _against(step):
            yield Row("but", told, " " * (figures + 2))
    folded = [one for one in plan.steps if one.optional and one.state != "done" and one is not plan.next]
    if folded:
        named = ", ".join(f"{number(plan, one)} ({one_line(one.title)})" for one in folded)
        yield GAP
        yield Para(f"Not needed for the goal: {named}.", "", "  ")
    if plan.steps:
        yield Para(
            "For a step's reason, commands, risk and undo: rocdoctor setup --step N; for all steps: --verbose", "", "  "
        )
        newest = install.streams()[0].rocm
        yield Para(f"The facts are from {install.tables_day()}, when ROCm {newest} was the newest.", "", "  ")


def _against(step: Step) -> list[str]:
    """What is to be known before a step is done, in short."""
    risky = ["It is risky: read it first."] if step.risk == "risky" and step.state in ("todo", "waiting") else []
    return [*risky, *_first_sentence(step.support)]


def _first_sentence(text: str) -> list[str]:
    """What speaks against a step that is to be done, in short; the rest stands with the step."""
    found = re.split(r"(?<=[a-z)\]0-9])[.;] ", one_line(text), maxsplit=1)[0].rstrip(".")
    return [f"{found}."] if found else []


def _caveats(step: Step) -> list[str]:
    """What is to be known of a step although it is done."""
    told = step.notes if step.layer == "prove" else ()
    return [one_line(one) for one in (step.support, *told) if one]


def _head(plan: SetupPlan, sudo: bool) -> Iterator[Block]:
    said = headline(plan)
    yield Para(said.text, bold=True)
    if said.step is not None and said.step.state == "todo":
        yield CommandLines(_tokens(said.step.actions, sudo), indent="    ")
        if not said.step.actions:
            for one in notes(plan, said.step) or [one_line(said.step.why)]:
                yield Para(one, "    ", "      ")
    for one in said.more:
        yield Para(one_line(one), "  ")


def _tokens(actions: Iterable[Action], sudo: bool) -> tuple[Tokens, ...]:
    return tuple(tokens for action in actions for tokens in commands(action, sudo))


def step_blocks(plan: SetupPlan, step: Step, *, sudo: bool, verbose: bool, whole: bool = False) -> Iterator[Block]:
    """One step; ``whole``: what there is to say of it also where it is done."""
    figures, state = len(str(len(plan.steps))), state_words(plan, step)
    indent = " " * (figures + 2)
    done = step.state == "done"
    found = tuple((one_line(one.value), evidence_place(one)) for one in step.evidence) if done else ()
    yield Stage(number(plan, step), figures, state, _COLOURS.get(state, ""), one_line(step.title), found, verbose)
    if done and not whole:
        yield from (Row("but", told, indent) for told in _caveats(step))
        return
    for label, words in _details(plan, step, verbose):
        if label == "run":
            if not done:
                yield CommandLines(_tokens(step.actions, sudo), "run", indent, 9)
        elif label == "verify":
            yield from _verify(step, indent)
        elif words and (not done or label in _OF_DONE):
            yield Row(label, words, indent)
    if not done:
        yield CommandLines(_tokens(step.undo, sudo), "undo", indent, 9)


def _verify(step: Step, indent: str) -> Iterator[Block]:
    """The command by itself where a line is too short for it and for what it shows."""
    command, about = verify_words(step)
    if not command:
        return
    if len(command) + len(about) < _SHORT:
        yield Row("verify", (Code(clean(command)), f"   ({about})" if about else ""), indent)
    else:
        yield CommandLines((tokens_of(clean(command)),), "verify", indent, 9)
        yield Row("", f"({about})" if about else "", indent)


def _details(plan: SetupPlan, step: Step, verbose: bool) -> Iterator[tuple[str, Words]]:
    """(label, words) of what there is to say of a step; its commands stand at "run"."""
    yield "why", one_line(step.why)
    if step.state == "waiting":
        yield "waits", waits_for(plan, step).removeprefix("waits ")
    yield "run", ""
    yield "changes", ", ".join(one_line(one) for one in step.changes)
    if step.actions or step.state == "todo":
        after = EFFECT_WORDS[step.effective]
        risk = RISK_WORDS[step.risk] + (f"; takes effect {after}" if after else "")
        yield "risk", risk + ("; not needed for the goal" if step.optional else "")
    yield "support", one_line(step.support)
    yield "takes", ", ".join(cost_words([step])) if step.state in ("todo", "waiting") and step.id != "restart" else ""
    yield from (("note", note) for note in notes(plan, step))
    yield "verify", ""
    if verbose:
        for one in step.evidence:
            place = evidence_place(one)
            yield "from", (Code(one_line(one.value)), *((" (", Code(place), ")") if place else ()))
        yield from (("source", f"{what} ({kind})" if kind else what) for what, kind in sources(step))

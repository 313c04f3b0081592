"""A set-up plan as a guide in markdown, to follow or to post."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rocdoctor.model.printable import clean, one_line
from rocdoctor.repair.setup.command_lines import typed
from rocdoctor.repair.setup.plan import Action, SetupPlan, Step
from rocdoctor.repair.setup.words import (
    EFFECT_WORDS,
    GOAL_WORDS,
    RISK_WORDS,
    headline,
    notes,
    number,
    source_words,
    state_words,
    verify_words,
    waits_for,
)
from rocdoctor.report.diagnosis.markdown import code, inline, plain
from rocdoctor.report.diagnosis.text import evidence_place


def render(plan: SetupPlan, machine: Iterable[str] = (), sudo: bool = True) -> str:
    """The guide; ``machine`` are lines about the machine, ``sudo``: commands that need privileges ask for them."""
    said = headline(plan)
    lines = [f"## Set-up for {GOAL_WORDS[plan.goal]}", "", f"**{plain(said.text)}**", ""]
    lines += [f"{plain(one)}\n" for one in said.more]
    lines += _fence([one_line(line) for line in machine], "text")
    lines += [f"> {plain(note)}\n" for note in plan.notes]
    if plan.steps:
        lines += ["| | step | state |", "| --- | --- | --- |"]
        lines += [f"| {number(plan, step)} | {plain(step.title)} | {state_words(plan, step)} |" for step in plan.steps]
        lines.append("")
    for step in plan.steps:
        lines += _step(plan, step, sudo)
    return "\n".join(lines).rstrip() + "\n"


def _step(plan: SetupPlan, step: Step, sudo: bool) -> list[str]:
    lines = [f"### {number(plan, step)}. {plain(step.title)} ({state_words(plan, step)})", ""]
    if step.state == "done":
        return [*lines, *_evidence(step)]
    lines += [plain(step.why), ""] if step.why else []
    lines += _evidence(step)
    waits = waits_for(plan, step) if step.state == "waiting" else ""
    lines += [f"It {plain(waits)}.", ""] if waits else []
    lines += [f"Support: {plain(step.support)}", ""] if step.support else []
    lines += _commands(step.actions, sudo)
    after = EFFECT_WORDS[step.effective]
    if step.actions or step.state == "todo":
        lines.append(
            f"- Risk: {RISK_WORDS[step.risk]}"
            + (f"; takes effect {after}" if after else "")
            + ("; not needed for the goal" if step.optional else "")
        )
    lines += [f"- Changes: {', '.join(inline(one) for one in step.changes)}"] if step.changes else []
    command, about = verify_words(step)
    lines += [f"- Verify: {inline(command)}" + (f" ({plain(about)})" if about else "")] if command else []
    lines += [f"- Note: {plain(note)}" for note in notes(plan, step)]
    lines += [f"- Source: {plain(one)} ({step.kind})" for one in source_words(step)]
    lines.append("")
    if step.undo:
        lines += ["To undo it:", "", *_commands(step.undo, sudo)]
    return lines


def _evidence(step: Step) -> list[str]:
    shown = [
        f"- {inline(one.value or '(empty)')}" + (f" from {inline(place)}" if (place := evidence_place(one)) else "")
        for one in step.evidence
    ]
    return [*shown, ""] if shown else []


def _commands(actions: Iterable[Action], sudo: bool) -> list[str]:
    return _fence(typed(actions, sudo), "sh")


def _fence(lines: list[str], language: str) -> list[str]:
    """A block of code. Commands keep their backquotes inside a longer fence, so nothing inside ends it."""
    if not lines:
        return []
    shown = [clean(line) if language == "sh" else code(line) for line in lines]
    fence = "`" * max(3, 1 + max((len(run) for line in shown for run in re.findall("`+", line)), default=0))
    return [f"{fence}{language}", *shown, fence, ""]

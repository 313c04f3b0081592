"""A set-up plan for a terminal: what to do next, then every step with its state in words."""

from __future__ import annotations

from collections.abc import Iterable

from rocdoctor.model.printable import clean, one_line
from rocdoctor.repair.setup.command_lines import broken, commands
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
from rocdoctor.report.diagnosis.text import Style, evidence_place, wrap
from rocdoctor.report.machine.summary import HEAD

_LABEL = 9  # columns of "changes" and what follows it
_COLOURS = {"now": "1", "to do": "1", "done": "32", "no way": "31;1", "unknown": "33", "waiting": ""}
_MAX_EVIDENCE = 3


def render(
    plan: SetupPlan,
    machine: Iterable[str] = (),
    *,
    width: int = 100,
    sudo: bool = True,
    colour: bool = False,
    quiet: bool = False,
    verbose: bool = False,
) -> str:
    """The whole plan; ``machine`` are lines about the machine, ``quiet`` leaves what to do next, ``verbose`` adds
    sources and the evidence of open steps. ``sudo``: commands that need privileges ask for them."""
    style = Style(colour)
    lines = _head(plan, width, sudo, style)
    if quiet:
        return "\n".join(lines) + "\n"
    lines.append("")
    lines += wrap(f"{'goal':<{HEAD}} {GOAL_WORDS[plan.goal]}", width, "", " " * (HEAD + 1))
    for line in machine:
        lines += wrap(line, width, "", " " * (HEAD + 1))
    for note in plan.notes:
        lines += wrap(one_line(note), width, f"{'note':<{HEAD}} ", " " * (HEAD + 1))
    figures = len(str(len(plan.steps)))
    short = True
    for step in plan.steps:
        block = _step(plan, step, figures, width, sudo, verbose, style)
        if not (short and step.state == "done" and lines[-1]) or step is plan.steps[0]:
            lines.append("")
        short = step.state == "done"
        lines += block
    return "\n".join(lines).rstrip() + "\n"


def _head(plan: SetupPlan, width: int, sudo: bool, style: Style) -> list[str]:
    said = headline(plan)
    lines = [style(line, "1") for line in wrap(said.text, width, "")]
    if said.step is not None and said.step.state == "todo":
        lines += _commands(said.step.actions, width, sudo, "    ", "      ")
        if not said.step.actions:
            for one in notes(plan, said.step) or [one_line(said.step.why)]:
                lines += wrap(one, width, "    ", "      ")
    for one in said.more:
        lines += wrap(one_line(one), width, "  ")
    return lines


def _commands(actions: Iterable[Action], width: int, sudo: bool, indent: str, hang: str) -> list[str]:
    return [
        clean(line)
        for action in actions
        for tokens in commands(action, sudo)
        for line in broken(tokens, width, indent, hang)
    ]


def step_lines(plan: SetupPlan, step: Step, width: int, sudo: bool) -> list[str]:
    """One step in full, evidence and sources too."""
    lines = _step(plan, step, len(str(len(plan.steps))), width, sudo, True, Style(False))
    if step.state != "done":
        return lines
    indent = " " * (len(str(len(plan.steps))) + 2)
    rows = [row for row in _details(plan, step, True) if row[0] in ("why", "support", "note", "verify", "source")]
    for label, text in rows:
        lines += wrap(text, width, f"{indent}{label:<{_LABEL}}", indent + " " * _LABEL)
    return lines


def _step(plan: SetupPlan, step: Step, figures: int, width: int, sudo: bool, verbose: bool, style: Style) -> list[str]:
    state = state_words(plan, step)
    front = f"{number(plan, step):>{figures}}  {state:<7}  "
    indent = " " * (figures + 2)
    title = one_line(step.title)
    if step.state == "done":
        lines = wrap(_fulfilled(step, title, width - len(front), verbose), width, front, " " * len(front))
        return [_marked(lines[0], state, style), *lines[1:]]
    lines = wrap(title, width, front, " " * len(front))
    lines = [_marked(lines[0], state, style), *lines[1:]]
    for label, text in _details(plan, step, verbose):
        if label == "run":
            lines += _labelled("run", step.actions, indent, width, sudo)
            continue
        lines += wrap(text, width, f"{indent}{label:<{_LABEL}}", indent + " " * _LABEL)
    lines += _labelled("undo", step.undo, indent, width, sudo)
    return lines


def _fulfilled(step: Step, title: str, room: int, verbose: bool) -> str:
    """A step that is done: its values and places as far as one line holds them, one at least; all when asked."""
    placed, values = _evidence(step), [one_line(one.value) for one in step.evidence]
    if verbose or not placed:
        return ": ".join(part for part in (title, "; ".join(placed)) if part)
    shorter = ([placed, values] if len(values) <= _MAX_EVIDENCE else []) + [values[:count] for count in (3, 2, 1)]
    texts = [f"{title}: {'; '.join(part)}" for part in shorter]
    return next((text for text in texts if len(text) <= room), texts[-1])


def _labelled(label: str, actions: Iterable[Action], indent: str, width: int, sudo: bool) -> list[str]:
    """Commands beside their label; each further one starts at the same column, its own continuation deeper."""
    inner = indent + " " * _LABEL
    lines = _commands(actions, width, sudo, inner, inner + "  ")
    if lines:
        lines[0] = f"{indent}{label:<{_LABEL}}{lines[0][len(inner) :]}"
    return lines


def _details(plan: SetupPlan, step: Step, verbose: bool) -> list[tuple[str, str]]:
    """(label, text) of what there is to say of an open step, except for its commands."""
    rows = [("why", one_line(step.why))]
    if step.state == "waiting":
        rows.append(("waits", waits_for(plan, step).removeprefix("waits ")))
    rows.append(("run", "run"))
    rows.append(("changes", ", ".join(one_line(one) for one in step.changes)))
    after = EFFECT_WORDS[step.effective]
    risk = RISK_WORDS[step.risk] + (f"; takes effect {after}" if after else "")
    risk += "; not needed for the goal" if step.optional else ""
    rows.append(("risk", risk if step.actions or step.state == "todo" else ""))
    rows.append(("support", one_line(step.support)))
    rows += [("note", note) for note in notes(plan, step)]
    command, about = verify_words(step)
    rows.append(("verify", clean(command) + (f"   ({about})" if about and command else "")))
    if verbose:
        rows += [("from", one) for one in _evidence(step, len(step.evidence))]
        rows += [("source", f"{one} ({step.kind})") for one in source_words(step)]
    return [(label, text) for label, text in rows if text]


def _evidence(step: Step, most: int = _MAX_EVIDENCE) -> list[str]:
    """Values with their places, the first few."""
    return [
        one_line(one.value) + (f" ({place})" if (place := evidence_place(one)) else "") for one in step.evidence[:most]
    ]


def _marked(line: str, state: str, style: Style) -> str:
    """The first line of a step with its state in colour."""
    return line.replace(state, style(state, _COLOURS.get(state, "")), 1)

"""A set-up plan as JSON (``rocdoctor.setup/1``): public, only added to."""

from __future__ import annotations

from typing import Any

from rocdoctor import __version__
from rocdoctor.model.printable import clean
from rocdoctor.repair.setup.command_lines import typed
from rocdoctor.repair.setup.plan import Action, SetupPlan, Step
from rocdoctor.repair.setup.words import all_notes, headline, left, named_sources, number, waits_for

SCHEMA = "rocdoctor.setup/1"


def as_json(plan: SetupPlan, subject: dict[str, str], sudo: bool) -> dict[str, Any]:
    """The plan as plain data; ``next`` is the id of the step to do now, null when none is left."""
    said = headline(plan)
    return {
        "schema": SCHEMA,
        "tool": {"version": __version__},
        "subject": {key: clean(value) for key, value in subject.items()},
        "goal": plan.goal,
        "headline": clean(said.text),
        "finished": plan.finished,
        "left": len(left(plan)),
        "next": plan.next.id if plan.next is not None else None,
        "steps": [_step(plan, step, sudo) for step in plan.steps],
        "notes": [clean(note) for note in plan.notes],
    }


def _step(plan: SetupPlan, step: Step, sudo: bool) -> dict[str, Any]:
    return {
        "id": step.id,
        "number": number(plan, step),
        "layer": step.layer,
        "needs": list(step.needs),
        "optional": step.optional,
        "title": clean(step.title),
        "state": step.state,
        "why": clean(step.why),
        "waits_for": clean(waits_for(plan, step)).removeprefix("waits for ") if step.state == "waiting" else None,
        "evidence": [
            {"source": clean(one.source), "line": one.line, "value": clean(one.value)} for one in step.evidence
        ],
        "actions": [_action(one, sudo) for one in step.actions],
        "changes": [clean(one) for one in step.changes],
        "risk": step.risk,
        "effective": step.effective,
        "verify": None
        if step.verify is None
        else {
            "check": step.verify.check or None,
            "command": clean(step.verify.line),
            "shows": clean(step.verify.shows),
        },
        "undo": [_action(one, sudo) for one in step.undo],
        "support": clean(step.support) or None,
        "notes": [clean(note) for note in all_notes(plan, step)],
        "sources": [{"id": name, "what": what} for name, what, _ in named_sources(step)],
        "table": step.table or None,
        "kind": step.kind,
        "download_gb": step.download_gb,
        "disk_gb": step.disk_gb,
    }


def _action(action: Action, sudo: bool) -> dict[str, Any]:
    """``commands`` are what one would type; ``words`` is null for a file, ``file`` and ``lines`` for a command."""
    return {
        "words": [clean(word) for word in action.words] or None,
        "file": clean(action.file) or None,
        "lines": [clean(line) for line in action.lines] if action.file else None,
        "append": action.append,
        "root": action.root,
        "commands": [clean(line) for line in typed((action,), sudo)],
    }

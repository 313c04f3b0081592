"""Facts and verdicts to a plan: the folder of steps in the order of their layers, and what each waits for."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from types import ModuleType

from rocdoctor.model.finding import Diagnosis
from rocdoctor.repair.setup import steps as folder
from rocdoctor.repair.setup.first_finding import with_first
from rocdoctor.repair.setup.gpus_without_rocm import needless_marked
from rocdoctor.repair.setup.plan import LAYERS, NO_CHOICE, Action, Goal, Layer, ReleaseChoice, SetupPlan, Step, Verify
from rocdoctor.repair.setup.plan_notes import remarks
from rocdoctor.repair.setup.registered import registration_said, with_registration
from rocdoctor.repair.setup.situation import Situation

# One restart for all that needs one: after kernel, driver and key, before what looks at the driver.
_RESTART_AFTER: Layer = "driver"
_AGAIN = "Earlier steps change what this step checks, so run it again after them."


@cache
def _modules() -> tuple[ModuleType, ...]:
    names = sorted(one.name for one in pkgutil.iter_modules(folder.__path__) if not one.name.startswith("_"))
    loaded = [importlib.import_module(f"{folder.__name__}.{name}") for name in names]
    return tuple(sorted(loaded, key=lambda module: (LAYERS.index(module.LAYER), module.__name__)))


def plan(
    diagnosis: Diagnosis, goal: Goal = "pytorch", choice: ReleaseChoice = NO_CHOICE, *, today: str = ""
) -> SetupPlan:
    """The plan of a machine: each step with its state. The same evidence gives the same plan on the same day.

    ``choice`` are releases that somebody wants instead of those that the tables propose; ``today`` is the day by which
    the ends of releases are judged (2026-12-09), "" that of the tables.
    """
    situation = Situation(diagnosis, goal, choice, today)
    found: list[Step] = []
    for module in _modules():
        found += [replace(step, layer=module.LAYER) for step in module.steps(situation)]
    found = with_registration(situation, needless_marked(situation, found))
    told = (*remarks(situation), *registration_said(situation, found))
    found, first = with_first(situation, found)
    judged = _with_states(_with_restart(_in_order(found)))
    # What the goal does not need comes last, so that the numbers of the others follow each other.
    ordered = sorted(judged, key=lambda one: one.optional and one.state != "done")
    return SetupPlan(goal, tuple(ordered), told, first)


def _in_order(found: list[Step]) -> list[Step]:
    """The steps by layer, and within a layer each behind those that it needs."""
    ordered: list[Step] = []
    waiting = list(found)
    while waiting:
        open_ids = {step.id for step in waiting}
        ready = next((step for step in waiting if not open_ids & _needed_here(step, waiting)), waiting[0])
        waiting.remove(ready)
        ordered.append(ready)
    return ordered


def _needed_here(step: Step, others: list[Step]) -> set[str]:
    """The ids of its own layer that a step needs."""
    return {one.id for one in others if one.layer == step.layer and one is not step} & set(step.needs)


def _with_restart(found: list[Step]) -> list[Step]:
    """The steps with one restart behind the last layer that can ask for one, where a step before it does."""
    last = LAYERS.index(_RESTART_AFTER)
    asking = [
        step
        for step in found
        if step.effective == "reboot"
        and step.state in ("todo", "waiting")
        and LAYERS.index(step.layer) <= last
        and (not step.optional or step.state == "waiting")  # advice that was followed
    ]
    if not asking:
        return found
    pending = [step for step in asking if step.state == "todo"]
    reasons = ", ".join(step.title[0].lower() + step.title[1:] for step in asking)
    restart = Step(
        "restart",
        "Restart the machine",
        "waiting" if pending else "todo",
        f"These steps take effect at the next start: {reasons}.",
        actions=(Action(words=("systemctl", "reboot"), root=True),),
        risk="reboots",
        effective="reboot",
        verify=Verify(command="uname -r", shows="the kernel that was started"),
        layer=_RESTART_AFTER,
        optional=all(step.optional for step in asking),
    )
    at = next((number for number, step in enumerate(found) if LAYERS.index(step.layer) > last), len(found))
    groups = [step for step in found[at:] if _joins_before(step)]
    return [*found[:at], *groups, restart, *(step for step in found[at:] if step not in groups)]


def _joins_before(step: Step) -> bool:
    """Whether a restart is the new login that a step asks for, so that it is done before: one restart serves both."""
    return step.layer == "access" and step.state == "todo" and step.effective == "new-login" and not step.optional


def _with_states(found: list[Step]) -> Iterable[Step]:
    """A step to do waits for a step that it needs, unless that one takes effect as soon as it is done.

    A proof is of the machine as it is: it counts once nothing before it is left.
    """
    by_name: dict[str, list[Step]] = {}
    before: Step | None = None
    for step in found:
        waits = [one for name in step.needs for one in by_name.get(name, ()) if _holds_up(one)]
        hopeless = next((one for one in waits if one.state == "impossible"), None)
        if step.state == "todo" and hopeless is not None:
            step = replace(step, state="impossible", actions=(), waits_for=hopeless.id)
        elif step.state == "todo" and waits:
            step = replace(step, state="waiting", waits_for=waits[0].id)
        elif step.state == "done" and step.layer == "prove" and before is not None:
            step = replace(step, state="waiting", waits_for=before.id, needs=(before.id,), why=f"{step.why} {_AGAIN}")
        if step.layer != "prove" and not step.optional and step.state in ("todo", "waiting", "unknown"):
            before = step
        for name in (step.id, step.layer):
            by_name.setdefault(name, []).append(step)
        yield step


def _holds_up(step: Step) -> bool:
    """Whether what needs this step cannot follow it at once, in one go."""
    if step.state == "done" or step.optional:
        return False
    return step.state != "todo" or step.effective != "now" or step.risk == "manual"

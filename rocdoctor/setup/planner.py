"""Facts and verdicts to a plan: the folder of steps in the order of their layers."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import replace
from functools import cache
from types import ModuleType

from rocdoctor.diagnose import Diagnosis
from rocdoctor.setup import steps as folder
from rocdoctor.setup.plan import LAYERS, Goal, SetupPlan, Step
from rocdoctor.setup.situation import Situation


@cache
def _modules() -> tuple[ModuleType, ...]:
    names = sorted(one.name for one in pkgutil.iter_modules(folder.__path__) if not one.name.startswith("_"))
    loaded = [importlib.import_module(f"{folder.__name__}.{name}") for name in names]
    return tuple(sorted(loaded, key=lambda module: (LAYERS.index(module.LAYER), module.__name__)))


def plan(diagnosis: Diagnosis, goal: Goal = "pytorch") -> SetupPlan:
    """The plan of a machine: each step with its state. The same evidence gives the same plan."""
    situation = Situation(diagnosis, goal)
    found: list[Step] = []
    for module in _modules():
        found += [replace(step, layer=module.LAYER) for step in module.steps(situation)]
    return SetupPlan(goal, tuple(_in_order(found)))


def _in_order(found: list[Step]) -> list[Step]:
    """A step above one that is still to be done waits for it."""
    blocked: Step | None = None
    ordered: list[Step] = []
    for step in found:
        waits = blocked is not None and step.state == "todo" and blocked.layer != step.layer
        ordered.append(replace(step, state="waiting") if waits else step)
        if blocked is None and step.state in ("todo", "waiting", "impossible") and step.effective != "now":
            blocked = step
    return ordered

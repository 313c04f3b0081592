"""The plan of a container's image for a machine: what torch needs beside the driver, from nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rocdoctor.knowledge import install
from rocdoctor.model.evidence import Known, Source
from rocdoctor.model.facts import Machine, TorchBuild
from rocdoctor.repair.setup.plan import Goal, SetupPlan, Step
from rocdoctor.repair.setup.torch_environment import NEW

ENVIRONMENT = "/opt/venv"
_LAYERS = {"rocm": ("rocm",)}  # the goal ROCm is the packages themselves; any other is torch and what it needs
_TORCH_LAYERS = ("python", "torch", "companions")
Planner = Callable[[Machine, Goal], SetupPlan]
_BASE = Source("the base image")


def image_plan(machine: Machine, goal: Goal, planner: Planner) -> SetupPlan:
    """The steps that belong into an image which has nothing but the distribution; ``planner`` judges and plans."""
    plan = planner(_bare(machine), goal if goal == "rocm" else "pytorch")
    layers = _LAYERS.get(goal, _TORCH_LAYERS)
    return replace(plan, steps=tuple(_inside(step) for step in plan.steps if step.layer in layers))


def _bare(machine: Machine) -> Machine:
    """The machine with the interpreter of its distribution and without ROCm, torch and settings of a session."""
    found = install.distribution(machine.os)
    python = found.python if found is not None else None
    torch = TorchBuild()
    if python is not None:
        torch = replace(
            torch,
            interpreter=Known("/usr/bin/python3", _BASE),
            python=Known(python, _BASE),
            version=Known(None, _BASE),
            packages=Known({}, _BASE),
            environment=Known("system", _BASE),
            externally_managed=Known(True, _BASE),
        )
    environment = replace(machine.environment, variables={}, complete=True)
    return replace(machine, torch=torch, rocm=(), environment=environment)


def _inside(step: Step) -> Step:
    """A step in a place where everything runs as root and the environment has a folder of the system."""
    actions = tuple(replace(one, words=tuple(map(_placed, one.words))) for one in step.actions)
    state = "todo" if step.state == "waiting" and actions else step.state
    return replace(step, actions=actions, proof=tuple(map(_placed, step.proof)), state=state)


def _placed(word: str) -> str:
    return ENVIRONMENT + word[len(NEW) :] if word == NEW or word.startswith(f"{NEW}/") else word

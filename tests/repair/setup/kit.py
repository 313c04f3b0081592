"""Machines for tests of plans: a fixture, edits of its raw evidence, and the plan that follows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

from rocdoctor.model.finding import Diagnosis
from rocdoctor.repair.setup.plan import Goal, SetupPlan, Step
from rocdoctor.repair.setup.planner import plan
from rocdoctor.repair.setup.situation import Situation
from tests.golden.edits import Broken
from tests.golden.replay import judged, judged_fixture
from tests.machines.files import Files, MachineHost
from tests.repair.setup.world.box import evidence
from tests.repair.setup.world.catalogue import CASES

Edit = Callable[[Broken], object]


def broken(fixture: str, *edits: Edit) -> Broken:
    """A fixture after edits of its answers."""
    machine = Broken(fixture)
    for edit in edits:
        edit(machine)
    return machine


def diagnosis_of(fixture: str, *edits: Edit) -> Diagnosis:
    """The diagnosis of a fixture after edits."""
    return judged(broken(fixture, *edits).host) if edits else judged_fixture(fixture)


def situation_of(fixture: str, *edits: Edit, goal: Goal = "pytorch") -> Situation:
    """What the steps look at."""
    return Situation(diagnosis_of(fixture, *edits), goal)


@cache
def _whole(fixture: str, goal: Goal) -> SetupPlan:
    return plan(judged_fixture(fixture), goal)


def plan_of(fixture: str, *edits: Edit, goal: Goal = "pytorch") -> SetupPlan:
    """The plan of a fixture after edits."""
    return plan(diagnosis_of(fixture, *edits), goal) if edits else _whole(fixture, goal)


def plan_in(
    case: str, goal: Goal | None = None, files: Callable[[Files], object] | None = None, **state: Any
) -> SetupPlan:
    """The plan of a machine of the catalogue, with another goal, more files or more that was done so far."""
    one = next(found for found in CASES if found.name == case)
    assert one.box is not None and one.state is not None
    tree = evidence(one.box, replace(one.state, **state))
    if files is not None:
        files(tree)
    return plan(judged(MachineHost(tree)), goal or one.goal)


def step_of(found: SetupPlan, step_id: str) -> Step:
    """A step by its id; a plan without it fails the test."""
    named = {step.id: step for step in found.steps}
    assert step_id in named, f"no step {step_id} among {', '.join(named)}"
    return named[step_id]


def ids(found: SetupPlan) -> list[str]:
    """The ids in their order."""
    return [step.id for step in found.steps]


def states(found: SetupPlan) -> dict[str, str]:
    """The state of each step."""
    return {step.id: step.state for step in found.steps}


def commands(step: Step) -> list[str]:
    """The commands of a step."""
    return [action.command for action in step.actions if action.words]


# -- edits


def set_os(os_id: str, version: str, like: str = "debian") -> Edit:
    """Another distribution."""
    text = f'ID={os_id}\nVERSION_ID="{version}"\nPRETTY_NAME="{os_id} {version}"\nID_LIKE="{like}"'
    return lambda machine: machine.set("read /etc/os-release", text)


def set_kernel(release: str) -> Edit:
    """Another running kernel."""

    def edit(machine: Broken) -> None:
        machine.set("read /proc/sys/kernel/osrelease", release)
        machine.set("read /proc/version", f"Linux version {release} (builder@host) (gcc 13.2.0) #1 SMP")

    return edit


def no_rocm() -> Edit:
    """No ROCm on the disk, in no package list and among no tools."""

    def edit(machine: Broken) -> None:
        for question in machine.host.available():
            if question.startswith(("list /opt/rocm", "list /usr/")):
                machine.set(question, "")
            elif question.startswith("run ") and any(
                word in question for word in ("rocminfo", "rocm-smi", "amd-smi", "dpkg-query", "rpm -qa", "pacman")
            ):
                machine.remove(question)

    return edit


def deny_nodes(*groups: str) -> Edit:
    """The device nodes closed to this user, who is in no group but ``groups``."""

    def edit(machine: Broken) -> None:
        for question in machine.host.available():
            if question.startswith("open /dev/"):
                machine.set(question, "denied")
        status = machine.text("read /proc/self/status").splitlines()
        numbers = {line.split(":")[0]: line.split(":")[2] for line in machine.text("read /etc/group").splitlines()}
        own = " ".join(numbers[group] for group in groups)
        machine.set(
            "read /proc/self/status",
            "\n".join(f"Groups:\t1000 {own}" if line.startswith("Groups:") else line for line in status),
        )

    return edit

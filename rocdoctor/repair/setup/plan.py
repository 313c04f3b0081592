"""Records of a set-up plan. A plan is derived from the machine; nothing is remembered between two runs."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, get_args

from rocdoctor.knowledge.load import Kind
from rocdoctor.model.finding import Effective, Evidence, Safety
from rocdoctor.model.shell_command import CommandText

Goal = Literal["pytorch", "rocm", "container", "cluster-node"]
GOALS: tuple[Goal, ...] = ("pytorch", "rocm", "container", "cluster-node")

# What makes a new environment for torch: the module of Python, or a program that the person has.
Maker = Literal["venv", "uv", "conda"]


@dataclass(frozen=True, slots=True)
class ReleaseChoice:
    """What somebody asks for instead of what the tables propose: releases ("7.2", "2.11.0"), and how it is done.

    ``wheels``: ROCm comes from wheels into the environment of torch, and no packages of the system.
    """

    rocm: str = ""
    torch: str = ""
    maker: Maker = "venv"
    wheels: bool = False

    @property
    def words(self) -> str:
        """The releases that were chosen, in words; "" for none."""
        named = [f"ROCm {self.rocm}" if self.rocm else "", f"torch {self.torch}" if self.torch else ""]
        return " and ".join(one for one in named if one)


NO_CHOICE = ReleaseChoice()

# done: fulfilled, with its evidence. todo: can be done now. waiting: needs an earlier step, a login, a restart or
# somebody else first.
# unknown: nobody can say from this evidence, and ``why`` tells what would. impossible: no way that any source names.
State = Literal["done", "todo", "waiting", "unknown", "impossible"]

# What stands on what, from the bottom up. Steps of one layer are ordered by their names.
Layer = Literal[
    "clean",
    "firmware",
    "kernel",
    "driver",
    "access",
    "rocm",
    "limits",
    "python",
    "torch",
    "companions",
    "container",
    "cluster",
    "prove",
]
LAYERS: tuple[Layer, ...] = get_args(Layer)


@dataclass(frozen=True, slots=True)
class Action:
    """One command, as a list of words, or lines of a file; never both.

    ``file`` with ``lines``: the file is written with these lines; ``append`` adds those that it lacks. ``root``: needs
    privileges. A command that only a person can type (a firmware menu) is words in a step's text, not an action.
    """

    words: tuple[str, ...] = ()
    file: str = ""
    lines: tuple[str, ...] = ()
    append: bool = False
    root: bool = False

    @property
    def command(self) -> str:
        """The command as one would type it, without ``sudo``; "" for a file."""
        return shlex.join(self.words)


@dataclass(frozen=True, slots=True)
class Verify:
    """How one sees that a step has worked: a check of ours that then passes, or a command and what it shows.

    With both the command is what to type, and the check is the one whose finding the step repairs. ``expects`` is a
    pattern (of Python and of ``grep -E`` alike) that a line of the output has where the step has worked.
    """

    check: str = ""
    command: CommandText = ""
    shows: str = ""
    expects: str = ""

    @property
    def line(self) -> str:
        """The command to type."""
        return self.command or (f"rocdoctor check {self.check}" if self.check else "")


@dataclass(frozen=True, slots=True)
class Step:
    """One step. ``why`` speaks of this machine, with its values; ``evidence`` is what shows the state.

    ``risk`` is the worst of its actions: safe, reboots, risky, manual. ``effective``: when it takes effect, so that its
    verification is not expected to pass before. ``changes`` names files and packages. ``undo`` reverses the actions.
    ``support``: the honest answer where no vendor supports it ("" where one does). ``sources`` stand in the knowledge
    table ``table``; ``kind`` is that of the weakest. ``needs`` are ids of steps (or layers) without which this one
    cannot be done; ``optional``: the goal is reached without it. ``waits_for`` is the id of the step without which it
    waits or has no way, set by the planner. ``handed_to``: whose job it is where it cannot be done from in here.
    ``proof`` are the words of a command whose exit status tells whether the step has worked: a script goes by it.
    ``download_gb`` and ``disk_gb`` (10^9 bytes): None where nobody has published a figure.
    """

    id: str
    title: str
    state: State
    why: str
    evidence: tuple[Evidence, ...] = ()
    actions: tuple[Action, ...] = ()
    changes: tuple[str, ...] = ()
    risk: Safety = "safe"
    effective: Effective = "now"
    verify: Verify | None = None
    undo: tuple[Action, ...] = ()
    support: str = ""
    notes: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    table: str = ""
    kind: Kind = "primary"
    layer: Layer = "prove"  # set by the planner from the step's file
    needs: tuple[str, ...] = ()
    optional: bool = False
    waits_for: str = ""
    handed_to: str = ""
    download_gb: float | None = None
    disk_gb: float | None = None
    proof: tuple[str, ...] = ()

    def discreetly(self, said: Callable[[str], str]) -> Step:
        """The same with what it tells of the machine put otherwise; what is typed or written stays."""
        return replace(
            self,
            title=said(self.title),
            why=said(self.why),
            evidence=tuple(replace(one, value=said(one.value), source=said(one.source)) for one in self.evidence),
            support=said(self.support),
            notes=tuple(map(said, self.notes)),
        )


def handed_over(who: str) -> str:
    """The note of a step that is somebody else's job."""
    return f"This cannot be done from here; ask {who}."


@dataclass(frozen=True, slots=True)
class SetupPlan:
    """All steps in their order. ``notes`` hold what is true of the whole (an unsupported card, a container).

    ``first`` is the id of the step that repairs what a report of the checks names first; "" where it names nothing.
    """

    goal: Goal
    steps: tuple[Step, ...]
    notes: tuple[str, ...] = ()
    first: str = ""

    @property
    def next(self) -> Step | None:
        """The step to do now: what the checks name first, else the first that can be done or that nobody can judge."""
        if (named := self._named_first()) is not None:
            return named
        open_steps = [step for step in self.steps if step.state in ("todo", "unknown")]
        return min(open_steps, key=lambda step: (step.optional, step.state == "unknown"), default=None)

    def _named_first(self) -> Step | None:
        """The step that the checks name first, or the one that it waits for; None where it is not to be done."""
        by_id = {step.id: step for step in self.steps}
        step = by_id.get(self.first)
        for _ in self.steps:
            before = None if step is None else self._before(step)
            if before is None:
                break
            step = before
        if step is not None and step.state == "waiting" and step.effective == "reboot" and not step.handed_to:
            return self.joined_before_restart or by_id.get("restart")
        return step if step is not None and step.state in ("todo", "waiting", "unknown") else None

    @property
    def joined_before_restart(self) -> Step | None:
        """The step to do before the restart, which is the new login that it asks for; None where there is none."""
        before: list[Step] = []
        for step in self.steps:
            if step.id == "restart":
                return next((one for one in before if one.state == "todo" and one.effective == "new-login"), None)
            if not step.optional:
                before.append(step)
        return None

    def _before(self, step: Step) -> Step | None:
        """The first step that can be done and that this one needs."""
        wanted = {*step.needs, step.waits_for}
        for one in self.steps:
            if one is step:
                return None
            if {one.id, one.layer} & wanted and one.state == "todo" and not one.optional:
                return one
        return None

    @property
    def finished(self) -> bool:
        """Nothing is left that the goal needs and that anybody could do."""
        return all(step.optional or step.state in ("done", "impossible") for step in self.steps)

    def discreetly(self, said: Callable[[str], str]) -> SetupPlan:
        """The same with what it tells of the machine put otherwise: without names and secrets."""
        return replace(
            self, steps=tuple(step.discreetly(said) for step in self.steps), notes=tuple(map(said, self.notes))
        )

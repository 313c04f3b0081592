"""What all screens say alike: what is wrong, what to do first, and how each GPU stands. Pure.

Screens that say it in words of their own contradict each other sooner or later; these are the words for all.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from rocdoctor.judging.subjects import grouped, is_whole, subject_parts
from rocdoctor.model.evidence import value_or
from rocdoctor.model.facts import Gpu
from rocdoctor.model.finding import Diagnosis, Finding, Severity, Verdict
from rocdoctor.model.printable import one_line
from rocdoctor.model.shell_command import as_named
from rocdoctor.repair.setup.plan import SetupPlan
from rocdoctor.repair.setup.words import headline as setup_headline
from rocdoctor.report.diagnosis.headline import headline
from rocdoctor.tui.topology.check_notes import about

Title = Literal["so far", "do first", "do next", "in short"]


@dataclass(frozen=True, slots=True)
class Story:
    """What a person reads first.

    ``wrong``: what is wrong, in a sentence ("" where nothing is); ``todo``: what to do, with its ``command``;
    ``because``: the finding that it is said for; ``area``: the screen that tells more.
    """

    title: Title
    wrong: str
    todo: str
    command: str = ""
    because: str = ""
    area: str = "findings"

    @property
    def typed(self) -> str:
        """The command as it is shown: a kernel parameter is none, and is called what it is."""
        return as_named(self.command)

    @property
    def heading(self) -> str:
        """What stands above it; "do first" stands before what to do, since what is wrong comes before that."""
        return "what is wrong" if self.title == "do first" and self.wrong else self.title

    @property
    def lines(self) -> tuple[str, ...]:
        """All of it, without styles."""
        return tuple(one for one in (self.wrong, self.todo, self.typed) if one)


def story(diagnosis: Diagnosis, setup: SetupPlan | None, preliminary: bool) -> Story:
    """The one story of a machine; ``preliminary``: questions are open, so nothing is a verdict yet."""
    said = headline(diagnosis)
    if said.to_do:
        wrong = _main_message(diagnosis) if said.because else ""
        todo = f"So far, this comes first: {said.said}" if preliminary else said.said
        return Story("so far" if preliminary else "do first", wrong, todo, said.command, said.because)
    if preliminary:
        return Story("so far", "", "Nothing wrong was found so far; not everything has answered yet.")
    step = next_step(setup)
    if step:
        gap = diagnosis.machine.gpus_gap is not None
        why = said.said if gap else "No check found a fault, but the set-up is not complete."
        return Story("do next", why, step, area="setup")
    return Story("in short", "", said.said)


def next_step(setup: SetupPlan | None) -> str:
    """The step that set-up asks a person to do; "" where there is none, or where nothing tells how it stands."""
    if setup is None:
        return ""
    said = setup_headline(setup)
    return said.text if said.step is not None and said.step.state in ("todo", "waiting") else ""


def _main_message(diagnosis: Diagnosis) -> str:
    if diagnosis.causes:
        main = diagnosis.causes[0]
        found, subjects = main.finding, main.subjects
        message = found.message if found is not None else main.message
    else:
        found, _, those = grouped(diagnosis.verdicts)[0]
        message, subjects = found.message, tuple(those)
    where = "" if is_whole(subjects) else f"{subject_parts(subjects)[0]}: "
    return f"{where}{one_line(message)}"


def heading_words(preliminary: bool) -> str:
    """What stands before the main cause."""
    return "so far, first" if preliminary else "do first"


# -- GPUs


@dataclass(frozen=True, slots=True)
class GpuStanding:
    """How one GPU stands: its worst finding, or None; whether some check of this GPU passed."""

    gpu: Gpu
    worst: Finding | None = None
    check: str = ""
    passed: bool = False

    @property
    def severity(self) -> Severity | None:
        """Of the worst finding."""
        return self.worst.severity if self.worst is not None else None

    @property
    def fails(self) -> bool:
        """Training on it fails, hangs or computes wrongly: that is what an error means."""
        return self.severity == "error"


def standings(diagnosis: Diagnosis) -> tuple[GpuStanding, ...]:
    """Each GPU with the worst that was found of it itself."""
    return tuple(_standing(gpu, diagnosis.verdicts) for gpu in diagnosis.machine.gpus)


def _standing(gpu: Gpu, verdicts: Sequence[Verdict]) -> GpuStanding:
    own = about(verdicts, gpu)
    passed = any(one.state == "pass" and one.subject == gpu.subject for one in verdicts)
    return GpuStanding(gpu, own[0].finding, own[0].check, passed) if own else GpuStanding(gpu, passed=passed)


@dataclass(frozen=True, slots=True)
class Unfit:
    """GPUs that no job should run on as they are: their indices, that in a few words, and all of it."""

    gpus: tuple[int, ...]
    short: str
    full: str


def failing(diagnosis: Diagnosis, addresses: Collection[str | None] | None = None) -> tuple[Unfit, ...]:
    """One for each error of GPUs, equal ones as one: what a plan for them has to say first.

    ``addresses``: of the GPUs that the plan uses; None for all of the machine.
    """
    groups: dict[tuple[str, str], list[GpuStanding]] = {}
    for one in standings(diagnosis):
        used = addresses is None or value_or(one.gpu.bdf, None) in addresses
        if used and one.fails and one.worst is not None:
            groups.setdefault((one.check, one.worst.message), []).append(one)
    every = len(diagnosis.machine.gpus)
    found = []
    for (check, message), those in groups.items():
        where = subject_parts(one.gpu.subject for one in those)[0]
        fix = those[0].worst.fix if those[0].worst is not None else None
        alone = len(those) == 1
        it = "it" if alone else "them"
        way = f" First: {one_line(fix.text).rstrip('.')}" if fix is not None else f" First mend {it}"
        left = "" if len(those) == every else f", or leave {it} out"
        unfit = "is not fit for a job as it is" if alone else "are not fit for a job as they are"
        short = f"{where} {unfit}"
        full = f"{short} ({check}): {one_line(message).rstrip('.')}.{way}{left}."
        found.append(Unfit(tuple(one.gpu.index for one in those), short, full))
    return tuple(found)

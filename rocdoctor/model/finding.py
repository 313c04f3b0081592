"""What is said of a machine: evidence, findings and fixes, the verdicts of checks, and the diagnosis made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar

from rocdoctor.model.change import Change
from rocdoctor.model.evidence import Unknown
from rocdoctor.model.facts import Machine
from rocdoctor.model.shell_command import CommandText
from rocdoctor.model.subject import Subject

Item = TypeVar("Item")

Severity = Literal["error", "warning", "info"]
State = Literal["pass", "fail", "unknown", "not-applicable", "crashed"]
Safety = Literal["safe", "reboots", "risky", "manual"]
"""safe: ends nothing that runs and replaces nothing that works. risky: restarts services or containers, replaces
packages, or loads a kernel module, so have a way back. manual: a person has to judge or to fill in."""
Effective = Literal["now", "new-login", "reboot"]
Confidence = Literal["certain", "likely", "possible"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")
CONFIDENCES: tuple[Confidence, ...] = ("certain", "likely", "possible")


@dataclass(frozen=True, slots=True)
class Evidence:
    """A value and where it was read."""

    value: str
    source: str
    line: int | None = None
    voice: str = "program"  # of pasted text: "words" of the writer, or of a "reply"
    kind: str = field(default="", compare=False)  # of a message in pasted text, by its table


@dataclass(frozen=True, slots=True)
class Fix:
    """What to do: words, a command where there is one, how safe it is, when it takes effect, and how to verify it.

    A command is a literal, or made by ``model.shell_command.shell``, which quotes what comes from the evidence.
    ``changes``: the whole of it as changes that ``rocdoctor fix --apply`` can make; empty where a person has to judge.
    ``unsets``, ``sets`` and ``joins`` are what the command does, where a set-up plan does it by another way: variables
    that it unsets, a variable that it exports with its value, groups that it has the user join.
    """

    text: str
    command: CommandText = ""
    safety: Safety = "manual"
    effective: Effective = "now"
    verify: CommandText = ""  # empty: running the check again
    changes: tuple[Change, ...] = ()
    unsets: tuple[str, ...] = ()
    sets: tuple[str, str] | None = None
    joins: tuple[str, ...] = ()

    @property
    def beside_text(self) -> CommandText:
        """The command to show beside the text; empty where the text holds it."""
        return "" if self.command in self.text else self.command

    @property
    def judged_again(self) -> bool:
        """Whether rocdoctor itself verifies it: by the check, or by another command of its own."""
        return not self.verify or self.verify.split(" ", 1)[0] == "rocdoctor"


@dataclass(frozen=True, slots=True)
class About:
    """What a finding speaks of beside its subject: others act on these values, never on its sentence.

    ``module`` and ``parameter`` are of the kernel, ``option`` is one that a kernel has to be built with, ``packages``
    are of Python (several: they get in each other's way), ``subjects`` are further GPUs that it names, ``pairs`` those
    between which a link is at fault.
    """

    module: str = ""
    parameter: str = ""
    option: str = ""
    packages: tuple[str, ...] = ()
    subjects: tuple[Subject, ...] = ()
    pairs: tuple[tuple[Subject, Subject], ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem: a sentence with the actual values, its evidence and the way out.

    ``explains`` names checks (or cause ids) whose findings follow from this one. ``cause`` overrides the check's.
    ``confidence`` follows the evidence: certain when read from the machine, likely when inferred, possible from prose.
    ``finer`` is an id of ``finer`` in causes.yaml, which says more precisely what the cause is. ``undecided``: one of
    several causes that a symptom leaves, the most probable first; it counts only where nothing else was found.
    ``decides``: it rests on a comparison of two conditions, and goes before others that are as sure. ``of_table``: a
    row of the message tables says it; a check of its own speaks over it.
    """

    severity: Severity
    message: str
    evidence: tuple[Evidence, ...] = ()
    fix: Fix | None = None
    cause: str = ""
    explains: tuple[str, ...] = ()
    confidence: Confidence = "certain"
    references: tuple[str, ...] = ()
    subject: Subject | None = None  # None: the subject of the check
    about: About = About()
    finer: str = ""
    undecided: bool = False
    decides: bool = False
    of_table: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a check says of one subject. ``why`` is the reason of unknown, not-applicable and crashed, in words.

    ``gap``: of an unknown verdict the fact that is not known, with the kind of its reason and the question that did not
    tell it; ``why`` are its words.
    """

    check: str
    subject: Subject
    state: State
    finding: Finding | None = None
    why: str = ""
    gap: Unknown | None = None


@dataclass(frozen=True, slots=True)
class Cause:
    """A root cause with the finding that stands for it. ``explains`` names checks whose findings follow from it."""

    cause: str
    confidence: Confidence
    severity: Severity
    message: str
    remedy: str
    check: str
    subjects: tuple[Subject, ...]
    explains: tuple[str, ...] = ()
    finding: Finding | None = None


Topic = Literal["kernel-log", "interpreter", "sleep"]
"""What one command tells: the kernel log, a Python to examine, a GPU that sleeps."""


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """What a command may show, and the cause that this points to ("": none of those that are open)."""

    shows: str
    cause: str = ""


@dataclass(frozen=True, slots=True)
class NextStep:
    """One command that would answer what is still unknown; ``answers`` is of which kind that is ("": of several).

    ``outcomes``: of a command that tells causes apart, what each of them looks like.
    """

    command: CommandText
    why: str
    answers: Topic | Literal[""] = ""
    outcomes: tuple[StepOutcome, ...] = ()

    @property
    def ours(self) -> bool:
        """Whether rocdoctor itself is to be started."""
        return self.command.split(" ", 1)[0] == "rocdoctor"


@dataclass(frozen=True, slots=True)
class SettledThread:
    """A public thread in which somebody had the same: its address, what settled it, and who says so."""

    address: str
    settled: str
    by: str


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Verdicts, causes and next steps of one machine; ``card``: the lines about it where they were masked.

    ``threads``: of a pasted text, where its main cause was settled in public.
    """

    machine: Machine
    verdicts: tuple[Verdict, ...]
    causes: tuple[Cause, ...]
    next: tuple[NextStep, ...] = ()
    problems: tuple[str, ...] = ()
    card: tuple[str, ...] = ()
    threads: tuple[SettledThread, ...] = ()

    @property
    def open(self) -> bool:
        """Whether its causes are what a symptom leaves, and none is surer than another."""
        return bool(self.causes) and all(one.finding is not None and one.finding.undecided for one in self.causes)

    @property
    def worst(self) -> Severity | None:
        """The highest severity among the findings."""
        seen = {verdict.finding.severity for verdict in self.verdicts if verdict.finding is not None}
        return next((severity for severity in SEVERITIES if severity in seen), None)

    def count(self, state: str) -> int:
        """How many verdicts have this state."""
        return sum(verdict.state == state for verdict in self.verdicts)


@dataclass(frozen=True, slots=True)
class NotApplicable:
    """There is nothing to judge here, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class Selected(Generic[Item]):
    """What one verdict is about, and what the check is called with (None: the machine)."""

    subject: Subject
    item: Item


Subjects = Sequence[Selected[Item]] | NotApplicable
"""What a selector answers."""

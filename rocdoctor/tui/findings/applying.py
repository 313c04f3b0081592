"""Applying the fix of a finding where it stands: what would change, the question, the result, taking it back.

The same steps, refusals, copies and list of changes as ``rocdoctor fix --apply``; nothing is done before a yes.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.text import Text

from rocdoctor.model.finding import Diagnosis, Finding
from rocdoctor.model.printable import clean, one_line
from rocdoctor.repair.fixes.apply import Done, apply, told_back, undo
from rocdoctor.repair.fixes.journal import Journal, alone, opened
from rocdoctor.repair.fixes.offers import Offer, offers, same_fix
from rocdoctor.repair.fixes.steps import Edit, FixWork, told, work_of
from rocdoctor.repair.fixes.target_machine import TargetMachine
from rocdoctor.repair.fixes.user_files import Refused
from rocdoctor.report.fixes.fix_document import effect_words
from rocdoctor.tui.style import GOOD, WRONG

_MOST_ASKED = 20_000  # characters, which a person can still read
_MOST_BESIDE = 100  # characters of a line that stays as it is


@dataclass(frozen=True, slots=True)
class Prepared:
    """A fix on this machine. ``asked``: what would be done, in full; ``refusal``: why it may not, "" where it may."""

    offer: Offer
    work: FixWork
    asked: str = ""
    refusal: str = ""

    @property
    def possible(self) -> bool:
        """Whether there is something to ask for."""
        return not self.refusal and bool(self.work.steps)


@dataclass(frozen=True, slots=True)
class AppliedFix:
    """What came of it. ``folder`` has the copies, None where no step was begun; ``undoable``: it can take back some."""

    results: tuple[Done, ...]
    folder: Path | None = None
    effect: str = ""
    now: bool = False
    undoable: bool = False

    @property
    def ok(self) -> bool:
        """Whether every step was done."""
        return bool(self.results) and all(one.ok for one in self.results)


def prepare(finding: Finding, check: str, diagnosis: Diagnosis, place: TargetMachine) -> Prepared | None:
    """What the fix of a finding comes to here, for all findings that ask for the same; None without a fix."""
    found = next((one for one in offers(diagnosis, (check,)) if same_fix(finding, one)), None)
    if found is None:
        return None
    work = FixWork() if found.refusal else work_of(found.fix, found.changes, check, place)
    refusal = found.refusal
    if not refusal and not work.steps:
        refusal = "; ".join(work.left) or "it is already done"
    asked = "" if refusal else question(work, place)
    if len(asked) > _MOST_ASKED:
        refusal = "it changes too much to show in one question"
    return Prepared(found, work, asked, refusal)


def question(work: FixWork, place: TargetMachine) -> str:
    """All steps and how they are taken back, then the lines that change."""
    ends = f"It {effect_words(work)}. Before that, what it changes is copied; u takes it back."
    lines = [*_listed([one_line(told(step, place)) for step in work.steps]), "", ends]
    for step in work.steps:
        if isinstance(step, Edit):
            lines += ["", f"{one_line(place.shown(step.path))}:", *_diff(step)]
    return "\n".join(lines)


def _listed(steps: Sequence[str]) -> list[str]:
    return list(steps) if len(steps) < 2 else [f"{number}. {step}" for number, step in enumerate(steps, 1)]


def _diff(step: Edit) -> list[str]:
    """The lines that change, whole, with the beginnings of those beside them."""
    before, after = (one.decode(errors="replace").splitlines() for one in (step.seen.data, step.data))
    found = [clean(one) for one in difflib.unified_diff(before, after, n=1, lineterm="")][2:]
    beside = (one[:_MOST_BESIDE] + " ..." if one[:1] == " " and len(one) > _MOST_BESIDE else one for one in found)
    return [f"  {one}" for one in beside]


def carry_out(prepared: Prepared, place: TargetMachine) -> AppliedFix:
    """Do it, with a copy first; what is refused changes nothing and is said."""
    try:
        with alone(place.state, place.uid):
            journal = Journal.make(place.state, place.root)
            results, whole = _applied(prepared, place, journal)
    except Refused as refused:
        return AppliedFix((Done(False, str(refused)),))
    work = prepared.work
    folder = journal.folder if journal.entries else None
    # What broke off halfway may have changed something: the journal tells what there is to take back.
    undoable = (any(one.ok for one in results) or not whole) and bool(told_back(journal, place))
    return AppliedFix(tuple(results), folder, effect_words(work), work.effective == "now", undoable)


def _applied(prepared: Prepared, place: TargetMachine, journal: Journal) -> tuple[list[Done], bool]:
    """(what came of each step, whether it went on to the end)."""
    try:
        return apply(prepared.work.steps, prepared.offer.check, place, journal), True
    except Exception as error:  # what was done until then is in the journal, and can be taken back
        return [Done(False, f"it broke off: {type(error).__name__}: {error}")], False


def question_back(folder: Path, place: TargetMachine) -> str:
    """What would be taken back of what ``carry_out`` did; "" for nothing. Raises Refused."""
    steps = told_back(opened(folder, place), place)
    if not steps:
        return ""
    return "\n".join(
        [
            *_listed([one_line(step) for step in steps]),
            "",
            "A file or a value that has changed since then is left unchanged.",
        ]
    )


def take_back(folder: Path, place: TargetMachine) -> AppliedFix:
    """Undo what ``carry_out`` did."""
    try:
        with alone(place.state, place.uid):
            results = undo(opened(folder, place), place)
    except Refused as refused:
        return AppliedFix((Done(False, str(refused)),))
    return AppliedFix(tuple(results) or (Done(True, "Nothing is left to undo."),), None, "", now=True)


def results(done: AppliedFix, wrong: str) -> Text:
    """What came of each step; ``wrong`` stands before what did not work."""
    text = Text()
    for at, one in enumerate(done.results):
        text.append("\n" if at else "")
        text.append(("" if one.ok else wrong) + one_line(one.said), style=GOOD if one.ok else WRONG)
    return text

"""Applying the fix of a finding where it stands: what would change, the question, the result, taking it back.

The same steps, refusals, copies and list of changes as ``rocdoctor fix --apply``; nothing is done before a yes.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path

from rich.text import Text

from rocdoctor.model.finding import Diagnosis, Finding
from rocdoctor.model.printable import clean, one_line
from rocdoctor.repair.fixes.apply import Done, apply, undo
from rocdoctor.repair.fixes.journal import Journal, alone, opened
from rocdoctor.repair.fixes.offers import Offer, offers, same_fix
from rocdoctor.repair.fixes.steps import Edit, FixWork, told, work_of
from rocdoctor.repair.fixes.target_machine import TargetMachine
from rocdoctor.repair.fixes.user_files import Refused
from rocdoctor.report.fixes.fix_document import effect_words
from rocdoctor.tui.style import GOOD, WRONG

_MOST_DIFF = 30  # lines


@dataclass(frozen=True, slots=True)
class Prepared:
    """A fix on this machine. ``refusal``: why a program may not do it, in a sentence; "" where it may."""

    offer: Offer
    work: FixWork
    refusal: str = ""

    @property
    def possible(self) -> bool:
        """Whether there is something to ask for."""
        return not self.refusal and bool(self.work.steps)


@dataclass(frozen=True, slots=True)
class AppliedFix:
    """What came of it. ``folder`` has the copies, and undoes it; None where nothing was begun."""

    results: tuple[Done, ...]
    folder: Path | None = None
    effect: str = ""
    now: bool = False

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
        refusal = "; ".join(work.left) or "it is done already"
    return Prepared(found, work, refusal)


def question(prepared: Prepared, place: TargetMachine) -> str:
    """What would be done, changed lines included, and how it is taken back."""
    lines: list[str] = []
    for step in prepared.work.steps:
        lines.append(one_line(told(step, place)))
        if isinstance(step, Edit):
            lines += _diff(step)
    lines += ["", f"It {effect_words(prepared.work)}. Before that, what it changes is copied; u takes it back."]
    return "\n".join(lines)


def _diff(step: Edit) -> list[str]:
    """The lines that change, with those beside them."""
    before, after = (one.decode(errors="replace").splitlines() for one in (step.seen.data, step.data))
    found = [clean(one) for one in difflib.unified_diff(before, after, n=1, lineterm="")][2:]
    left = len(found) - _MOST_DIFF
    return [f"  {one}" for one in found[:_MOST_DIFF]] + ([f"  ... and {left} more lines"] if left > 0 else [])


def carry_out(prepared: Prepared, place: TargetMachine) -> AppliedFix:
    """Do it, with a copy first; what is refused changes nothing and is said."""
    try:
        with alone(place.state, place.uid):
            journal = Journal.make(place.state, place.root)
            results = _applied(prepared, place, journal)
    except Refused as refused:
        return AppliedFix((Done(False, str(refused)),))
    work = prepared.work
    folder = journal.folder if journal.entries else None
    return AppliedFix(tuple(results), folder, effect_words(work), work.effective == "now")


def _applied(prepared: Prepared, place: TargetMachine, journal: Journal) -> list[Done]:
    try:
        return apply(prepared.work.steps, prepared.offer.check, place, journal)
    except Exception as error:  # what was done until then is in the journal, and can be taken back
        return [Done(False, f"it broke off: {type(error).__name__}: {error}")]


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

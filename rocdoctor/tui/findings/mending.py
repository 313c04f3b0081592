"""The conversation on applying a fix on the screen of findings: what would change, yes or no, done, taken back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rich.text import Text

from rocdoctor.host.base import Host
from rocdoctor.model.finding import Diagnosis
from rocdoctor.model.printable import clean, one_line
from rocdoctor.repair.fixes.apply import Done
from rocdoctor.repair.fixes.journal import undoing
from rocdoctor.repair.fixes.target_machine import TargetMachine, this_machine
from rocdoctor.repair.fixes.user_files import Refused
from rocdoctor.tui.background import Background
from rocdoctor.tui.findings.applied_here import AppliedHere
from rocdoctor.tui.findings.applying import (
    AppliedFix,
    Prepared,
    carry_out,
    prepare,
    question_back,
    results,
    take_back,
)
from rocdoctor.tui.findings.findings_list import FindingsRow
from rocdoctor.tui.page import Page
from rocdoctor.tui.widgets.ask import Confirm

_SAID_S = 15.0
_Looked = tuple[Prepared | None, TargetMachine]
Key = tuple[str, str, str]
_Rows = Callable[[], Sequence[FindingsRow]]


class Mending:
    """What was applied from this screen, the newest last; each belongs to its rows on the machine that it changed."""

    def __init__(self, page: Page, rows: _Rows, draw: Callable[[], None]) -> None:
        """``rows`` are all of now; ``draw`` shows where things stand."""
        self.page = page
        self._rows = rows
        self._draw = draw
        self._applied: list[AppliedHere] = []
        self._task: Background[Any] | None = None

    @property
    def running(self) -> bool:
        """Whether something is at work."""
        return self._task is not None and self._task.running

    def _of(self, row: FindingsRow | None) -> list[AppliedHere]:
        """What belongs to a row of the machine that is open, the newest first."""
        host = self.page.rocdoctor.host
        if row is None:
            return []
        here = (one for one in reversed(self._applied) if one.check == row.check and one.of(host))
        return [one for one in here if row.key in {own.key for own in one.rows(self._rows())}]

    def text(self, row: FindingsRow) -> Text | None:
        """What to show of a row."""
        return next((one.said for one in self._of(row) if one.said is not None), None)

    def put_away(self, row: FindingsRow | None) -> bool:
        """Close what is shown of a row; whether there was something."""
        found = [one for one in self._of(row) if one.said is not None]
        for one in found:
            one.said = None
        return bool(found)

    def undoable(self, row: FindingsRow | None) -> AppliedHere | None:
        """The newest fix of a row that can be taken back on the machine that is open."""
        return next((one for one in self._of(row) if one.folder is not None), None)

    @property
    def keys(self) -> set[Key]:
        """The rows that have something to take back: they stay in sight, though their finding is gone."""
        host = self.page.rocdoctor.host
        left = [one for one in self._applied if one.folder is not None and one.of(host)]
        return {row.key for one in left for row in one.rows(self._rows())}

    def offered(self, row: FindingsRow | None, host: Host | None) -> bool:
        """Whether the fix of a row can be applied: on this machine, by a program that knows what it changes."""
        fix = row.finding.fix if row is not None and row.finding is not None else None
        return fix is not None and bool(fix.changes) and host is not None and host.kind == "live"

    def press(self, row: FindingsRow, diagnosis: Diagnosis) -> None:
        """Show what the fix of a row would change, and ask."""
        finding, host = row.finding, self.page.rocdoctor.host
        if self.running or finding is None or not self.offered(row, host):
            return

        def look(task: Background[_Looked]) -> _Looked:
            place = this_machine()
            return prepare(finding, row.check, diagnosis, place), place

        def looked(found: _Looked) -> None:
            prepared, place = found
            if prepared is None or not prepared.possible:
                why = prepared.refusal if prepared is not None else "there is no fix here"
                self.page.notify(f"not applied: {one_line(why)}; c copies the command", markup=False, timeout=_SAID_S)
                return
            offer = prepared.offer
            of = AppliedHere(offer.check, offer.fix, offer.subjects, host.origin, None, None)
            asked = Confirm(f"apply the fix of {row.check}?", prepared.asked, "Apply")
            self._ask(asked, of, lambda: self._carry_out(of, prepared, place))

        self._task = Background[_Looked](self.page.app, look, looked, self._failed)

    def _ask(self, asked: Confirm, of: AppliedHere, then: Callable[[], None]) -> None:
        """Ask, unless something else was opened meanwhile."""
        if not self.page.is_current or not of.of(self.page.rocdoctor.host):
            self.page.app.notify("nothing was done: another screen or other evidence was opened", timeout=_SAID_S)
            return
        self.page.app.push_screen(asked, lambda yes: then() if yes and of.of(self.page.rocdoctor.host) else None)

    def _carry_out(self, of: AppliedHere, prepared: Prepared, place: TargetMachine) -> None:
        def done(found: AppliedFix) -> None:
            text = results(found, "FAILED: ")
            if found.undoable and found.folder is not None:
                of.folder = found.folder
                text.append(f"\nu takes it back; so does: {undoing(found.folder)}", style="not bold")
            elif found.folder is not None and not found.ok:
                words = f"\nIf a step left something, this takes it back: {undoing(found.folder)}"
                text.append(words, style="not bold")
            if found.ok:
                then = clean(prepared.offer.verify)
                after = "The machine is asked again." if found.now else f"It {found.effect}. Then: {then}"
                text.append(f"\n{after}", style="not bold")
            self._after(of, found, text, "done; u takes it back" if found.undoable else "done")

        self._task = Background[AppliedFix](self.page.app, lambda task: carry_out(prepared, place), done, self._failed)

    def take_back(self, row: FindingsRow) -> None:
        """Show what would be taken back of a row's fix, and ask."""
        of = self.undoable(row)
        if self.running or of is None or of.folder is None:
            return
        folder, check = of.folder, row.check

        def look(task: Background[tuple[str, TargetMachine]]) -> tuple[str, TargetMachine]:
            place = this_machine()
            return question_back(folder, place), place

        def looked(found: tuple[str, TargetMachine]) -> None:
            words, place = found
            if not words:
                of.folder = None
                nothing = "nothing is left to take back"
                self._after(of, AppliedFix((Done(True, nothing),)), Text(nothing), nothing)
                return
            asked = Confirm(f"take back the fix of {check}?", words, "Take back")
            self._ask(asked, of, lambda: self._take_back(of, place))

        self._task = Background[tuple[str, TargetMachine]](self.page.app, look, looked, self._failed)

    def _take_back(self, of: AppliedHere, place: TargetMachine) -> None:
        folder = of.folder
        if folder is None:
            return

        def done(found: AppliedFix) -> None:
            if found.ok:
                of.folder = None
            self._after(of, found, results(found, "LEFT: "), "taken back")

        self._task = Background[AppliedFix](self.page.app, lambda task: take_back(folder, place), done, self._failed)

    def _after(self, of: AppliedHere, found: AppliedFix, text: Text, words: str) -> None:
        self._task = None
        of.said = text
        self._applied = [*(one for one in self._applied if one is not of), of]
        self.page.refresh_bindings()
        self._draw()
        self.page.notify(words if found.ok else "not done; the page says why", timeout=_SAID_S, markup=False)
        if found.ok and found.now and of.of(self.page.rocdoctor.host):
            self.page.rocdoctor.action_reload()

    def _failed(self, error: Exception) -> None:
        self._task = None
        words = f"not done: {'' if isinstance(error, Refused) else f'{type(error).__name__}: '}{one_line(str(error))}"
        self.page.notify(words, severity="error", timeout=_SAID_S, markup=False)

"""The conversation on applying a fix on the screen of findings: what would change, yes or no, done, taken back."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from rich.text import Text

from rocdoctor.host.base import Host
from rocdoctor.model.finding import Diagnosis
from rocdoctor.model.printable import clean, one_line
from rocdoctor.repair.fixes.target_machine import TargetMachine, this_machine
from rocdoctor.tui.background import Background
from rocdoctor.tui.findings.applying import AppliedFix, Prepared, carry_out, prepare, question, results, take_back
from rocdoctor.tui.findings.findings_list import FindingsRow
from rocdoctor.tui.page import Page
from rocdoctor.tui.widgets.ask import Confirm

_SAID_S = 15.0
_Looked = tuple[Prepared | None, TargetMachine]
Key = tuple[str, str, str]


class Mending:
    """What was applied from this screen, by row. ``folder`` has the copies of the newest, which can be taken back."""

    def __init__(self, page: Page, draw: Callable[[], None]) -> None:
        """``draw`` shows where things stand."""
        self.page = page
        self.folder: Path | None = None
        self._draw = draw
        self._of: tuple[Key, str] = (("", "", ""), "")  # the row that it was applied from, and its check
        self._said: dict[Key, Text] = {}
        self._task: Background[Any] | None = None

    @property
    def running(self) -> bool:
        """Whether something is at work."""
        return self._task is not None and self._task.running

    def text(self, key: Key) -> Text | None:
        """What to show of a row."""
        return self._said.get(key)

    def put_away(self, key: Key) -> bool:
        """Close what is shown of a row; whether there was something."""
        return self._said.pop(key, None) is not None

    def offered(self, row: FindingsRow | None, host: Host | None) -> bool:
        """Whether the fix of a row can be applied: on this machine, by a program that knows what it changes."""
        fix = row.finding.fix if row is not None and row.finding is not None else None
        return fix is not None and bool(fix.changes) and host is not None and host.kind == "live"

    def press(self, row: FindingsRow, diagnosis: Diagnosis) -> None:
        """Show what the fix of a row would change, and ask."""
        finding = row.finding
        if self.running or finding is None:
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
            asked = Confirm(f"apply the fix of {row.check}?", question(prepared, place), "Apply")
            self.page.app.push_screen(asked, lambda yes: self._carry_out(row.key, prepared, place) if yes else None)

        self._task = Background[_Looked](self.page.app, look, looked, partial(self._failed, "not applied"))

    def _carry_out(self, key: Key, prepared: Prepared, place: TargetMachine) -> None:
        def done(found: AppliedFix) -> None:
            if found.folder is not None:
                self.folder, self._of = found.folder, (key, prepared.offer.check)
            text = results(found, "FAILED: ")
            if found.folder is not None:
                text.append(f"\nu takes it back; so does: rocdoctor fix --undo {found.folder}", style="not bold")
            if found.ok:
                then = clean(prepared.offer.verify)
                after = "The machine is asked again." if found.now else f"It {found.effect}. Then: {then}"
                text.append(f"\n{after}", style="not bold")
            self._said[key] = text
            self._after(found, "done; u takes it back")

        failed = partial(self._failed, "it may be half applied")
        self._task = Background[AppliedFix](self.page.app, lambda task: carry_out(prepared, place), done, failed)

    def take_back(self, row: FindingsRow) -> None:
        """Undo what was applied last; what came of it is shown at this row, and of which fix."""
        folder = self.folder
        if self.running or folder is None:
            return

        def done(found: AppliedFix) -> None:
            if found.ok:
                self.folder = None
            text, (key, check) = results(found, "LEFT: "), self._of
            if key != row.key:
                text = Text(f"the fix of {check}:\n").append_text(text)
                if found.ok:
                    self._said.pop(key, None)
            self._said[row.key] = text
            self._after(found, "taken back")

        def work(task: Background[AppliedFix]) -> AppliedFix:
            return take_back(folder, this_machine())

        self._task = Background[AppliedFix](self.page.app, work, done, partial(self._failed, "perhaps not taken back"))

    def _after(self, found: AppliedFix, words: str) -> None:
        self._task = None
        self.page.refresh_bindings()
        self._draw()
        self.page.notify(words if found.ok else "not all done; the page says why", timeout=_SAID_S, markup=False)
        if found.now and any(one.ok for one in found.results):
            self.page.rocdoctor.action_reload()

    def _failed(self, what: str, error: Exception) -> None:
        self._task = None
        words = f"{what}: {type(error).__name__}: {one_line(str(error))}"
        self.page.notify(words, severity="error", timeout=_SAID_S, markup=False)

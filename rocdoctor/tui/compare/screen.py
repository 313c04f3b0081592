"""What differs between other evidence and this machine: another node, or a look at this one from before."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from rocdoctor.compare.differences import Comparison
from rocdoctor.compare.snapshot import Snapshot
from rocdoctor.host.base import Host
from rocdoctor.model.finding import Diagnosis
from rocdoctor.model.printable import one_line
from rocdoctor.tui import open_evidence
from rocdoctor.tui.background import Background
from rocdoctor.tui.compare.comparing import beside, other, report
from rocdoctor.tui.look import Look
from rocdoctor.tui.page import Page
from rocdoctor.tui.widgets.flow import FlowText
from rocdoctor.tui.widgets.rows import Lines

_HINT = (
    "Open other evidence (o) to see how this machine differs from it, such as a node that works, or "
    "a bundle from before a change. The command is rocdoctor diff."
)
_Found = tuple[Snapshot, Comparison]


class ComparePage(Page):
    """Other evidence and this machine side by side, as ``rocdoctor diff`` tells it."""

    AREA = "compare"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "other", "Open", tooltip="the other evidence: a bundle, a folder, an archive or a text"),
        Binding("y", "copy", "Copy all", tooltip="copy the whole comparison as text"),
        Binding("escape", "leave", "Back", show=False),
    ]
    HELP_KEYS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("up, down", "scroll; also j, k, page up and page down"),
        ("escape", "stop reading, otherwise back to the overview"),
    )
    CSS = """
    ComparePage #compare-head { height: auto; padding: 0 1; }
    ComparePage #differences { height: 1fr; padding: 0 1; }
    """
    AUTO_FOCUS = "#differences"

    def __init__(self) -> None:
        super().__init__()
        self._other: Snapshot | None = None
        self._found: Comparison | None = None
        self._of: tuple[Host, Diagnosis] | None = None  # what was compared last
        self._work: Background[_Found] | None = None

    def body(self) -> ComposeResult:
        """What is compared, and the differences."""
        yield FlowText(id="compare-head")
        yield Lines(id="differences")

    @property
    def at_work(self) -> bool:
        """Whether evidence is being read or compared."""
        return self._work is not None and self._work.running

    def show(self, look: Look) -> None:
        """Compare again where this machine was judged anew, or other evidence is open."""
        now = self._judged()
        if self._other is not None and now is not None and now != self._of and not self.at_work:
            self._compare(now)
        elif self._other is None and not self.at_work:
            self._say(_HINT)
        self.refresh_bindings()

    def _judged(self) -> tuple[Host, Diagnosis] | None:
        """What is known of this machine, once it is all that there is to know."""
        look = self.look
        return None if look.diagnosis is None or look.preliminary else (self.rocdoctor.host, look.diagnosis)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """There may be nothing to copy."""
        return action != "copy" or self._found is not None

    def _say(self, words: str) -> None:
        self.query_one("#compare-head", FlowText).set(lambda width: Text(words))

    def _say_instead(self, words: str) -> None:
        """Why there is no new comparison, beside the last one that may still stand there."""
        self._say(words + (" Below is the last comparison." if self._found is not None else ""))

    def action_other(self) -> None:
        """Ask for a path, read what lies there, compare."""

        def start(path: str) -> None:
            now = self._judged()
            if now is None:
                self._say("This machine is still being looked at: o asks again.")
                return
            self._begin(now, f"Reading {one_line(path)} ... (Escape stops)", path)

        open_evidence.ask(self.rocdoctor, start)

    def _compare(self, now: tuple[Host, Diagnosis]) -> None:
        self._begin(now, "Comparing again ...")

    def _begin(self, now: tuple[Host, Diagnosis], words: str, path: str = "") -> None:
        if self._work is not None:
            self._work.cancel()
        self._say(words)
        kept = self._other

        def work(task: Background[_Found]) -> _Found:
            before = kept if kept is not None and not path else other(path)
            return before, beside(before, *now)

        def done(found: _Found) -> None:
            self._other, self._found = found
            self._of = now
            self._say("From the other evidence to this machine (o opens other evidence):")
            self.query_one("#differences", Lines).put(lambda width: report(found[1], width))
            self.refresh_bindings()
            self.show(self.look)  # this machine may have been judged anew meanwhile

        def failed(error: Exception) -> None:
            words = one_line(str(error)).rstrip(".") or type(error).__name__
            self._say_instead(f"Not readable: {words}.")

        self._work = Background(self.app, work, done, failed)

    def action_copy(self) -> None:
        """The comparison as text."""
        if self._found is not None:
            lines = report(self._found, 100)
            self.rocdoctor.copy("\n".join(lines) + "\n", f"the comparison, {len(lines)} lines")

    def action_leave(self) -> None:
        """Stop what is being read, else go to the overview."""
        if self._work is not None and self._work.running:
            self._work.cancel()
            self._say_instead("Stopped. o opens other evidence.")
        else:
            self.app.run_worker(self.rocdoctor.action_area("overview"))

"""The machine and the one thing to do first."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Static

from rocdoctor.model.printable import clean, one_line
from rocdoctor.tui.look import Look
from rocdoctor.tui.page import Page
from rocdoctor.tui.widgets.flow import FlowText


class OverviewPage(Page):
    """What to do first, the machine, what else was found, what is unknown."""

    AREA = "overview"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "app.area('findings')", "Findings"),
        Binding("c", "copy", "Copy command"),
    ]
    CSS = """
    OverviewPage #first { border: round $accent; padding: 0 1; height: auto; }
    OverviewPage .part { padding: 0 2; height: auto; margin-top: 1; }
    """

    def body(self) -> ComposeResult:
        """Parts below each other."""
        with VerticalScroll(id="overview"):
            first = FlowText(id="first")
            first.update("Asking the machine. What is known appears at once, slow tools follow.")
            first.border_title = "in short"
            yield first
            yield FlowText(id="card", classes="part")
            yield FlowText(id="found", classes="part")
            yield FlowText(id="unknown", classes="part")

    def show(self, look: Look) -> None:
        """Fill the parts."""
        if look.phase == "failed" and look.diagnosis is None:
            self.query_one("#first", Static).update(Text(f"rocdoctor itself failed: {one_line(look.problem)}"))
        if look.diagnosis is None:
            return
        from rocdoctor.tui.overview import (
            drawing as overview,  # the first frame does not wait for what checks and reports need
        )

        first = self.query_one("#first", FlowText)
        first.border_title = overview.first_title(look.diagnosis)
        first.set(partial(overview.first, look.diagnosis, look.preliminary))
        self.refresh_bindings()
        self.query_one("#card", FlowText).set(partial(overview.card, look.diagnosis))
        self.query_one("#found", FlowText).set(partial(overview.found_parts, look.diagnosis))
        self.query_one("#unknown", FlowText).set(partial(overview.unknown, look.diagnosis))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """There may be nothing to copy."""
        return action != "copy" or bool(self._command())

    def _command(self) -> str:
        if self.look.diagnosis is None:
            return ""
        from rocdoctor.report.diagnosis.headline import headline

        return clean(headline(self.look.diagnosis).command)

    def action_copy(self) -> None:
        """The command to do first, to the clipboard."""
        self.app.copy_to_clipboard(self._command())
        self.notify("copied: " + self._command(), markup=False)

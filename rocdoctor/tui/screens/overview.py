"""The machine and the one thing to do first."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Static

from rocdoctor.check import SEVERITIES
from rocdoctor.diagnose import Diagnosis
from rocdoctor.report.clean import clean, one_line
from rocdoctor.report.headline import headline
from rocdoctor.report.subjects import grouped, subject_parts
from rocdoctor.report.summary import HEAD, machine_lines
from rocdoctor.report.text import wrap
from rocdoctor.report.unanswered import unanswered_lines
from rocdoctor.tui.look import Look
from rocdoctor.tui.page import Page
from rocdoctor.tui.style import SEVERITY_STYLE
from rocdoctor.tui.widgets.flow import Flow

_MOST = 8


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
            first = Static("Asking the machine. What is known appears at once, slow tools follow.", id="first")
            first.border_title = "do first"
            yield first
            yield Flow(id="card", classes="part")
            yield Flow(id="found", classes="part")
            yield Flow(id="unknown", classes="part")

    def show(self, look: Look) -> None:
        """Fill the parts."""
        if look.phase == "failed" and look.diagnosis is None:
            self.query_one("#first", Static).update(Text(f"rocdoctor itself failed: {one_line(look.problem)}"))
        if look.diagnosis is None:
            return
        self.query_one("#first", Static).update(_first(look.diagnosis, look.preliminary))
        self.query_one("#card", Flow).set(partial(_card, look.diagnosis))
        self.query_one("#found", Flow).set(partial(_found, look.diagnosis))
        self.query_one("#unknown", Flow).set(partial(_unknown, look.diagnosis))

    def action_copy(self) -> None:
        """The command to do first, to the clipboard."""
        command = headline(self.look.diagnosis).command if self.look.diagnosis else ""
        if command:
            self.app.copy_to_clipboard(clean(command))
            self.notify("copied: " + clean(command), markup=False)
        else:
            self.notify("there is no command to copy")


def _first(diagnosis: Diagnosis, preliminary: bool) -> Text:
    said = headline(diagnosis)
    text = Text(one_line(said.text), style="bold")
    if said.command:
        text.append(f"\n  {clean(said.command)}", style="not bold")
    if said.because:
        text.append(f"\nbecause of {said.because}", style="not bold dim")
    if preliminary:
        text.append("\nNot everything has answered yet; this may change.", style="not bold italic")
    return text


def _card(diagnosis: Diagnosis, width: int) -> Text:
    text = Text()
    for line in machine_lines(diagnosis.machine):
        for part in wrap(line, width, "", " " * (HEAD + 1)):
            text.append(part[:HEAD], style="bold")
            text.append(part[HEAD:] + "\n")
    text.rstrip()
    return text


def _found(diagnosis: Diagnosis, width: int) -> Text:
    groups = grouped(diagnosis.verdicts)
    counts = Counter(found.severity for found, _, _ in groups)
    text = Text()
    named = [f"{counts[one]} {_NAMES[one]}{'' if counts[one] == 1 else 's'}" for one in SEVERITIES if counts[one]]
    states = ", ".join(f"{number} {words}" for state, words in _STATES if (number := diagnosis.count(state)))
    said = f"{'found':<{HEAD}} {', '.join(named) or 'nothing wrong'}; verdicts: {states}"
    first, *rest = wrap(said, width, "", " " * (HEAD + 1))
    text.append(first[:HEAD], style="bold")
    text.append("\n".join([first[HEAD:], *rest]))
    for found, name, subjects in groups[:_MOST]:
        where, _ = subject_parts(subjects)
        text.append(f"\n  {found.severity:<7} ", style=SEVERITY_STYLE[found.severity])
        text.append(f"{name}  ")
        text.append("" if where == "machine" else where, style="dim")
    if len(groups) > _MOST:
        text.append(f"\n  ... and {len(groups) - _MOST} more (key 2)")
    return text


def _unknown(diagnosis: Diagnosis, width: int) -> Text:
    text = Text()
    for line in unanswered_lines(diagnosis.machine.unanswered, False):
        text.append("\n".join(wrap(line, width, "", "  ")) + "\n")
    if diagnosis.next:
        text.append("to know more\n", style="bold")
    for step in diagnosis.next:
        text.append(f"  {clean(step.command)}\n")
        text.append("\n".join(wrap(one_line(step.why), width, "      ")) + "\n", style="dim")
    text.rstrip()
    return text


_NAMES = {"error": "error", "warning": "warning", "info": "note"}
_STATES = (("pass", "passed"), ("unknown", "unknown"), ("not-applicable", "not applicable"), ("crashed", "crashed"))

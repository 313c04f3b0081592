"""Keys, screens, and where more is told."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from rocdoctor.tui.areas import AREAS

_KEYS = (
    ("1 to 9", "the screens above"), ("t", "the report as plain text"), ("r", "ask everything again"),
    ("b", "back to the evidence that was open before"), ("ctrl+p", "all commands by name"), ("q", "leave"),
)  # fmt: skip


class HelpPanel(ModalScreen[None]):
    """What can be done here."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,question_mark,enter", "dismiss", "Close"),
    ]
    CSS = """
    HelpPanel { align: center middle; }
    HelpPanel #help { width: 76; max-width: 96%; height: auto; max-height: 90%; border: round $accent;
        background: $surface; padding: 0 1; }
    """

    def compose(self) -> ComposeResult:
        """One text."""
        with VerticalScroll(id="help") as panel:
            panel.border_title = "help (Escape closes)"
            yield Static(_text())


def _text() -> Text:
    text = Text()
    for number, area in enumerate(AREAS, start=1):
        text.append(f"{number}  {area.name:<10}", style="bold")
        text.append(f"{area.about}\n")
    for key, what in _KEYS:
        text.append(f"\n{key:<13}", style="bold")
        text.append(what)
    text.append("\n\nWithout screens: rocdoctor check, rocdoctor --help. A finding's page: rocdoctor explain NAME.")
    return text

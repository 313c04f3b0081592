"""A text to read over a screen, such as a manual page."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from rocdoctor.model.printable import clean
from rocdoctor.tui.draw.links import linked


class Reader(ModalScreen[None]):
    """One text that scrolls; Escape closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,enter", "dismiss(None)", "Close")]
    CSS = """
    Reader { align: center middle; }
    Reader #reader { width: 100; max-width: 98%; height: auto; max-height: 96%; border: round $accent;
        background: $surface; padding: 0 1; }
    """

    def __init__(self, title: str, text: str) -> None:
        super().__init__()
        self._title, self._text = title, text

    def compose(self) -> ComposeResult:
        """The text."""
        with VerticalScroll(id="reader") as frame:
            frame.border_title = f"{self._title} (Escape closes)"
            yield Static(linked(Text(clean(self._text).rstrip("\n"))))

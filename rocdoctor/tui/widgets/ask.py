"""Small questions over a screen: one line of text, or yes or no. Escape takes them away."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Button, Input, Static

from rocdoctor.model.printable import clean

_FRAME = """
{name} {{ align: center middle; }}
{name} #ask {{ width: 72; max-width: 96%; height: auto; max-height: 90%; border: round $accent; background: $surface;
    padding: 0 1; }}
{name} #ask-note {{ height: auto; margin-top: 1; }}
{name} Horizontal {{ height: auto; }}
{name} Button {{ height: 1; border: none; min-width: 12; margin: 1 2 0 0; }}
"""


class Ask(ModalScreen[str | None]):
    """One line of text, such as a path; None where the person thought better of it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", "Cancel")]
    CSS = _FRAME.format(name="Ask") + "Ask Input { height: 1; border: none; background: $boost; }"

    def __init__(self, title: str, value: str = "", note: str = "", done: str = "OK") -> None:
        super().__init__()
        self._title, self._value, self._note, self._done = title, value, note, done

    def compose(self) -> ComposeResult:
        """The line, what it is for, and buttons for the mouse."""
        with Vertical(id="ask") as box:
            box.border_title = self._title
            yield Input(self._value)
            yield Static(Text(clean(self._note)), id="ask-note")
            with Horizontal():
                yield Button(f"Enter {self._done}", id="ask-done")
                yield Button("Esc Cancel", id="ask-cancel")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Give the answer; an empty line is none."""
        self._answer(event.value)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """The same by mouse."""
        self._answer(self.query_one(Input).value if event.button.id == "ask-done" else "")

    def _answer(self, value: str) -> None:
        self.dismiss(value.strip() or None)


class Confirm(ModalScreen[bool]):
    """Yes or no; no is what Escape and Enter mean."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "dismiss(True)", "Yes"),
        Binding("n,escape", "dismiss(False)", "No"),
    ]
    CSS = _FRAME.format(name="Confirm")

    def __init__(self, title: str, question: str, yes: str) -> None:
        super().__init__()
        self._title, self._question, self._yes = title, question, yes

    def compose(self) -> ComposeResult:
        """The question, and both answers."""
        with Vertical(id="ask") as box:
            box.border_title = self._title
            yield Static(Text(clean(self._question)), id="ask-note")
            with Horizontal():
                yield Button("n No", id="ask-no")
                yield Button(f"y {self._yes}", id="ask-yes")

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """The same by mouse."""
        self.dismiss(event.button.id == "ask-yes")

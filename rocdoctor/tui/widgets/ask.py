"""Small questions over a screen: one line of text, or yes or no. Escape takes them away."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.events import Resize
from textual.screen import ModalScreen
from textual.widgets import Button, Input, Static

from rocdoctor.model.printable import clean

_AROUND = 5  # rows: border, space above the question and the answers, the answers
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
    """Yes or no; no is what Escape and Enter mean. A long question scrolls, and yes waits until its end was shown."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "agree", "Yes"),
        Binding("n,escape", "dismiss(False)", "No"),
        Binding("up", "scroll('up')", show=False),
        Binding("down", "scroll('down')", show=False),
        Binding("space,pagedown", "scroll('page_down')", show=False),
        Binding("backspace,pageup", "scroll('page_up')", show=False),
        Binding("home", "scroll('home')", show=False),
        Binding("end", "scroll('end')", show=False),
    ]
    AUTO_FOCUS = "#ask-no"
    CSS = _FRAME.format(name="Confirm") + "Confirm #ask-scroll { height: auto; }"

    def __init__(self, title: str, question: str, yes: str) -> None:
        super().__init__()
        self._title, self._question, self._yes = title, question, yes
        self._read = False

    def compose(self) -> ComposeResult:
        """The question, and both answers, which stay in sight."""
        with Vertical(id="ask") as box:
            box.border_title = self._title
            with VerticalScroll(id="ask-scroll", can_focus=False):
                yield Static(Text(clean(self._question)), id="ask-note")
            with Horizontal():
                yield Button("n No", id="ask-no")
                yield Button(f"y {self._yes}", id="ask-yes", disabled=True)

    def on_mount(self) -> None:
        """See how far it is read."""
        frame = self.query_one("#ask-scroll")
        for name in ("scroll_y", "virtual_size", "size"):
            self.watch(frame, name, self._moved, init=False)

    def on_resize(self, event: Resize) -> None:
        """Leave the answers their room."""
        self.query_one("#ask-scroll").styles.max_height = max(1, event.size.height * 9 // 10 - _AROUND)
        self.call_after_refresh(self._look)

    def _moved(self) -> None:
        self.call_after_refresh(self._look)

    def _look(self) -> None:
        frame = self.query_one("#ask-scroll")
        if not frame.size.height or not frame.virtual_size.height:  # it has no place yet
            return
        below = frame.scroll_y < frame.max_scroll_y
        self._read = self._read or not below
        self.query_one("#ask-yes", Button).disabled = not self._read
        more = "more below: space" + ("" if self._read else ", then y")
        self.query_one("#ask").border_subtitle = more if below else ""

    def action_scroll(self, way: str) -> None:
        """Move the question."""
        getattr(self.query_one("#ask-scroll"), f"scroll_{way}")(animate=False)

    def action_agree(self) -> None:
        """Yes, where all of the question was shown."""
        if self._read:
            self.dismiss(True)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """The same by mouse."""
        if event.button.id == "ask-yes":
            self.action_agree()
        else:
            self.dismiss(False)

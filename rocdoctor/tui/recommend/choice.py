"""One of a few values, in one line: left and right change it, and so does a click."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.reactive import reactive
from textual.widgets import Static


class ChoiceField(Static, can_focus=True):
    """``options`` are (value, what it means)."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "step(-1)", "Before", show=False),
        Binding("right,space", "step(1)", "Next", show=False),
    ]
    index: reactive[int] = reactive(0, init=False)

    class Changed(Message):
        """Another value is chosen."""

        def __init__(self, choice: ChoiceField) -> None:
            super().__init__()
            self.choice = choice

        @property
        def control(self) -> ChoiceField:
            """The line."""
            return self.choice

    def __init__(self, options: Sequence[tuple[str, str]], *, empty: str = "any", **others: Any) -> None:
        """``empty`` is shown for a value of no characters; ``others`` are those of a ``Static``."""
        super().__init__(**others)
        self.options, self._empty = tuple(options), empty

    @property
    def value(self) -> str:
        """The chosen value."""
        return self.options[self.index][0]

    @value.setter
    def value(self, value: str) -> None:
        self.index = next((at for at, (one, _) in enumerate(self.options) if one == value), 0)

    @property
    def meaning(self) -> str:
        """What the chosen value means."""
        return self.options[self.index][1]

    def on_mount(self) -> None:
        """Show it."""
        self._draw()

    def watch_index(self) -> None:
        """Show and tell."""
        self._draw()
        self.post_message(self.Changed(self))

    def _draw(self) -> None:
        self.update(Text(f"< {self.value or self._empty} >", no_wrap=True), layout=False)  # a line of a given width

    def action_step(self, by: int) -> None:
        """The value before or after; behind the last comes the first."""
        self.index = (self.index + by) % len(self.options)

    def on_click(self) -> None:
        """The next value."""
        self.action_step(1)

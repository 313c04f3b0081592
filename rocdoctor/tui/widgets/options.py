"""A list of options: the highlighted one stays in view whatever room the list gets."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import OptionList


class Options(OptionList):
    """An ``OptionList`` that scrolls to its highlighted option again when it has got another size.

    Textual scrolls once, when an option is highlighted: a list that is laid out anew afterwards may hide it.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor_down", "Down", show=False),
        Binding("k", "cursor_up", "Up", show=False),
    ]

    def on_resize(self) -> None:
        """Scroll once the new size is laid out."""
        self.call_after_refresh(self.scroll_to_highlight)

"""A text area that stays quick: what is too large for it goes to its screen instead."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.events import Paste
from textual.message import Message
from textual.widgets import TextArea

from rocdoctor.model.printable import clean
from rocdoctor.tui.paste.diagnosis import LARGE, unix


class PasteArea(TextArea):
    """Takes pasted text without control sequences; ``TooLarge`` tells of a paste that it did not take."""

    # Where ? and digits are typed, these keys lead to the help and to the screens.
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f1", "app.help", "Help"),
        Binding("ctrl+p", "app.command_palette", "Commands", key_display="^p"),
    ]

    class TooLarge(Message):
        """A paste that is to be kept elsewhere."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    async def _on_paste(self, event: Paste) -> None:
        """Take it, or pass it on."""
        event.stop()
        if len(event.text) > LARGE:
            event.prevent_default()
            self.post_message(self.TooLarge(event.text))
        else:
            event.text = clean(unix(event.text))

"""A list of options: the highlighted one stays in view whatever room the list gets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Literal

from textual.app import App
from textual.binding import Binding, BindingType
from textual.events import Click
from textual.widgets import OptionList

from rocdoctor.tui.widgets.ask import Ask


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

    def _move_page(self, direction: Literal[-1, 1]) -> None:
        """A page up or down, where there is room: Textual has no place of any option before it knows the width."""
        if self.scrollable_content_region:
            super()._move_page(direction)


class RowOptions(Options):
    """A list where a click goes to a row, as arrows do, and only one on the row of the cursor does what Enter does."""

    def on_click(self, event: Click) -> None:
        """Textual's own list takes each click for Enter."""
        clicked = event.style.meta.get("option")
        if clicked is not None and clicked != self.highlighted:
            event.prevent_default()
            if not self.get_option_at_index(clicked).disabled:
                self.highlighted = clicked


def ask_words(app: App[Any], before: str, find: Callable[[str], bool], unit: str = "row") -> None:
    """Ask for words, those of last time standing there; ``find`` goes to them, and says whether there are some."""

    def answered(words: str | None) -> None:
        if words is not None and not find(words):
            app.notify(f"no {unit} has '{words}'", markup=False)

    app.push_screen(Ask("search", before, f"Words of a {unit}; the next one that has all of them.", "Go"), answered)


class SearchedOptions(Options):
    """A list with a search: ``/`` asks for words and goes to the next row that has all of them."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "find", "Search", key_display="/", tooltip="go to the next row with some words"),
    ]
    words = ""

    def action_find(self) -> None:
        """Ask for the words; those of last time stand there."""

        def find(words: str) -> bool:
            self.words = words
            return self.find(words)

        ask_words(self.app, self.words, find)

    def find(self, words: str) -> bool:
        """Highlight the next row that has the words, from the top again after the last; whether there is one."""
        wanted, count = words.lower().split(), self.option_count
        first = 0 if self.highlighted is None else self.highlighted + 1
        for at in (number % count for number in range(first, first + count)):
            option = self.get_option_at_index(at)
            said = str(getattr(option.prompt, "plain", option.prompt)).lower()
            if not option.disabled and all(word in said for word in wanted):
                self.highlighted = at
                return True
        return False


class SearchedRowOptions(SearchedOptions, RowOptions):
    """A list with a search, where a click goes to a row."""

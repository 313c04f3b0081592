"""A drawing of many lines: only those in sight are rendered, and a part of them may be selected."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text
from textual.events import Click
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

_MARK, _NO_MARK = "▸ ", "  "
_ABOVE = 2  # lines above a selected part that come into sight with it


class Drawn(ScrollView, can_focus=False):
    """Lines; ``parts`` names for each line the part that it belongs to, or None. The selected part has a mark."""

    class Picked(Message):
        """A part was clicked on."""

        def __init__(self, part: int) -> None:
            super().__init__()
            self.part = part

    class Measured(Message):
        """The drawing has another width."""

    DEFAULT_CSS = "Drawn { overflow-x: hidden; overflow-y: auto; }"

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._lines: Sequence[Text] = ()
        self._parts: Sequence[int | None] = ()
        self._selected: int | None = None

    @property
    def room(self) -> int:
        """The cells that a line may take."""
        return max(1, self.outer_size.width - len(_MARK) - self.styles.scrollbar_size_vertical)

    def put(self, lines: Sequence[Text], parts: Sequence[int | None]) -> None:
        """Show other lines; how far they are scrolled stays."""
        self._lines, self._parts = lines, parts
        self.virtual_size = Size(self.scrollable_content_region.width, len(lines))
        self.refresh()

    def select(self, part: int | None, seen: bool = True) -> None:
        """Mark a part, and bring it into sight where ``seen``."""
        self._selected = part
        self.refresh()
        if seen and part in self._parts:
            first = max(0, self._parts.index(part) - _ABOVE)
            self.scroll_to_region(Region(0, first, 1, _ABOVE + self._parts.count(part)), animate=False)

    def in_sight(self, part: int | None) -> bool:
        """Whether the first line of a part is on the screen."""
        if part not in self._parts:
            return False
        top = round(self.scroll_y)
        return top <= self._parts.index(part) < top + self.size.height

    def render_line(self, y: int) -> Strip:
        """One line with its mark."""
        at = y + round(self.scroll_y)
        width = self.size.width
        if at >= len(self._lines):
            return Strip.blank(width, self.rich_style)
        part = self._parts[at]
        chosen = part is not None and part == self._selected
        first = chosen and (at == 0 or self._parts[at - 1] != part)
        if first:
            line = Text(no_wrap=True, end="").append(_MARK + self._lines[at].plain, style="bold reverse")
        else:
            line = Text(_NO_MARK, no_wrap=True, end="").append_text(self._lines[at])
        strip = Strip(list(line.render(self.app.console)))
        return strip.adjust_cell_length(width).apply_style(self.rich_style)

    def on_resize(self) -> None:
        """Say so: lines are made for a width."""
        self.post_message(self.Measured())

    def on_click(self, event: Click) -> None:
        """Pick what stands under the pointer."""
        at = event.y + round(self.scroll_y)
        part = self._parts[at] if at < len(self._parts) else None
        if part is not None:
            self.post_message(self.Picked(part))

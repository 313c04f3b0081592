"""A drawing of many lines: only those in sight are rendered, and a part of them may be selected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.text import Text
from textual.events import Click
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from rocdoctor.tui.topology.boxes import Spot

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

    DEFAULT_CSS = "Drawn { overflow-x: hidden; overflow-y: auto; scrollbar-gutter: stable; }"
    MARKED = True

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._lines: Sequence[Text] = ()
        self._parts: Sequence[int | None] = ()
        self._selected: int | None = None
        self._strips: dict[int, Strip] = {}
        self._spots: Mapping[int, Spot] = {}
        self._pointed: tuple[int, Sequence[str]] = (-1, ())

    @property
    def room(self) -> int:
        """The cells that a line may take; ``gutter`` has the room of the scrollbar, whether one is seen or not."""
        return max(1, self.outer_size.width - self.gutter.width - (len(_MARK) if self.MARKED else 0))

    def put(
        self, lines: Sequence[Text], parts: Sequence[int | None] = (), spots: Mapping[int, Spot] | None = None
    ) -> None:
        """Show other lines; how far they are scrolled stays. ``spots``: places of parts that share lines."""
        self._lines, self._parts, self._spots = lines, parts, spots or {}
        self._pointed = (-1, ())
        self._strips.clear()
        self.virtual_size = Size(self.scrollable_content_region.width, len(lines))
        self.refresh()

    def select(self, part: int | None, seen: bool = True) -> None:
        """Mark a part, and bring it into sight where ``seen``."""
        before, self._selected = self._selected, part
        for one in {before, part}:
            if one in self._parts:
                at = self._parts.index(one)
                self._strips.pop(at, None)
                self.refresh(Region(0, at - round(self.scroll_y), self.size.width, 1))
        if seen and part in self._parts:
            first = max(0, self._parts.index(part) - _ABOVE)
            region = Region(0, first, 1, _ABOVE + self._parts.count(part))
            self.scroll_to_region(region, animate=False, force=True)  # also before it has its scrollbar

    def show_spot(self, part: int) -> None:
        """Bring a part that has a place into sight."""
        if part in self._spots:
            x, y, wide, tall = self._spots[part]
            self.scroll_to_region(Region(0, y, x + wide, tall), animate=False, force=True)

    def point(self, at: int, words: Sequence[str]) -> None:
        """Bring a line into sight, its words of these reversed until other lines are shown."""
        before, self._pointed = self._pointed[0], (at, words)
        for one in (before, at):
            self._strips.pop(one, None)
        self.refresh()
        self.scroll_to_region(Region(0, max(0, at - _ABOVE), 1, 2 * _ABOVE + 1), animate=False, force=True)

    def in_sight(self, part: int | None) -> bool:
        """Whether the first line of a part is on the screen."""
        if part not in self._parts:
            return False
        top = round(self.scroll_y)
        return top <= self._parts.index(part) < top + self.size.height

    def render_line(self, y: int) -> Strip:
        """One line with its mark."""
        at, width = y + round(self.scroll_y), self.size.width
        if at >= len(self._lines):
            return Strip.blank(width, self.rich_style)
        strip = self._strips.get(at)
        if strip is None:
            strip = self._strips[at] = Strip(list(self._marked(at).render(self.app.console)))
        return strip.adjust_cell_length(width).apply_style(self.rich_style)

    def _marked(self, at: int) -> Text:
        line = self._lines[at]
        if at == self._pointed[0]:
            line = line.copy()
            line.highlight_words(self._pointed[1], "reverse", case_sensitive=False)
        if not self.MARKED:
            return line
        part = self._parts[at]
        if part is not None and part == self._selected and self._parts.index(part) == at:
            return Text(no_wrap=True, end="").append(_MARK + self._lines[at].plain, style="bold reverse")
        return Text(_NO_MARK, no_wrap=True, end="").append_text(line)

    def on_resize(self) -> None:
        """Say so: lines are made for a width."""
        self.post_message(self.Measured())

    def on_click(self, event: Click) -> None:
        """Pick what stands under the pointer."""
        place = event.get_content_offset(self)
        at = place.y + round(self.scroll_y) if place is not None else len(self._parts)
        part = self._parts[at] if at < len(self._parts) else None
        x = place.x - len(_NO_MARK) if place is not None else -1
        for one, (left, top, wide, tall) in self._spots.items():
            if left <= x < left + wide and top <= at < top + tall:
                part = one
        if part is not None:
            self.post_message(self.Picked(part))


class DrawnPane(Drawn, can_focus=True):
    """Lines without a selection, which the keys scroll where it has the focus."""

    MARKED = False

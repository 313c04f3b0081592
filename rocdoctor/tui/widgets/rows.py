"""A list of any length: only the rows that are seen are drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from rich.segment import Segment
from rich.text import Text
from textual.binding import Binding, BindingType
from textual.events import Click, Resize
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

Draw = Callable[[int, int], Text]
Cut = Callable[[int], Sequence[str]]
Mark = Callable[[str], Sequence[tuple[int, int]]]


class Rows(ScrollView, can_focus=True):
    """``count`` rows, each drawn by ``draw(index, width)``; with a cursor unless it is only to be read.

    A row has ``tall`` lines; of a drawing with fewer the rest is blank.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("k", "move(-1)", "Up", show=False),
        Binding("j", "move(1)", "Down", show=False),
        Binding("up", "move(-1)", "Up", show=False),
        Binding("down", "move(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home", "end(0)", "First", show=False),
        Binding("end", "end(1)", "Last", show=False),
    ]
    # The width is the same with and without a scrollbar, so that lines cut for it stay whole.
    DEFAULT_CSS = "Rows { scrollbar-gutter: stable; }"
    cursor: reactive[int] = reactive(0, init=False)

    class Moved(Message):
        """The cursor stands on another row."""

        def __init__(self, rows: Rows, index: int) -> None:
            super().__init__()
            self.rows, self.index = rows, index

        @property
        def control(self) -> Rows:
            """The list."""
            return self.rows

    class Chosen(Message):
        """A row was clicked on while the cursor stood on it."""

        def __init__(self, rows: Rows, index: int) -> None:
            super().__init__()
            self.rows, self.index = rows, index

        @property
        def control(self) -> Rows:
            """The list."""
            return self.rows

    def __init__(self, *, readonly: bool = False, **options: Any) -> None:
        """``options`` are those of a widget (id, classes)."""
        super().__init__(**options)
        self.readonly = readonly
        self.count, self.tall = 0, 1
        self._draw: Draw = lambda index, width: Text()

    def set(self, count: int, draw: Draw, cursor: int = 0, tall: int = 1) -> None:
        """Show other rows; the cursor goes to ``cursor``, or to the nearest row that there is."""
        self.count, self._draw, self.tall = count, draw, tall
        self._measure()
        if self.is_attached and not self.size and count * tall > self.app.size.height:
            self.show_vertical_scrollbar = self.vertical_scrollbar.display = True  # there in the first layout
        elif self.is_attached and self.size:
            # With the rows, or the bar would be drawn empty before it goes, and over rows before it comes.
            self.show_vertical_scrollbar = count * tall > self.scrollable_content_region.height
        wanted = max(0, min(cursor, count - 1))
        if wanted == self.cursor:
            self._seen()
        self.cursor = wanted
        self.refresh()

    def _measure(self) -> None:
        self.virtual_size = Size(self.scrollable_content_region.width, self.count * self.tall)

    def on_resize(self, event: Resize) -> None:
        """Rows are as wide as the list."""
        self._measure()
        self.refresh()

    def watch_cursor(self, old: int, new: int) -> None:
        """Keep the cursor in sight, and say where it is."""
        self._seen()
        self.refresh()
        self.post_message(self.Moved(self, new))

    def _seen(self) -> None:
        if self.readonly:
            self.scroll_to(y=0, animate=False)
        else:
            self.scroll_to_region(Region(0, self.cursor * self.tall, 1, self.tall), animate=False)

    def render_line(self, y: int) -> Strip:
        """One line of a row."""
        width = self.scrollable_content_region.width
        index, part = divmod(y + int(self.scroll_offset.y), self.tall)
        if index >= self.count:
            return Strip.blank(self.size.width, self.rich_style)
        text = self._draw(index, width)
        if self.tall > 1:
            lines = text.split("\n")
            text = lines[part] if part < len(lines) else Text()
        text.truncate(width, overflow="ellipsis")
        segments = [one for one in text.render(self.app.console) if one.text != "\n"]
        strip = Strip([Segment(one.text, one.style) for one in segments]).adjust_cell_length(width)
        if index == self.cursor and not self.readonly:
            # Reverse is seen without colours too; the mark in front of a row is the caller's.
            style = self.rich_style + self.app.console.get_style("reverse" if self.has_focus else "bold underline")
            return strip.apply_style(style)
        return strip.apply_style(self.rich_style)

    def action_move(self, by: int) -> None:
        """One row up or down."""
        if self.readonly:
            self.scroll_relative(y=by, animate=False)
        elif self.count:
            self.cursor = max(0, min(self.cursor + by, self.count - 1))

    def action_page(self, by: int) -> None:
        """One height up or down."""
        self.action_move(by * max(1, self.scrollable_content_region.height - 1))

    def action_end(self, last: int) -> None:
        """The first row or the last."""
        self.action_move(self.count if last else -self.count)

    def on_click(self, event: Click) -> None:
        """Go to the row under the pointer; a click on the row of the cursor chooses it."""
        place = event.get_content_offset(self)
        index = (place.y + int(self.scroll_offset.y)) // self.tall if place is not None else self.count
        if self.readonly or index >= self.count:
            return
        if index == self.cursor:
            self.post_message(self.Chosen(self, index))
        self.cursor = index


class Lines(Rows):
    """A text to be read, as the lines that it has in this width."""

    def __init__(self, **options: Any) -> None:
        """``options`` are those of a widget (id, classes)."""
        super().__init__(readonly=True, **options)
        self._cut: Cut | None = None
        self._mark: Mark = lambda line: ()
        self._lines: Sequence[str] = ()
        self._step = -1
        self._width = 0

    def put(self, cut: Cut | None, mark: Mark | None = None) -> None:
        """Show the lines of ``cut(width)``, from the first on; None shows nothing. ``mark``: parts to show reversed."""
        self._cut, self._step = cut, -1
        self._mark = mark or (lambda line: ())
        self._lay()

    def step(self) -> bool:
        """Go to the next line with a marked part; whether there is one."""
        at = next((one for one in range(self._step + 1, len(self._lines)) if self._mark(self._lines[one])), None)
        if at is None:
            return False
        self._step = at
        middle = max(0, at - self.scrollable_content_region.height // 2)
        self.scroll_to(y=middle, animate=False, force=True)  # its bar may not be there yet
        return True

    def on_resize(self, event: Resize) -> None:
        """Lines for another width."""
        if self.scrollable_content_region.width != self._width:
            self._lay()

    def _lay(self) -> None:
        self._width = self.scrollable_content_region.width
        self._lines = self._cut(self._width) if self._cut is not None and self._width > 0 else ()
        self._step = -1
        self.set(len(self._lines), self._drawn)

    def _drawn(self, index: int, width: int) -> Text:
        text = Text(self._lines[index])
        for start, end in self._mark(text.plain):
            text.stylize("reverse", start, end)
        return text

"""Texts that are laid out for the room that they have got, and anew for another: the one place where that is done.

The room of a scrollbar is always kept free (app.tcss), so it does not depend on what is laid out in it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.console import RenderableType
from rich.text import Text
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.geometry import Size
from textual.scrollbar import ScrollBar

from rocdoctor.tui.widgets.painted import Painted

Make = Callable[[int], Text]
Fill = Callable[[Size], RenderableType]


class FlowText(Painted):
    """Shows ``make(width)``; continued lines stand below their own text."""

    def __init__(self, make: Make | None = None, **options: Any) -> None:
        """``options`` are those of a ``Static`` (id, classes)."""
        super().__init__(**options)
        self._make = make
        self._width = 0

    def set(self, make: Make) -> None:
        """Show something else."""
        self._make = make
        self._draw()

    def on_resize(self) -> None:
        """Lay out for the new width."""
        if self.content_size.width != self._width:
            self._draw()

    def _draw(self) -> None:
        self._width = self.content_size.width
        if self._make is not None and self._width > 0:
            self.update(self._make(self._width))


class _StillBar(ScrollBar):
    """A scrollbar that asks for no second layout of the screen once it has got its size."""

    def _size_updated(self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True) -> bool:
        return super()._size_updated(size, virtual_size, container_size, layout=False)


class StillScroll(VerticalScroll):
    """Scrolls its parts; how long they are changes the room of none of them, since that of the bar is always kept.

    Textual would lay out the whole screen once more after each change of their length.
    """

    def _size_updated(self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True) -> bool:
        return super()._size_updated(size, virtual_size, container_size, layout=False)

    @property
    def vertical_scrollbar(self) -> ScrollBar:
        """Made when it is first asked for, as that of any other widget is."""
        if self._vertical_scrollbar is None:
            self._vertical_scrollbar = _StillBar(vertical=True, name="vertical", thickness=self.scrollbar_size_vertical)
            self._vertical_scrollbar.display = False
            self.app._start_widget(self, self._vertical_scrollbar)
        return self._vertical_scrollbar


class FlowFrame(StillScroll):
    """Scrolls what ``fill(size)`` gives for the width and the height of the frame."""

    def __init__(self, **options: Any) -> None:
        """``options`` are those of a container (id, classes)."""
        super().__init__(**options)
        self._fill: Fill | None = None
        self._room = Size()
        self._terminal = Size()  # that it was drawn for; in another one it gets another room

    def compose(self) -> ComposeResult:
        """One text."""
        yield Painted(id="one")

    def set(self, fill: Fill) -> None:
        """Show something else: for the room of now, and anew where what else changes now leaves another."""
        self._fill = fill
        if self._room and self.app.size == self._terminal:
            self._draw()
        else:
            self.call_after_refresh(self._draw)

    def on_resize(self) -> None:
        """Lay out for the new size."""
        if self.scrollable_content_region.size != self._room:
            self._draw()

    def _draw(self) -> None:
        self._room, self._terminal = self.scrollable_content_region.size, self.app.size
        if self._fill is not None and self._room:
            self.query_one("#one", Painted).update(self._fill(self._room))

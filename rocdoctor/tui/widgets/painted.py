"""A text of which only the lines that changed are painted: screens that look again every second cost little."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text
from textual.geometry import Region, Size
from textual.visual import VisualType
from textual.widgets import Static

if TYPE_CHECKING:
    from typing_extensions import Self

_OF_ALL = ("style", "justify", "overflow", "no_wrap")  # of the whole text; Rich compares words and spans alone


class Painted(Static):
    """A ``Static`` that paints what differs from what it shows, and is laid out anew only where its size may change."""

    _changed: tuple[Region, ...] = ()

    def update(self, content: VisualType = "", *, layout: bool = True) -> None:
        """Show something else; nothing is done where it is the same."""
        was, width = self.content, self.content_size.width
        if not (isinstance(content, Text) and isinstance(was, Text) and width and self.is_mounted):
            super().update(content, layout=layout)
            return
        if was == content and all(getattr(was, one) == getattr(content, one) for one in _OF_ALL):
            return
        lines = changed_lines(was, content, width)
        if lines is None:
            super().update(content, layout=layout)
            return
        self._changed = tuple(Region(0, line, width, 1) for line in lines)
        super().update(content, layout=False)
        self._changed = ()

    def _size_updated(self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True) -> bool:
        """A text has no parts whose places its new size may change: Textual would lay out the screen once more."""
        return super()._size_updated(size, virtual_size, container_size, layout=False)

    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Self:
        """Of an update only the changed lines."""
        return super().refresh(*(regions or self._changed), repaint=repaint, layout=layout, recompose=recompose)


def changed_lines(was: Text, now: Text, width: int) -> list[int] | None:
    """The numbers of the lines that differ; None where they cannot be told: one wraps, or there are more or fewer."""
    if was.justify != now.justify or was.style != now.style:
        return None
    before, after = was.split("\n", allow_blank=True), now.split("\n", allow_blank=True)
    if len(before) != len(after) or any(line.cell_len > width for text in (before, after) for line in text):
        return None
    return [at for at, (old, new) in enumerate(zip(before, after, strict=True)) if old != new]

"""Text that is laid out anew for each width, so that continued lines stand below their own text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.text import Text
from textual.widgets import Static

Make = Callable[[int], Text]


class Flow(Static):
    """Shows ``make(width)``; made again where the width changes."""

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

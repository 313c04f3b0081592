"""An app that draws no more cells than a person can see, whatever size a terminal claims to have."""

from __future__ import annotations

from textual.app import App
from textual.events import Event, Resize
from textual.geometry import Size

# Signs of five by ten pixels fill 1,536 columns and 432 rows of the largest monitors (7680 x 4320). Terminals, and
# COLUMNS and LINES, may claim anything: at 65,535 x 65,535 the screens took more than a gigabyte and never came.
MOST = Size(1600, 500)


def bounded(size: Size) -> Size:
    """The size, or its part at the upper left that is drawn."""
    return Size(min(size.width, MOST.width), min(size.height, MOST.height))


class BoundedApp(App[None]):
    """An app of at most that size."""

    @property
    def size(self) -> Size:
        """That of the terminal, as far as it is drawn on."""
        return bounded(super().size)

    async def on_event(self, event: Event) -> None:
        """Tell of a new size as far as it is drawn on."""
        if isinstance(event, Resize) and bounded(event.size) != event.size:
            event = Resize(bounded(event.size), bounded(event.virtual_size))
        await super().on_event(event)

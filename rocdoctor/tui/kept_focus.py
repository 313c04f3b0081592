"""Screens where keys go on going to the part that had them, though it was hidden meanwhile."""

from __future__ import annotations

from textual.screen import Screen
from textual.widget import Widget


def displayed(widget: Widget) -> bool:
    """Whether nothing hides a part, of those that it stands in neither."""
    return all(one.display for one in widget.ancestors_with_self if isinstance(one, Widget))


class KeptFocus(Screen[None]):
    """A part that is hidden gives the keys away, and has them again once it is shown, unless they were moved since.

    Textual gives them away some turns of its loop after the hiding, also where the part is shown again by then, and
    never gives them back.
    """

    def __init__(self) -> None:
        super().__init__()
        self._hidden: Widget | None = None  # a part that was hidden while keys went to it
        self._instead: Widget | None = None  # what Textual chose then

    @property
    def caught_up(self) -> bool:
        """Whether the screen shows what is known."""
        return True

    @property
    def filling(self) -> bool:
        """Whether what most keys are for, such as the rows of a list, is still being made."""
        return False

    def on_mount(self) -> None:
        """Hear when parts are laid out."""
        self.screen_layout_refresh_signal.subscribe(self, self._give_back, immediate=True)

    def set_focus(self, widget: Widget | None, scroll_visible: bool = True, from_app_focus: bool = False) -> None:
        """Move the keys."""
        if widget is not self.focused:  # the window of the terminal that is left takes them from nobody, for one
            self._hidden = None
        super().set_focus(widget, scroll_visible, from_app_focus)

    def _reset_focus(self, widget: Widget, avoiding: list[Widget] | None = None) -> None:
        """Textual takes the keys from a part that is hidden, disabled or (``avoiding``) removed."""
        if widget is not self.focused:
            return
        if not avoiding and widget.focusable and displayed(widget):
            return
        super()._reset_focus(widget, avoiding)
        if not avoiding:
            self._hidden, self._instead = widget, self.focused

    def _give_back(self, _: Screen[object]) -> None:
        hidden = self._hidden
        if hidden is not None and self.focused is self._instead and hidden.focusable and displayed(hidden):
            self.set_focus(hidden, scroll_visible=False)

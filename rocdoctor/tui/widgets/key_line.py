"""The line of keys at the bottom of a screen."""

from __future__ import annotations

from typing import TypeAlias

from textual.app import ComposeResult
from textual.widgets import Footer

_Shown: TypeAlias = tuple[tuple[object, ...], ...]


class KeyLine(Footer):
    """Textual's line of keys, made anew only where another line would come of it.

    Textual makes it anew at each change of focus, which costs several milliseconds a key pressed, most of them for the
    styles of the same dozen keys.
    """

    _made: _Shown | None = None

    def compose(self) -> ComposeResult:
        """The keys that do something now."""
        if self._bindings_ready:
            self._made = self._shown()
        yield from super().compose()

    async def recompose(self) -> None:
        """Asked for whenever the keys may have changed."""
        if self._made is None or self._made != self._shown():
            await super().recompose()

    def _shown(self) -> _Shown:
        active = [one for one in self.screen.active_bindings.values() if one.binding.show]
        return tuple((one.binding, one.enabled, one.tooltip) for one in active)

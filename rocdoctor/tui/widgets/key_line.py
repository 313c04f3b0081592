"""The line of keys at the bottom of a screen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.binding import Binding
from textual.css.query import NoMatches
from textual.widgets import Footer
from textual.widgets._footer import FooterKey

_Shown: TypeAlias = tuple[tuple[object, ...], ...]


class KeyLine(Footer):
    """Textual's line of keys, made anew only where another line would come of it.

    Textual makes it anew at each change of focus, which costs several milliseconds a key pressed, most of them for the
    styles of the same dozen keys. Where there is no room for all, the last of the screen's own keys are left out: the
    help has them, and those of the app (help, quit) stay.
    """

    _made: _Shown | None = None

    def __init__(self, *, own: bool = False, **options: Any) -> None:
        """``own``: the keys of a new screen are known in its first frame: no part that gets the focus brings others.

        ``options`` are those of a ``Footer``.
        """
        super().__init__(**options)
        self._own = own

    def compose(self) -> ComposeResult:
        """The keys that do something now; from the first frame on where they are known in it."""
        if not self._bindings_ready and not self._own:
            return
        try:
            self._made = self._shown()
        except NoMatches:  # what a key depends on is not there yet: Textual asks again
            return
        self._bindings_ready = True
        made = list(super().compose())
        keys = [one for one in made if isinstance(one, FooterKey)]
        for one in keys:  # Textual would make each compact, or not, when it is there already: its styles come anew
            one.set_reactive(FooterKey.compact, self.compact)
            one.set_class(self.compact, "-compact", update=False)
        self._fit(keys)
        yield from made

    def on_resize(self) -> None:
        """More or less room."""
        self._fit(list(self.query(FooterKey)))

    def _fit(self, keys: Sequence[FooterKey]) -> None:
        ours = {one.action for one in self.app.BINDINGS if isinstance(one, Binding)}
        between = 1 if self.compact else 2
        widths = {one: cell_len(one.key_display) + 1 + cell_len(one.description) + between for one in keys}
        too_much = sum(widths.values()) - 1 - self.app.size.width
        for one in reversed(keys):
            hides = too_much > 0 and one.action not in ours
            one.display = not hides
            too_much -= widths[one] if hides else 0

    async def recompose(self) -> None:
        """Asked for whenever the keys may have changed."""
        if self._made is None or self._made != self._shown():
            await super().recompose()

    def _shown(self) -> _Shown:
        active = [one for one in self.screen.active_bindings.values() if one.binding.show]
        return tuple((one.binding, one.enabled, one.tooltip) for one in active)

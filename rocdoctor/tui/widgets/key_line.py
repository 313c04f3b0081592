"""The line of keys at the bottom of a screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from rich.cells import cell_len
from rich.text import Text
from textual.binding import Binding
from textual.css.query import NoMatches
from textual.events import MouseDown, MouseMove
from textual.reactive import reactive
from textual.widget import Widget

if TYPE_CHECKING:
    from textual.screen import Screen


class ShownKey(NamedTuple):
    """A key of the line: how it is written, what it does in a word, the action behind it."""

    key: str
    display: str
    words: str
    action: str
    enabled: bool
    tooltip: str


class KeyLine(Widget):
    """The keys that do something now, and what each does; a click on one is that key.

    One widget, where Textual's own line has one for each key, which costs every screen several milliseconds when it is
    first opened, and again where other keys count. Where there is no room for all, the last of the screen's own keys
    are left out: the help has them, and those of the app (help, quit) stay.
    """

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {"key-line--key", "key-line--words", "key-line--under"}
    DEFAULT_CSS = """
    KeyLine {
        dock: bottom; width: 100%; height: 1; text-wrap: nowrap;
        color: $footer-foreground; background: $footer-background;
        .key-line--key { color: $footer-key-foreground; background: $footer-key-background; text-style: bold; }
        .key-line--words { color: $footer-description-foreground; background: $footer-description-background; }
        .key-line--under { background: $block-hover-background; }
    }
    """
    compact: reactive[bool] = reactive(False, init=False)

    def __init__(self, *, own: bool = False, **options: Any) -> None:
        """``own``: the keys of a new screen are known in its first frame: no part that gets the focus brings others.

        ``options`` are those of a widget (id, classes).
        """
        super().__init__(**options)
        self._own = own
        self._keys: tuple[ShownKey, ...] | None = None
        self._places: list[tuple[int, int, ShownKey]] = []  # first column, the one behind the last
        self._under: ShownKey | None = None

    @property
    def shown(self) -> tuple[ShownKey, ...]:
        """The keys that there is room for."""
        return tuple(one for _, _, one in self._places)

    def on_mount(self) -> None:
        """The keys are there from the first frame on where they are known in it."""
        self.screen.bindings_updated_signal.subscribe(self, self._maybe_changed)
        if self._own:
            self.take()

    def _maybe_changed(self, screen: Screen[object]) -> None:
        if screen.app.app_focus and self.is_attached and screen is self.screen:
            self.call_after_refresh(self.take)

    def take(self) -> None:
        """Show the keys of now; nothing is drawn where they are the same."""
        try:
            keys = self._active()
        except NoMatches:  # what a key depends on is not there yet: Textual asks again
            return
        if keys != self._keys:
            self._keys = keys
            self._place()

    def _active(self) -> tuple[ShownKey, ...]:
        first: dict[str, ShownKey] = {}  # a key for each action
        for one in self.screen.active_bindings.values():
            bound = one.binding
            if bound.show and bound.action not in first:
                display = self.app.get_key_display(bound)
                first[bound.action] = ShownKey(
                    bound.key, display, bound.description, bound.action, one.enabled, one.tooltip
                )
        return tuple(first.values())

    def on_resize(self) -> None:
        """More or less room."""
        self._place()

    def watch_compact(self) -> None:
        """Closer, or not."""
        self._place()

    def _place(self) -> None:
        ours = {one.action for one in self.app.BINDINGS if isinstance(one, Binding)}
        between = 1 if self.compact else 2
        kept = list(self._keys or ())
        too_much = sum(_wide(one) + between for one in kept) - 1 - self.app.size.width
        for one in reversed(self._keys or ()):
            if too_much > 0 and one.action not in ours:
                kept.remove(one)
                too_much -= _wide(one) + between
        self._places, at = [], 0 if self.compact else 1
        for one in kept:
            self._places.append((at, at + _wide(one), one))
            at += _wide(one) + between
        self.refresh()

    def render(self) -> Text:
        """A blank on both sides of each key where there is room."""
        key, words = self.get_component_rich_style("key-line--key"), self.get_component_rich_style("key-line--words")
        text, pad = Text(no_wrap=True, end=""), "" if self.compact else " "
        for _, _, one in self._places:
            start = len(text)
            text.append(f"{pad}{one.display}{pad}", key)
            text.append(f"{'' if pad else ' '}{one.words}{pad}", words)
            if not one.enabled:
                text.stylize("dim", start)
            if one is self._under:
                text.stylize(self.get_component_rich_style("key-line--under"), start)
            text.append("" if pad else " ")
        return text

    def _at(self, x: int) -> ShownKey | None:
        return next((one for start, end, one in self._places if start <= x < end), None)

    def on_mouse_down(self, event: MouseDown) -> None:
        """A click is the key."""
        one = self._at(event.x)
        if one is not None and one.enabled:
            self.app.simulate_key(one.key)
        elif one is not None:
            self.app.bell()

    def on_mouse_move(self, event: MouseMove) -> None:
        """The key under the pointer stands out, and says what it does."""
        self._point(self._at(event.x))

    def on_leave(self) -> None:
        """No key is."""
        self._point(None)

    def _point(self, one: ShownKey | None) -> None:
        if one is not self._under:
            self._under = one
            self.tooltip = (one.tooltip or None) if one is not None else None
            self.refresh()


def _wide(one: ShownKey) -> int:
    return cell_len(one.display) + 1 + cell_len(one.words)

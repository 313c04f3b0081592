"""Keys, screens, and where more is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from rocdoctor.report.text import wrap
from rocdoctor.tui.areas import AREAS, KEYS
from rocdoctor.tui.page import Page
from rocdoctor.tui.session import session_of

_KEYS = (
    ("1 to 9, 0", "the screens above"),
    ("t", "the report as plain text"),
    ("r", "ask everything again"),
    ("b", "back to the evidence that was open before"),
    ("? or F1", "this help"),
    ("ctrl+p", "all commands by name"),
    ("q", "leave"),
)
_WIDTH = 13
_BOX, _FRAME = 76, 6  # columns of all, and of border, padding and scrollbar


class HelpPanel(ModalScreen[None]):
    """What can be done here: the keys of the screen below, then those of all screens."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,f1,enter", "dismiss", "Close"),
    ]
    CSS = f"""
    HelpPanel {{ align: center middle; }}
    HelpPanel #help {{ width: {_BOX}; max-width: 96%; height: auto; max-height: 90%; border: round $accent;
        background: $surface; padding: 0 1; }}
    """

    def compose(self) -> ComposeResult:
        """One text."""
        with VerticalScroll(id="help") as panel:
            panel.border_title = "help (Escape or q closes)"
            yield Static(self._text())

    def _text(self) -> Text:
        below = next((one for one in reversed(self.app.screen_stack) if isinstance(one, Page)), None)
        width = min(_BOX, self.app.size.width * 96 // 100) - _FRAME
        return help_text(below, width, keys=session_of(self.app).config.keys)


def page_keys(page: Page) -> list[tuple[str, str]]:
    """(key, what it does) of one screen: those of its key bar, then its hidden ones."""
    hidden = {key for key, _ in page.HELP_KEYS}
    shown: list[tuple[str, str]] = []
    for one in type(page).BINDINGS:
        if isinstance(one, Binding) and one.show and one.description and page.offers(one):
            key = one.key_display or one.key.partition(",")[0]
            if key not in hidden:
                shown.append((key, one.tooltip or one.description))
    return [*shown, *page.HELP_KEYS]


def help_text(page: Page | None, width: int, *, keys: Mapping[str, str] | None = None) -> Text:
    """The whole text; ``keys``: further ones of the user, with what they do."""
    text = Text()
    if page is not None:
        area = next(one for one in AREAS if one.module == page.AREA)
        text.append(f"{area.name}: {area.about}", style="bold")
        _rows(text, page_keys(page), width)
        text.append("\n\n")
    text.append("Screens", style="bold")
    rows = [(key, f"{area.name}: {area.about}") for key, area in zip(KEYS, AREAS, strict=False)]
    _rows(text, rows, width)
    text.append("\n\n")
    text.append("Everywhere", style="bold")
    _rows(text, _KEYS, width)
    _rows(text, [(key, f"{name} (config.toml)") for key, name in (keys or {}).items()], width)
    end = "Without screens: rocdoctor check, rocdoctor --help. A finding's page: rocdoctor explain NAME."
    text.append("\n\n" + "\n".join(wrap(end, width, "")))
    return text


def _rows(text: Text, rows: Sequence[tuple[str, str]], width: int) -> None:
    for key, what in rows:
        text.append(f"\n  {key:<{_WIDTH}}", style="bold")
        rest = " " * (_WIDTH + 2)
        text.append("\n".join(wrap(what, width, rest)).removeprefix(rest))

"""The app behind ``rocdoctor fleet show``: a store of records, judged, with all that speaks against each node."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, VerticalScroll
from textual.events import Resize
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from rocdoctor.fleet.verdicts import FleetVerdict
from rocdoctor.insight.texts.log_events import duration
from rocdoctor.model.printable import clean, one_line
from rocdoctor.report.fleet.fleet_document import headline
from rocdoctor.report.text import lines
from rocdoctor.tui.background import Background, Call
from rocdoctor.tui.fleet.fleet_rows import AGAIN, FleetEntry, beside, entries
from rocdoctor.tui.style import NOTE, RISK, UNKNOWN, WRONG
from rocdoctor.tui.typed_ahead import TypedAhead
from rocdoctor.tui.widgets.flow import FlowText
from rocdoctor.tui.widgets.key_line import KeyLine
from rocdoctor.tui.widgets.options import SearchedRowOptions

_WIDE = 120
_COLOURS = {"drain": WRONG, "test": RISK, "watch": RISK, "unknown": UNKNOWN, "different": NOTE, AGAIN: NOTE, "": NOTE}


class FleetApp(TypedAhead):
    """``judged`` reads the store, slow and with the errors of its command; ``store`` is how the user names it."""

    TITLE = "rocdoctor fleet"
    CSS_PATH = "../app.tcss"
    CSS = """
    #head { height: auto; padding: 0 1; }
    #both { layout: vertical; height: 1fr; }
    #both.wide { layout: horizontal; }
    #nodes { width: 1fr; height: 3fr; border: none; text-wrap: nowrap; text-overflow: ellipsis; }
    #beside { width: 1fr; height: 2fr; border-top: solid $panel; padding: 0 1; }
    #both.wide #nodes { height: 1fr; }
    #both.wide #beside { height: 1fr; border-top: none; border-left: solid $panel; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Open", tooltip="list the nodes of a group, or fold them again"),
        Binding("y", "copy", "Copy nodes", tooltip="copy the node names of this row"),
        Binding("r", "reload", "Again", tooltip="read the store again"),
        Binding("escape", "fold", "Fold", show=False),
        Binding("q", "quit", "Quit"),
    ]

    def __init__(self, store: str, judged: Callable[[], FleetVerdict]) -> None:
        super().__init__()
        self.store, self._judged = store, judged
        self.found: FleetVerdict | None = None
        self._entries: list[FleetEntry] = []
        self._opened: set[str] = set()
        self._work: Background[FleetVerdict] | None = None

    def compose(self) -> ComposeResult:
        """The answer, the rows, what is known of one, the keys."""
        yield Static("", id="head", markup=False)
        with Container(id="both"):
            yield SearchedRowOptions(id="nodes")
            with VerticalScroll(id="beside"):
                yield FlowText(id="told")
        yield KeyLine()

    def on_mount(self) -> None:
        """Read after the first frame."""
        self._lay_out(self.size.width)
        self.call_after_refresh(self.action_reload)

    def on_resize(self, event: Resize) -> None:
        """Side by side where there is room."""
        self._lay_out(event.size.width)

    def on_call(self, message: Call) -> None:
        """What a thread wants done here."""
        message.function()

    def _lay_out(self, width: int) -> None:
        self.query_one("#both").set_class(width >= _WIDE, "wide")

    @property
    def at_work(self) -> bool:
        """Whether the store is being read."""
        return self._work is not None and self._work.running

    def action_reload(self) -> None:
        """Read the store, and show what it says now."""
        if self.at_work:
            return
        self._head("Reading the records ...")
        self._work = Background(self, lambda task: self._judged(), self._show, self._failed)

    def _failed(self, error: Exception) -> None:
        self._head(f"Cannot read the store: {one_line(str(error)) or type(error).__name__}. Press r to try again.")

    def _head(self, words: str) -> None:
        self.query_one("#head", Static).update(Text(clean(words), style="bold"))

    def _show(self, found: FleetVerdict) -> None:
        self.found = found
        ago = duration(time.time() - found.at)
        self._head(f"{headline(found)} As of {time.strftime('%H:%M', time.localtime(found.at))}, {ago} ago.")
        entry = self._current()
        self._fill("" if entry is None else entry.name)

    def _current(self) -> FleetEntry | None:
        at = self.query_one("#nodes", OptionList).highlighted
        return self._entries[at] if at is not None and at < len(self._entries) else None

    def _fill(self, name: str) -> None:
        """The rows; the cursor goes to the row of a name, else to the first with nodes."""
        assert self.found is not None
        self._entries = entries(self.found, self._opened)
        shown = self.query_one("#nodes", OptionList)
        shown.clear_options()
        shown.add_options([Option(_row(one), disabled=one.is_heading) for one in self._entries])
        places = [at for at, one in enumerate(self._entries) if not one.is_heading]
        if not places:
            self.query_one("#told", FlowText).set(lambda width: Text("No node has a finding."))
            return
        first = next((at for at in places if self._entries[at].part), places[0])  # nodes: the answer to "which one"
        shown.highlighted = next((at for at in places if self._entries[at].name == name), first)
        shown.focus()

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Say what is known of the row."""
        entry, found = self._current(), self.found
        if entry is not None and found is not None and not entry.is_heading:
            store = self.store

            def made(width: int) -> Text:
                return Text("\n".join(lines(beside(found, entry, store), width)))

            self.query_one("#told", FlowText).set(made)
            self.query_one("#beside", VerticalScroll).scroll_home(animate=False)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Enter, or a click on the row where the cursor stands."""
        self.action_open()

    def action_open(self) -> None:
        """List the nodes of a group below it, or fold them."""
        entry = self._current()
        if entry is not None and entry.opens:
            self._opened ^= {entry.name}
            self._fill(entry.name)

    def action_fold(self) -> None:
        """Fold the group of this row."""
        entry = self._current()
        group = "" if entry is None else entry.name.rpartition(":")[0] if entry.inside else entry.name
        if group in self._opened:
            self._opened.discard(group)
            self._fill(group)

    def action_copy(self) -> None:
        """The names of the nodes, as schedulers take them."""
        entry = self._current()
        if entry is not None and entry.nodes:
            from rocdoctor.fleet.node_names import folded

            self.copy_to_clipboard(folded(entry.nodes))
            words = f"sent {len(entry.nodes)} names to the terminal, which copies them if it allows that (OSC 52)"
            self.notify(words, markup=False)


def _row(entry: FleetEntry) -> Text:
    if entry.is_heading:
        return Text(clean(entry.words), style=_COLOURS[entry.part], no_wrap=True, overflow="ellipsis")
    indent = "    " if entry.inside else "  "
    return Text(indent + clean(entry.words), no_wrap=True, overflow="ellipsis")

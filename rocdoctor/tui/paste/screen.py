"""A bug report or a log, pasted, and what is wrong on that machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.events import Paste
from textual.widgets import Button, Static

from rocdoctor.model.printable import one_line
from rocdoctor.model.units import binary_size
from rocdoctor.tui import open_evidence
from rocdoctor.tui.background import Background
from rocdoctor.tui.look import Look
from rocdoctor.tui.page import Page
from rocdoctor.tui.paste.diagnosis import LARGE, LargePaste, aside, report
from rocdoctor.tui.paste.paste_area import PasteArea
from rocdoctor.tui.widgets.flow import FlowText, StillScroll

if TYPE_CHECKING:
    from rocdoctor.tui.paste.diagnosis import Read

_WIDE = 130
_HINT = (
    "Paste a bug report, a log or the output of a command (rocminfo, rocm-smi, dmesg, a traceback ...), "
    "then press F5 or Ctrl+D. It stays on this machine. A file of many megabytes opens faster with Ctrl+O."
)


class PastePage(Page):
    """A text, its diagnosis beside it or in its place, and a key that opens it on all screens."""

    AREA = "paste"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f5", "diagnose", "Diagnose", priority=True, tooltip="say what is wrong on that machine"),
        Binding("ctrl+d", "diagnose", "Diagnose", show=False, priority=True),
        Binding("ctrl+o", "file", "File", key_display="^o", tooltip="read a file, folder or bundle instead"),
        Binding("o", "everywhere", "Open", tooltip="open what was diagnosed on all screens; b returns"),
        Binding("f8", "clear", "Clear", show=False, tooltip="clear the text"),
        Binding("escape", "back", "Back", tooltip="one step back: leave the text, stop, or return to it"),
    ]
    HELP_KEYS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("ctrl+d", "diagnose, as F5 does"),
        ("f8", "clear the text"),
    )
    CSS = """
    PastePage #editor, PastePage #result { width: 1fr; height: 100%; }
    PastePage #hint { height: auto; padding: 0 1; }
    PastePage PasteArea { border: none; height: 1fr; min-height: 3; padding: 0; }
    PastePage #aside { height: auto; max-height: 7; padding: 0 1; background: $panel; display: none; }
    PastePage #state { height: auto; max-height: 4; padding: 0 1; }
    PastePage #buttons { height: 1; }
    PastePage Button { height: 1; border: none; min-width: 10; margin: 0 0 0 1; }
    PastePage #result-title { height: 1; background: $panel; padding: 0 1; }
    PastePage #report { height: auto; padding: 0 1; }
    """
    AUTO_FOCUS = "PasteArea"

    def __init__(self) -> None:
        super().__init__()
        self._asides: list[LargePaste] = []
        self._work: Background[Read] | None = None
        self._read: Read | None = None
        self._asked = ""  # the text when a diagnosis was asked for
        self.reading = False

    def body(self) -> ComposeResult:
        """The text, then its diagnosis."""
        with Horizontal():
            with Vertical(id="editor"):
                yield Static(_HINT, id="hint", markup=False)
                yield PasteArea(show_line_numbers=True)
                yield Static("", id="aside", markup=False)
                yield Static("", id="state", markup=False)
                with Horizontal(id="buttons"):
                    yield Button("F5 Diagnose", id="diagnose")
                    yield Button("^o Open file...", id="file")
                    yield Button("F8 Clear", id="clear")
            with Vertical(id="result"):
                yield Static("", id="result-title", markup=False)
                with StillScroll(id="result-scroll"):
                    yield FlowText(id="report")

    def show(self, look: Look) -> None:
        """Nothing here depends on the machine."""

    def adapt(self) -> None:
        """Both beside each other where there is room."""
        super().adapt()
        self._see(self.reading)
        self._draw_asides()

    @property
    def _wide(self) -> bool:
        return self.app.size.width >= _WIDE

    def _see(self, reading: bool) -> None:
        """The text or its diagnosis, or both."""
        self.reading = reading
        self.query_one("#editor").display = self._wide or not reading
        self.query_one("#result").display = reading or (self._wide and self._read is not None)

    @property
    def _area(self) -> PasteArea:
        return self.query_one(PasteArea)

    def on_paste(self, event: Paste) -> None:
        """A paste while the text has no focus is one into the text all the same."""
        self._edit()
        if len(event.text) > LARGE:
            self._keep_aside(event.text)
        else:
            self._area.post_message(Paste(event.text))

    def on_paste_area_too_large(self, event: PasteArea.TooLarge) -> None:
        """Keep a large paste, and show that it is there."""
        self._keep_aside(event.text)

    def _keep_aside(self, text: str) -> None:
        self._asides.append(aside(text))
        self._draw_asides()

    def _draw_asides(self) -> None:
        shown = self.query_one("#aside", Static)
        shown.display = bool(self._asides)
        if not self._asides:
            return
        size, lines = sum(one.size_bytes for one in self._asides), sum(one.lines for one in self._asides)
        count = "A large paste is" if len(self._asides) == 1 else f"{len(self._asides)} large pastes are"
        text = Text(f"{count} kept apart from this text: {binary_size(size)}, {lines} lines (F8 removes it). ")
        text.append("It begins:" if len(self._asides) == 1 else "The last one begins:")
        width = max(20, self.app.size.width // (2 if self._wide else 1) - 4)
        for line in self._asides[-1].head.split("\n"):
            first = Text("\n  " + line, style="dim", no_wrap=True)
            first.truncate(width, overflow="ellipsis")
            text.append_text(first)
        shown.update(text)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """The keys by mouse."""
        if event.button.id == "diagnose":
            self.action_diagnose()
        elif event.button.id == "file":
            self.action_file()
        else:
            self.action_clear()

    def action_diagnose(self) -> None:
        """Read the text beside the screen."""
        pieces = [self._area.text, *(one.text for one in self._asides)]
        if not any(one and not one.isspace() for one in pieces):
            self._say("There is nothing to diagnose yet: paste a text, or open a file with Ctrl+O.")
            return
        size = binary_size(sum(map(len, pieces)))

        def work(task: Background[Read]) -> Read:
            from rocdoctor.tui.paste.diagnosis import read_text

            return read_text(pieces)

        self._start(work, f"Reading {size} of text ... (Escape stops)")

    def action_file(self) -> None:
        """Ask for a path, and diagnose what lies there."""

        def start(path: str) -> None:
            def work(task: Background[Read]) -> Read:
                from rocdoctor.tui.paste.diagnosis import read_host

                return read_host(open_evidence.read(path))

            self._start(work, f"Reading {one_line(path)} ... (Escape stops)")

        open_evidence.ask(self.rocdoctor, start)

    def on_text_area_changed(self) -> None:
        """Somebody types on: a diagnosis that came now would take the keys, and be one of another text."""
        if self._work is not None and self._work.running and self._area.text != self._asked:
            self._work.cancel()
            self._say("Stopped because the text has changed: F5 diagnoses it.")

    def _start(self, work: Callable[[Background[Read]], Read], words: str) -> None:
        if self._work is not None:
            self._work.cancel()
        self._asked = self._area.text
        self._edit()
        self._say(words)
        self._work = Background(self.app, work, done=self._done, failed=self._failed)

    def _say(self, words: str) -> None:
        self.query_one("#state", Static).update(Text(words))

    def _failed(self, error: Exception) -> None:
        self._say(f"Not readable: {one_line(str(error)) or type(error).__name__}")

    def _done(self, read: Read) -> None:
        self._read = read
        self._say("")
        self._see(True)
        title = f"diagnosis of {one_line(read.host.origin)}   o: all screens   Escape: back to the text"
        self.query_one("#result-title", Static).update(Text(title, no_wrap=True, overflow="ellipsis"))
        self.query_one("#report", FlowText).set(lambda width: Text(report(read, width)))
        scroll = self.query_one("#result-scroll")
        scroll.scroll_home(animate=False)
        scroll.focus()

    def _edit(self) -> None:
        self._see(False)
        self._area.focus()

    def action_back(self) -> None:
        """One step back: stop, from the diagnosis to the text, out of the text, from the screen."""
        if self._work is not None and self._work.running:
            self._work.cancel()
            self._say("Stopped.")
        elif self.query_one("#result").has_focus_within:
            if self._wide:
                self._area.focus()
            else:
                self._edit()
        elif self.focused is not None:
            self.set_focus(None)
            self._say("Keys are commands now; Tab or a paste returns to the text, Escape to the overview.")
        else:
            self.app.run_worker(self.rocdoctor.action_area("overview"))

    def action_clear(self) -> None:
        """Begin anew."""
        self._asides.clear()
        self._area.text = ""
        self._read = None
        self._draw_asides()
        self._say("")
        self._edit()

    def action_everywhere(self) -> None:
        """All screens over what was diagnosed."""
        if self._read is None:
            self.notify("nothing is diagnosed yet (F5)")
        else:
            open_evidence.show(self.rocdoctor, self._read.host)

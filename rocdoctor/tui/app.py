"""The screens. The app holds a host and nothing else: the same screens open on another machine's evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.app import App, ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Footer, Header, Static
from textual.worker import get_current_worker

from rocdoctor.host.base import Host

if TYPE_CHECKING:
    from rocdoctor.diagnose import Diagnosis


class RocdoctorApp(App[None]):
    """Overview: what to do first, the machine, the findings."""

    TITLE = "rocdoctor"
    BINDINGS = [("q", "quit", "Quit"), ("r", "reload", "Run again")]  # noqa: RUF012 - Textual's own convention
    CSS = "#report { padding: 1 2; }"

    def __init__(self, host: Host) -> None:
        super().__init__()
        self.host = host
        self.sub_title = host.origin

    def compose(self) -> ComposeResult:
        """The frame; the report follows when the questions are answered."""
        yield Header()
        with VerticalScroll():
            yield Static("Asking the machine ...", id="report", markup=False)
        yield Footer()

    def on_mount(self) -> None:
        """Start asking after the first frame."""
        self.call_after_refresh(self.action_reload)

    def action_reload(self) -> None:
        """Collect and judge in a thread."""
        self.run_worker(self._diagnose, thread=True, exclusive=True)

    def _diagnose(self) -> None:
        # Imported here: reading parsers and checks in takes longer than the frame.
        from rocdoctor.check import checks_folder, load_checks
        from rocdoctor.collect import collect
        from rocdoctor.diagnose import diagnose

        worker = get_current_worker()
        checks, problems = load_checks([checks_folder()])
        diagnosis = diagnose(collect(self.host), checks, problems)
        if not worker.is_cancelled:
            self.call_from_thread(self.show, diagnosis)

    def show(self, diagnosis: Diagnosis) -> None:
        """Put the report on the screen."""
        from rocdoctor.report.text import render

        width = max(60, min(self.size.width - 6, 100))
        self.query_one("#report", Static).update(render(diagnosis, width=width))

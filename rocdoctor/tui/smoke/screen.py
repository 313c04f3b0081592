"""Smoke tests: choose modes and ranks, watch the grid fill, see numbers and the layer at fault."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.widgets import OptionList, Static

from rocdoctor.host.base import Answer, Host
from rocdoctor.model.facts import SmokeRun
from rocdoctor.model.printable import one_line
from rocdoctor.report import text as form
from rocdoctor.report.smoke import figures_document
from rocdoctor.report.smoke.smoke_document import headline
from rocdoctor.train.smoke.figures.judge_figures import LowFigure
from rocdoctor.train.smoke.worker.mode import Mode, all_modes
from rocdoctor.tui.background import Background
from rocdoctor.tui.look import Look
from rocdoctor.tui.page import Page
from rocdoctor.tui.smoke.grid import SmokeGrid
from rocdoctor.tui.smoke.grid_drawing import GridRow, GridSection, about, detail, recorded, running, untested, untried
from rocdoctor.tui.smoke.run_choice import RunChoice
from rocdoctor.tui.smoke.run_session import (
    HostRunner,
    Runner,
    SmokeSession,
    Trouble,
    beside_peaks,
    deadline_words,
    same_machine,
    trouble,
    usual_s,
)
from rocdoctor.tui.smoke.run_words import form_text, state_text
from rocdoctor.tui.widgets.flow import FlowText, StillScroll
from rocdoctor.tui.write_files import NewFile, ask_and_store

_TICK_S = 0.25
_LEAST = 50  # columns for which the details are laid out at least
# The runs as they are, the same with figures beside their peaks, and figures that are far too low.
Judged = tuple[tuple[SmokeRun, ...], tuple[SmokeRun, ...], tuple[LowFigure, ...]]


class SmokePage(Page):
    """What to run, how far it is or what came of it, the grid, and all of the selected mode."""

    AREA = "smoke"
    ROOMY: ClassVar[Mapping[str, int]] = {"two": 130}  # the details stand beside the grid
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "start", "Start", tooltip="run the chosen modes"),
        Binding("x", "cancel", "Cancel", tooltip="end the run and all its processes"),
        Binding(
            "space", "choose", "Choose", key_display="space", tooltip="select or leave out this mode", priority=True
        ),
        Binding("o", "only", "Only this", tooltip="run this mode alone"),
        Binding("w", "write", "Write", tooltip="write the results as a file; asks where"),
        Binding("a", "change('whole')", "All modes of the set", show=False),
        Binding("f", "change('full')", "Set: quick or full", show=False),
        Binding("plus", "change('more')", "More ranks", show=False),
        Binding("minus", "change('fewer')", "Fewer ranks", show=False),
        Binding("e", "change('backend')", "Back end", show=False),
        Binding("d", "change('device')", "Device", show=False),
        Binding("g", "change('figures')", "Figures", show=False),
    ]
    HELP_KEYS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("up, down", "select a mode"),
        ("a", "all modes of the set"),
        ("f", "the set: quick or full"),
        ("+, -", "more or fewer ranks; below one, the machine decides"),
        ("e", "backend: auto, nccl, gloo"),
        ("d", "device: auto, or only the CPU"),
        ("g", "measure figures too: how fast this machine is"),
        ("tab", "to the details, which scroll"),
    )
    CSS = """
    SmokePage #smoke { layout: vertical; height: 1fr; }
    SmokePage #form, SmokePage #state { height: auto; padding: 0 1; }
    SmokePage #parts { layout: vertical; height: 1fr; }
    SmokePage #grid { height: 1fr; border: none; padding: 0 1; background: $surface; scrollbar-size-vertical: 1; }
    SmokePage #detail { height: 7; max-height: 45%; padding: 0 1; border-top: solid $panel;
        scrollbar-size-vertical: 1; }
    SmokePage.two #parts { layout: horizontal; }
    SmokePage.two #grid { width: 5fr; height: 1fr; }
    SmokePage.two #detail { width: 4fr; height: 1fr; max-height: 100%; border-top: none; border-left: solid $panel; }
    SmokePage.recorded #form { display: none; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._host: Host | None = None
        self._choice = RunChoice()
        self._session: SmokeSession | None = None
        self._follows = True
        self._judged: Judged = ((), (), ())

    def body(self) -> ComposeResult:
        """The form, the state, the grid and the details."""
        with Container(id="smoke"):
            yield Static(id="form")
            yield Static("Looking for smoke tests.", id="state")
            with Container(id="parts"):
                yield SmokeGrid()
                with StillScroll(id="detail"):
                    yield FlowText(id="one")

    def on_mount(self) -> None:
        """Load the modes, and draw what events change a few times a second."""
        Background[tuple[Mode, ...]](self.app, lambda task: all_modes(), done=self._loaded)
        self.set_interval(_TICK_S, self._tick)

    def on_unmount(self) -> None:
        """Nothing goes on when the app ends."""
        self.action_cancel()

    def _loaded(self, modes: tuple[Mode, ...]) -> None:
        self._choice.modes = modes
        self._draw()

    def show(self, look: Look) -> None:
        """Take the machine; the choice stays."""
        host = self.rocdoctor.host
        if host is not self._host:
            if self._session is not None and not same_machine(host, self._session):
                if self._going_on:
                    self.notify("other evidence was opened: the smoke tests of this machine were ended")
                self.action_cancel()
                self._session = None
            self._host = host
            self._follows = True
            self.set_class(not self._live, "recorded")
            self.refresh_bindings()
        self._draw()

    @property
    def _live(self) -> bool:
        host = self._host or self.rocdoctor.host  # of the app: the first key bar is the right one
        return host.kind == "live"

    @property
    def _going_on(self) -> bool:
        return self._session is not None and self._session.going_on

    @property
    def filling(self) -> bool:
        """Whether the modes are being read."""
        return not self._choice.modes

    @property
    def holds(self) -> str:
        """A run."""
        return "smoke tests are running" if self._going_on else ""

    def _trouble(self) -> Trouble | None:
        diagnosis = self.look.diagnosis
        return trouble(diagnosis, sys.platform) if self._live and diagnosis is not None else None

    def runner(self, host: Host) -> Runner:
        """What runs the tests of a host."""
        return HostRunner(host)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What can be done: nothing with evidence, nothing to choose while it runs."""
        if action == "cancel":
            return self._going_on
        if action == "write":
            return bool(self._results()[0]) and not self._going_on
        if action in ("start", "choose", "only", "change"):
            return self._live and not self._going_on
        return True

    def action_start(self) -> None:
        """Run what was chosen."""
        problem = self._trouble()
        if problem is not None:
            self.notify(one_line(f"{problem.why} {problem.remedy}"), severity="error", timeout=10, markup=False)
            return
        if self._host is None or not self._choice.modes:
            return
        host = self._host
        diagnosis = self.look.diagnosis
        usual = usual_s(diagnosis.machine.smoke) if diagnosis is not None else {}
        session = SmokeSession(self._choice.request, self.runner(host), self._choice.wanted, usual=usual)
        self._session, self._follows = session, True

        def failed(error: Exception) -> None:
            session.broke(error)
            self._ended(session, host, None)

        Background[Answer](
            self.app,
            lambda task: session.perform(task.tell),
            done=lambda answer: self._ended(session, host, answer),
            failed=failed,
        )
        self.refresh_bindings()
        self._draw()

    def action_cancel(self) -> None:
        """End it."""
        if self._session is not None:
            self._session.cancel()
        self._draw()

    def _ended(self, session: SmokeSession, host: Host, answer: Answer | None) -> None:
        """The run is over: judge the machine with its results."""
        if answer is not None:
            session.ended(answer)
        if session is not self._session:
            return
        self.refresh_bindings()
        if not self.is_current:
            self.notify(f"Smoke tests: {one_line(self._state().plain)}", timeout=8, markup=False)
        if answer is not None and session.state == "done" and host is self.rocdoctor.host:
            self.rocdoctor.with_smoke(answer)
        self._draw()
        if self._follows and self.query(SmokeGrid):
            self.query_one(SmokeGrid).lead(to_result=True)

    def action_write(self) -> None:
        """Ask where, and write the results as a file."""
        from rocdoctor.tui.smoke import results_file

        runs, low = self._results()
        new = NewFile(results_file.own_name(), lambda: results_file.text(runs, low))
        ask_and_store(self.app, "write the results", new)

    # -- the choice

    def action_choose(self) -> None:
        """The selected mode by itself, or no longer."""
        self._choose(self._choice.toggle)

    def action_only(self) -> None:
        """The selected mode and no other."""
        self._choose(self._choice.only)

    def _choose(self, how: Callable[[str], bool]) -> None:
        row = self.query_one(SmokeGrid).selected
        if row is not None and row.mode in self._choice.titles and not how(row.mode):
            self.notify("at least one mode must remain")
        self._draw()

    def action_change(self, what: str) -> None:
        """Another value of one part of the request."""
        self._choice.change(what)
        self._draw()

    # -- showing

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """All of the selected mode."""
        if self.query_one(SmokeGrid).chosen_by_hand(event):
            self._follows = False
        self._draw_detail()

    def _tick(self) -> None:
        if self._going_on and self.is_current:
            self._draw()

    def _results(self) -> tuple[tuple[SmokeRun, ...], tuple[LowFigure, ...]]:
        """The runs to show, of this session or of the evidence, and figures that are too low; none while it runs."""
        diagnosis = self.look.diagnosis
        machine = diagnosis.machine if diagnosis is not None else None
        runs = machine.smoke if machine is not None else ()
        if self._session is not None:
            runs = self._session.runs
        if runs is not self._judged[0]:
            self._judged = (runs, *beside_peaks(runs, machine))
        return self._judged[1:]

    def _sections(self, runs: tuple[SmokeRun, ...]) -> list[GridSection]:
        session = self._session
        if session is not None and session.passes and session.state != "done":
            over = "" if session.going_on else session.state
            world = session.request.world or 0
            return running(session.passes, session.current, session.modes, self._choice.titles, world, over)
        return recorded(runs, self._choice.titles) if runs else untried((), self._choice.titles, 0)

    def _draw(self) -> None:
        if self._host is None or not self.query(SmokeGrid):  # not yet, or no longer
            return
        runs, _ = self._results()
        self.query_one(SmokeGrid).put(self._sections(runs), set(self._choice.wanted) if self._live else None)
        if self._going_on and self._follows:
            self.query_one(SmokeGrid).lead()
        self.query_one("#form", Static).update(
            form_text(self._choice.request, len(self._choice.wanted), self._going_on)
        )
        self.query_one("#state", Static).update(self._state())
        self._draw_detail()

    def _draw_detail(self) -> None:
        row, one = self.query_one(SmokeGrid).selected, self.query_one("#one", FlowText)
        if row is None:
            one.set(lambda width: Text())
            return
        runs, low = self._results()
        # A run that only measured figures has no row of its own.
        mine = runs[row.section :][:1] if row.result is not None else tuple(run for run in runs if not run.modes)
        one.set(partial(_detail, row, self._live, mine, low))

    def _state(self) -> Text:
        diagnosis = self.look.diagnosis
        machine = diagnosis.machine if diagnosis is not None else None
        runs, low = self._results()
        slow = self._choice.slow(self._session.current) if self._session is not None else 1.0
        deadline = deadline_words(self._choice.request, machine, slow)
        text = state_text(self._session, self._live, self._trouble(), bool(runs), deadline, self.look.busy)
        if runs:
            skipped = sum(one.state in ("not-applicable", "unknown") for run in runs for one in run.modes)
            text.append("\n" if self._session is None else " ")
            text.append(headline(runs, low), style="bold")
            text.append(f" {skipped} could not be tested." if skipped else "", style="bold")
            words = untested(runs)
            text.append(f"\n{words}" if words else "")
        return text


def _detail(row: GridRow, live: bool, runs: Sequence[SmokeRun], low: Sequence[LowFigure], width: int) -> Text:
    text, width = detail(row, live), max(_LEAST, width)
    for run in runs:
        for words in about(run):
            text.append(f"\n{words}", style="dim")
        lines = form.lines((*figures_document.findings(low), *figures_document.section(run)), width)
        text.append("\n\n" + "\n".join(lines) if lines else "")
    return text

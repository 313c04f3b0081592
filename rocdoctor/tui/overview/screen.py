"""The machine and the one thing to do first."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.events import Click
from textual.geometry import Region
from textual.message import Message
from textual.widgets import Static

from rocdoctor.host.base import Host
from rocdoctor.model.printable import clean, one_line
from rocdoctor.tui.look import Look
from rocdoctor.tui.page import Page
from rocdoctor.tui.session import same_evidence
from rocdoctor.tui.style import UNKNOWN
from rocdoctor.tui.widgets.flow import FlowText, StillScroll
from rocdoctor.tui.widgets.rows import Rows

if TYPE_CHECKING:
    from rocdoctor.model.finding import Diagnosis
    from rocdoctor.tui.findings.findings_list import FindingsRow
    from rocdoctor.tui.story import Story

_LATER, _NOT_YET = ("gpus", "links", "next"), "looking ..."
_PANELS = (("gpus", "GPUs"), ("changes", "changes"), ("links", "links between GPUs"), ("next", "next"))
_IN_SHORT, _LOOKING = "in short", "Looking. Known facts appear at once; slow tools follow."
_PANEL_AREAS = {"gpus": "thermals", "changes": "findings", "links": "topology"}
_OTHER_LINES = 30  # of the overview but for the findings
_ONE_MOMENT = "unknown: this is one moment; key 0 compares it with another"
_MOST_CHANGES = 10  # beside the findings; below them half as many


class FoundRows(Rows):
    """The findings, a line each: Enter or one click leads to one."""

    def on_click(self, event: Click) -> None:
        """Choose the row under the pointer."""
        place = event.get_content_offset(self)
        if place is not None and place.y < self.count * self.tall:
            event.prevent_default()
            self.cursor = place.y // self.tall
            self.post_message(self.Chosen(self, self.cursor))


class FirstThing(FlowText):
    """What to do first; a click leads to the finding."""

    class Pressed(Message):
        """It was clicked on."""

    def on_click(self) -> None:
        """Lead there."""
        self.post_message(self.Pressed())


class Panel(FlowText):
    """A part of the dashboard; a click leads to the screen that tells more."""

    class Pressed(Message):
        """One of its lines was clicked on, counted from 0."""

        def __init__(self, panel: Panel, line: int) -> None:
            super().__init__()
            self.panel, self.line = panel, line

    def on_click(self, event: Click) -> None:
        """Lead there."""
        place = event.get_content_offset(self)
        if place is not None:
            self.post_message(self.Pressed(self, place.y))


class OverviewPage(Page):
    """What is wrong and what to do, what else was found, the machine, what is unknown; beside it each GPU."""

    AREA = "overview"
    ROOMY: ClassVar[Mapping[str, int]] = {"wide": 120}  # the GPUs stand beside the findings
    AUTO_FOCUS = "#found"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "lead", "Open", tooltip="open the finding under the cursor"),
        Binding("c", "copy", "Copy", tooltip="copy the command, or the parameter"),
        Binding("pagedown,space", "scroll(1)", "Page down", show=False),
        Binding("pageup,backspace", "scroll(-1)", "Page up", show=False),
    ]
    HELP_KEYS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("up, down", "from finding to finding; also j and k"),
        ("space", "scroll down, backspace up"),
    )
    CSS = """
    OverviewPage #overview { layout: horizontal; }
    OverviewPage #left { width: 1fr; height: auto; }
    OverviewPage #right { width: 1fr; height: auto; padding: 0 1; }
    OverviewPage #first { border: round $accent; padding: 0 1; height: auto; }
    OverviewPage #found { height: 0; margin: 0 2; scrollbar-size-vertical: 0; }
    OverviewPage .part { padding: 0 2; height: auto; margin-top: 1; }
    OverviewPage .panel { border: round $panel-lighten-2; padding: 0 1; height: auto; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._rows: tuple[FindingsRow, ...] = ()
        self._told: Story | None = None
        self._host: Host | None = None
        self._counted: tuple[Diagnosis | None, str] = None, ""  # what was counted, and what was said of changes

    def body(self) -> ComposeResult:
        """Parts below each other, and the GPUs beside them."""
        with StillScroll(id="overview", can_focus=False):
            with Vertical(id="left"):
                first = FirstThing(id="first")
                first.update(_LOOKING)
                first.border_title = _IN_SHORT
                yield first
                yield FlowText(id="counts", classes="part")
                yield FoundRows(id="found")
                yield FlowText(id="changed", classes="part")
                yield FlowText(id="card", classes="part")
                yield FlowText(id="unknown", classes="part")
            with Vertical(id="right"):
                for name, title in _PANELS:
                    panel = Panel(id=name, classes="panel")
                    panel.border_title = title
                    if name in _LATER:
                        panel.update(_NOT_YET)
                    yield panel

    def adapt(self) -> None:
        """The GPUs where there is room; set by itself, since a class would be styled after the first layout."""
        super().adapt()
        self.query_one("#right").display = self.has_class("wide")
        if self._rows:
            self._draw_rows()
        self._draw_changes()

    def show(self, look: Look) -> None:
        """Fill the parts."""
        host = self.rocdoctor.host
        if self._host is not None and not same_evidence(self._host, host):
            self._forget()
        self._host = host
        if look.phase == "failed" and look.diagnosis is None:
            self.query_one("#first", Static).update(Text(f"rocdoctor itself failed: {one_line(look.problem)}"))
            self._draw_later("unknown")
        if look.diagnosis is None:
            return
        from rocdoctor.tui.findings.findings_list import (
            sections,  # the first frame does not wait for what checks and reports need
        )
        from rocdoctor.tui.overview import dashboard, drawing
        from rocdoctor.tui.story import story

        diagnosis = look.diagnosis
        told = self._told = story(diagnosis, look.setup, look.preliminary)
        first = self.query_one("#first", FlowText)
        first.border_title = told.heading
        first.set(partial(drawing.first, told))
        self.refresh_bindings()
        before, at = self._rows, self.query_one("#found", FoundRows).cursor
        self._rows = tuple(
            row for one in sections(diagnosis, look.preliminary) for row in one.rows if row.finding is not None
        )
        keys = [row.key for row in self._rows]
        chosen = before[at].key if at and at < len(before) else None  # the first is where one begins
        self._draw_rows(keys.index(chosen) if chosen in keys else at)
        self.query_one("#card", FlowText).set(partial(drawing.card, diagnosis))
        self.query_one("#unknown", FlowText).set(partial(drawing.unknown, diagnosis))
        seen = diagnosis if look.now is None else replace(diagnosis, machine=look.now)
        self.query_one("#gpus", FlowText).set(partial(dashboard.gpu_lines, seen, preliminary=look.preliminary))
        self.query_one("#links", FlowText).display = len(diagnosis.machine.gpus) > 1
        self.query_one("#links", FlowText).set(partial(dashboard.link_lines, seen))
        clock = ""
        if self.rocdoctor.host.kind == "live" and look.asked is not None:
            clock = time.strftime("%H:%M:%S", time.localtime(time.time() - (time.monotonic() - look.asked)))
        self.query_one("#next", FlowText).set(lambda width: dashboard.next_lines(look, width, clock))
        self._draw_changes()

    def _forget(self) -> None:
        """Nothing of another machine stays."""
        self._rows, self._told, self._counted = (), None, (None, "")
        self._draw_rows(0)
        self.query_one("#first", FlowText).border_title = _IN_SHORT
        self.query_one("#first", FlowText).set(lambda width: Text(_LOOKING))
        for name in ("#counts", "#card", "#unknown"):
            self.query_one(name, FlowText).set(lambda width: Text())
        self._draw_later(_NOT_YET)
        self.refresh_bindings()

    def _draw_later(self, said: str) -> None:
        """The same words in every panel that nothing is known for."""
        for name in _LATER:
            self.query_one(f"#{name}", FlowText).set(lambda width: Text(said, style=UNKNOWN))

    def _draw_rows(self, cursor: int | None = None) -> None:
        """The findings: two lines for each where a tall terminal has room for them beside everything else."""
        from rocdoctor.tui.overview import drawing

        found, rows = self._rows, self.query_one("#found", FoundRows)
        tall = 2 if len(found) * 2 <= self.app.size.height - _OTHER_LINES else 1
        rows.styles.height = len(found) * tall
        at = rows.cursor if cursor is None else cursor
        rows.set(len(found), lambda at, width: drawing.found_row(found[at], width, tall), at, tall)

    def _draw_changes(self) -> None:
        """What has changed on a live machine: beside the findings, else in a line above and a list below them.

        Of a recording nobody can say it: it is said how to find out.
        """
        app, diagnosis = self.rocdoctor, self.look.diagnosis
        live = app.host.kind == "live" and bool(app.since) and diagnosis is not None
        wide = self.has_class("wide")
        self.query_one("#changes").display = live
        self.query_one("#changed").display = live and not wide and len(app.changes) > 1
        if diagnosis is None:
            return
        from rocdoctor.tui.changes import change_line, change_lines
        from rocdoctor.tui.overview import drawing

        line = "" if wide or not live else change_line(app.changes, app.since)
        if app.host.kind != "live":
            line = _ONE_MOMENT
        if (
            self._counted[0] is not diagnosis or self._counted[1] != line
        ):  # another size of the terminal draws it by itself
            self._counted = diagnosis, line
            self.query_one("#counts", FlowText).set(partial(drawing.counts, diagnosis, changed=line))
        if live:
            name, most = ("#changes", _MOST_CHANGES) if wide else ("#changed", _MOST_CHANGES // 2)
            known, since = app.changes, app.since
            self.query_one(name, FlowText).set(lambda width: change_lines(known, since, most, width))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """There may be nothing to copy, and nothing to open."""
        if action == "lead":
            return bool(self._rows) or (self._told is not None and self._told.area != "findings")
        return action != "copy" or bool(self._command())

    def _command(self) -> str:
        return clean(self._told.command) if self._told is not None else ""

    async def action_lead(self) -> None:
        """The finding under the cursor, else the screen that says what is next."""
        if self._rows:
            await self.rocdoctor.show_finding(self._rows[self.query_one("#found", FoundRows).cursor].key)
        elif self._told is not None:
            await self.rocdoctor.action_area(self._told.area)

    async def on_rows_chosen(self, event: Rows.Chosen) -> None:
        """A click on a finding."""
        event.stop()
        await self.action_lead()

    async def on_first_thing_pressed(self, event: FirstThing.Pressed) -> None:
        """A click on what to do first: the first finding, or the set-up."""
        event.stop()
        if self._told is None:
            return
        if self._told.because and self._rows:
            await self.rocdoctor.show_finding(self._rows[0].key)
        elif self._told.area != "findings":
            await self.rocdoctor.action_area(self._told.area)

    async def on_panel_pressed(self, event: Panel.Pressed) -> None:
        """A click beside the findings: what is found of a GPU or its values, links, changes, or what is next."""
        from rocdoctor.tui.overview import dashboard

        event.stop()
        diagnosis, name = self.look.diagnosis, event.panel.id
        gpu = dashboard.gpu_of_line(diagnosis, event.line) if name == "gpus" and diagnosis is not None else None
        if gpu is not None and gpu.worst is not None:
            await self.rocdoctor.show_finding(("fail", gpu.check, gpu.worst.message))
            return
        width = event.panel.content_size.width
        area = dashboard.area_of_line(self.look, width, event.line) if name == "next" else _PANEL_AREAS[name or ""]
        if area:
            await self.rocdoctor.action_area(area)

    def on_rows_moved(self, event: Rows.Moved) -> None:
        """Keep the row of the cursor in sight."""
        event.stop()
        rows = self.query_one("#found", FoundRows)
        place = Region(0, rows.virtual_region.y + event.index * rows.tall, 1, rows.tall)
        self.query_one("#overview", StillScroll).scroll_to_region(place, animate=False)

    def action_scroll(self, by: int) -> None:
        """A page of the screen."""
        frame = self.query_one("#overview", StillScroll)
        frame.scroll_relative(y=by * max(1, frame.size.height - 1), animate=False)

    def action_copy(self) -> None:
        """The command to do first, to the clipboard."""
        if self._told is not None:
            self.rocdoctor.copy(self._command(), clean(self._told.typed))

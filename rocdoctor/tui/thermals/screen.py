"""Temperatures, power, clocks, use and memory of each GPU beside the card's own limits; live on a machine."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from rocdoctor.collect.gpus.gpu_users import GpuUsers, gpu_users
from rocdoctor.collect.gpus.sensors import CpuSensors, cpu_sensors
from rocdoctor.host.base import Host
from rocdoctor.host.supervised.supervised_host import fresh
from rocdoctor.insight.gpus.access import enclosure
from rocdoctor.judging.gpu_standing import GpuStanding, first_gpu, standings
from rocdoctor.model.evidence import value_or
from rocdoctor.model.facts import Gpu
from rocdoctor.model.finding import Diagnosis
from rocdoctor.tui.background import Background
from rocdoctor.tui.config import RATES_S
from rocdoctor.tui.look import Look
from rocdoctor.tui.page import Page
from rocdoctor.tui.thermals.drawing import (
    GpuNow,
    cpu_line,
    details,
    event_lines,
    header,
    no_events,
    no_finding,
    no_gpus,
    nothing_known,
    row,
    temperatures,
)
from rocdoctor.tui.thermals.gpu_users import judge_command
from rocdoctor.tui.thermals.live_values import History, Sample, Watch, key, merged, place, who
from rocdoctor.tui.thermals.looking import no_values, state_line
from rocdoctor.tui.thermals.order import ORDERS, Order, ordered
from rocdoctor.tui.widgets.flow import FlowFrame, StillScroll
from rocdoctor.tui.widgets.options import RowOptions
from rocdoctor.tui.widgets.painted import Painted
from rocdoctor.tui.write_files import NewFile, ask_and_store

# A machine that takes longer than this to answer is said to be silent.
_SILENT_S = 2.0
_TICK_S = 0.5


class ThermalsPage(Page):
    """A line for each GPU, all of the selected one, and when clocks were held down."""

    AREA = "thermals"
    ROOMY: ClassVar[Mapping[str, int]] = {"two": 110}  # the events stand beside the details
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("plus", "rate(1)", "Faster", key_display="+", tooltip="look more often"),
        Binding("minus", "rate(-1)", "Slower", key_display="-", tooltip="read less often, or not at all"),
        Binding("full_stop", "now", "Now", show=False, key_display=".", tooltip="look now"),
        Binding("equals_sign", "rate(1)", show=False),
        Binding("p", "plots", "Plots", tooltip="only the plots of the selected GPU, or its values again"),
        Binding("s", "sort", "Sort", tooltip="sort the GPUs by number, heat, power or use"),
        Binding("w", "write", "Write", tooltip="write what was seen as a table (CSV); asks where"),
        Binding("a", "app.ask_alarm", "Alarm", show=False, tooltip="set a limit of your own for temperatures"),
        Binding("c", "copy", "Copy", tooltip="copy the command that judges the process on this GPU"),
    ]
    HELP_KEYS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("up, down", "select a GPU"),
        ("Enter", "the findings of the selected GPU"),
        (".", "look now"),
        ("tab", "to the details, which scroll"),
        ("a", "set a limit of your own for temperatures"),
        ("s", "sort by number, heat (nearest to its limit first), power or use"),
    )
    CSS = """
    ThermalsPage #thermals { layout: vertical; height: 1fr; }
    ThermalsPage #rate, ThermalsPage #heads, ThermalsPage #cpu { height: auto; padding: 0 1; }
    ThermalsPage #heads { text-style: bold; }
    ThermalsPage #gpus { display: none; height: auto; max-height: 45%; border: none; padding: 0 1; background: $surface;
        scrollbar-size-vertical: 1; }
    ThermalsPage #lower { layout: vertical; height: 1fr; }
    ThermalsPage #detail { display: none; height: 1fr; padding: 0 1; border-top: solid $panel;
        scrollbar-size-vertical: 1; }
    ThermalsPage #events { height: 4; padding: 0 1; border-top: solid $panel; border-title-color: $text;
        scrollbar-size-vertical: 1; }
    ThermalsPage.two #lower { layout: horizontal; }
    ThermalsPage.two #events { width: 2fr; height: 1fr; }
    ThermalsPage.two #detail { width: 3fr; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._host: Host | None = None
        self._watch: Watch | None = None
        self._history = History()
        self._cpu = CpuSensors()
        self._users: GpuUsers | None = None  # of recorded evidence
        self._users_of: Diagnosis | None = None
        self._standing: dict[int, GpuStanding] = {}
        self._rate_s = self.rocdoctor.config.rate_s
        self._asking: Background[Sample] | None = None
        self._asked_at = 0.0
        self._trouble = ""
        self._gpus: tuple[Gpu, ...] = ()
        self._order: Order = "number"
        self._plotted = False
        self._offered: list[bool | None] = []  # actions, as the bar of keys has them
        self._shown: list[str] = []  # the keys of the GPUs, in the order of their rows

    def body(self) -> ComposeResult:
        """The rate, the table, the details of one GPU and the events."""
        with Container(id="thermals"):
            yield Painted("Asking for temperatures.", id="rate")
            yield Painted(id="heads")
            yield RowOptions(id="gpus")
            yield Painted(id="cpu")
            with Container(id="lower"):
                yield FlowFrame(id="detail")
                with StillScroll(id="events") as events:
                    events.border_title = " slowed down "
                    yield Painted(id="log")

    def on_mount(self) -> None:
        """The clock of the screen; it asks nothing while the screen is not seen."""
        self.set_interval(_TICK_S, self._tick)

    def adapt(self) -> None:
        """Columns as wide as there is room."""
        super().adapt()
        self._share()
        if self._host is not None:
            self._draw()

    # -- asking

    def show(self, look: Look) -> None:
        """Take the machine; ask what changes where it is this one."""
        host = self.rocdoctor.host
        before = self._host
        if before is not None and before.kind == host.kind == "live" and before.origin == host.origin:
            self._host = host  # this machine, asked again: what was seen of it meanwhile stays
        elif host is not before:
            self._begin(host)
        self._standing = {one.gpu.index: one for one in standings(look.diagnosis)} if look.diagnosis else {}
        if self._watch is None and look.diagnosis is not None and self._users_of is not look.diagnosis:
            self._ask_users(host, look.diagnosis)
        self._draw()
        self._tick()

    def _begin(self, host: Host) -> None:
        """Another host: nothing of the one before is kept but the rate."""
        self._host, self._history, self._trouble, self._cpu = host, History(), "", CpuSensors()
        self._watch = Watch(lambda: fresh(self._host or host)) if host.kind == "live" else None
        if self._asking is not None:
            self._asking.cancel()
            self._asking = None
        self.query_one("#gpus", OptionList).clear_options()
        self._gpus, self._offered, self._users, self._users_of = (), [], None, None
        if self._watch is None:
            Background[CpuSensors](self.app, lambda task: cpu_sensors(host), done=lambda cpu: self._recorded(host, cpu))

    def _ask_users(self, host: Host, diagnosis: Diagnosis) -> None:
        """Who held the GPUs when the evidence was recorded."""
        self._users_of = diagnosis

        def told(users: GpuUsers) -> None:
            if diagnosis is self._users_of:
                self._users = users
                self._draw()

        Background[GpuUsers](self.app, lambda task: gpu_users(host, diagnosis.machine.gpus), done=told)

    def _recorded(self, host: Host, cpu: CpuSensors) -> None:
        if host is self._host:
            self._cpu = cpu
            self._draw()

    def _tick(self) -> None:
        """Look again when it is time, and when the look before has come back; say so when it does not."""
        if self._watch is None or not self.is_current:
            return
        if self._asking is not None:
            if self._silence():
                self._draw_state()
        elif (self._rate_s and time.monotonic() - self._asked_at >= self._rate_s) or self._history.sample is None:
            self._ask()

    def _ask(self) -> None:
        watch = self._watch
        if watch is None or self._asking is not None or self._trouble:
            return
        self._asked_at = time.monotonic()
        self._asking = Background[Sample](self.app, lambda task: watch.look(), done=self._seen, failed=self._failed)

    def _seen(self, sample: Sample) -> None:
        self._asking = None
        self._history.add(sample)
        if self.is_current:
            self._draw()
        before = self.rocdoctor.alarm
        self.rocdoctor.saw_values(self._gpus)
        if self.is_current and self.rocdoctor.alarm != before:
            self.tell_state()

    def _failed(self, error: Exception) -> None:
        self._asking = None
        self._trouble = f"{type(error).__name__}: {error}"
        self._draw()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Evidence cannot be looked at again."""
        if action == "copy":
            return bool(self._command())
        if action == "sort":
            return len(self._gpus) > 1 and (self._watch is not None or not self._bare(self._views()))
        if action in ("plots", "write") and not self._gpus:
            return False
        return self._watch is not None or action not in ("rate", "now", "plots", "write")

    def _command(self) -> str:
        views = self._views()
        at = self.query_one("#gpus", OptionList).highlighted or 0
        return judge_command(views[at].users, views[at].place) if at < len(views) else ""

    def action_copy(self) -> None:
        """The command that judges the process which holds most of the selected GPU."""
        self.rocdoctor.copy(self._command(), self._command())

    def action_rate(self, step: int) -> None:
        """Look more or less often."""
        self._rate_s = RATES_S[max(0, min(len(RATES_S) - 1, RATES_S.index(self._rate_s) + step))]
        self._draw_state()
        self._tick()

    def action_now(self) -> None:
        """Look at once."""
        if self._watch is None:
            return
        self._trouble = ""
        self._watch.retry()
        self._ask()
        self._draw_state()

    def action_plots(self) -> None:
        """The plots alone, or all values with the plots that there is room for."""
        self._plotted = not self._plotted
        self._draw_detail(self._views())

    def action_sort(self) -> None:
        """The next order; the selected GPU stays selected."""
        self._order = ORDERS[(ORDERS.index(self._order) + 1) % len(ORDERS)]
        self._draw()

    def action_write(self) -> None:
        """Ask where, and write all that was seen of the GPUs since this screen was opened."""
        from rocdoctor.tui.thermals.history_csv import as_csv

        began = time.time() - time.monotonic()
        seen = [(one, self._history.of(one)) for one in self._gpus]
        new = NewFile(time.strftime("rocdoctor-thermals-%Y%m%d-%H%M%S.csv"), lambda: as_csv(seen, began))
        ask_and_store(self.app, "write the values", new)

    # -- showing

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """All of the selected GPU."""
        self._draw_detail(self._views())

    async def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """The findings of the GPU, as far as it has some."""
        event.stop()
        views = self._views()
        diagnosis = self.look.diagnosis
        if diagnosis is None or event.option_index >= len(views):
            return
        gpu = views[event.option_index].gpu
        if any(one.finding is not None and one.subject == gpu.subject for one in diagnosis.verdicts):
            await self.rocdoctor.show_finding(gpu.subject)
        else:
            self.notify(no_finding(gpu, diagnosis.verdicts), markup=False)

    def _silence(self) -> dict[str, float]:
        """Who has not answered, and for how many seconds."""
        now = time.monotonic()
        found: dict[str, float] = {}
        sample = self._history.sample
        if sample is not None:
            found = {who(one, self._gpus): now - since for one, since in sample.silent.items()}
        waiting = self._watch.waiting if self._watch is not None and self._asking is not None else None
        if waiting is not None and now - waiting[1] >= _SILENT_S:
            found.setdefault(who(place(waiting[0]), self._gpus), now - waiting[1])
        return found

    def _views(self) -> list[GpuNow]:
        sample = self._history.sample
        if sample is None:
            stands = self._standing
            found = [
                GpuNow(one, users=self._users, place=one.index, standing=stands.get(one.index)) for one in self._gpus
            ]
            return ordered(found, self._order)
        silence = self._silence()
        counted = {key(one) for one in sample.gpus if value_or(one.drm_card, "") in sample.residencies}
        places = {key(one): one.index for one in sample.gpus}
        diagnosis = self.look.diagnosis
        inside = diagnosis is not None and enclosure(diagnosis.machine) is not None
        views = [
            GpuNow(
                one,
                self._history.of(one),
                self._history.active(one),
                silence.get(f"gpu {one.index}"),
                key(one) in counted,
                sample.users,
                places.get(key(one)),
                inside,
                self.rocdoctor.alarm_c,
                self._standing.get(one.index),
            )
            for one in self._gpus
        ]
        return ordered(views, self._order)

    def _draw(self) -> None:
        diagnosis, sample = self.look.diagnosis, self._history.sample
        static = diagnosis.machine.gpus if diagnosis is not None else ()
        self._gpus = merged(static, sample.gpus) if sample is not None else static
        width = max(40, self.app.size.width - 3)
        gpus = self.query_one("#gpus", OptionList)
        views = self._views()
        selected, self._shown = self._selected(gpus), [key(one.gpu) for one in views]
        scale = temperatures(views)
        rows = [row(one, width, scale) for one in views]
        if gpus.option_count != len(rows):
            first = None if gpus.option_count or diagnosis is None else first_gpu(diagnosis)
            at = next((at for at, one in enumerate(views) if one.gpu.index == first), gpus.highlighted or 0)
            gpus.clear_options()
            gpus.add_options([Option(line) for line in rows])
            if rows:
                gpus.highlighted = self._shown.index(selected) if selected in self._shown else min(at, len(rows) - 1)
        else:
            for at, line in enumerate(rows):
                if gpus.get_option_at_index(at).prompt != line:
                    gpus.replace_option_prompt_at_index(at, line)
            if selected in self._shown:  # another order
                gpus.highlighted = self._shown.index(selected)
        bare = self._bare(views)
        gpus.display = bool(rows) and not bare
        self._share()
        heads = header(width, sample is not None, scale) if rows else no_gpus(self.look.diagnosis)
        if bare:
            heads = no_values([one.gpu for one in views])
        self.query_one("#heads", Painted).update(heads)
        cpu = self._cpu if sample is None else sample.cpu
        unasked = self._watch is not None and sample is None
        line = Text("CPU  not asked yet") if unasked else cpu_line(cpu, self._watch is None)
        self.query_one("#cpu", Painted).update(line)
        names = {key(one): one.label for one in self._gpus}
        said = event_lines(self._history.events, names) if self._history.events else no_events(views)
        self.query_one("#log", Painted).update(said)
        self._draw_detail(views)
        self._draw_state()

    def _bare(self, views: Sequence[GpuNow]) -> bool:
        """Whether recorded evidence has no sensors at all."""
        return self._watch is None and bool(views) and all(map(nothing_known, views))

    def _selected(self, gpus: OptionList) -> str:
        """The key of the selected GPU; "" for none."""
        at = gpus.highlighted
        return self._shown[at] if at is not None and at < len(self._shown) else ""

    def _share(self) -> None:
        """The events have room where some may come: the GPUs of this machine, looked at again and again."""
        diagnosis = self.look.diagnosis
        known = bool(self._gpus) or (diagnosis is not None and bool(diagnosis.machine.gpus))
        self.query_one("#events", StillScroll).display = known and self.rocdoctor.host.kind == "live"

    def _draw_detail(self, views: Sequence[GpuNow]) -> None:
        at = self.query_one("#gpus", OptionList).highlighted or 0
        offered = [self.check_action(one, ()) for one in ("copy", "sort", "plots", "now")]
        if offered != self._offered:  # the bar of keys costs more to draw than a look at the sensors
            self._offered = offered
            self.refresh_bindings()
        frame = self.query_one("#detail", FlowFrame)
        frame.display = bool(views) and not self._bare(views)
        plotted = self._plotted
        if views:  # which blocks fit beside each other depends on the room that the table leaves
            frame.set(lambda room: details(views, min(at, len(views) - 1), max(40, room.width), room.height, plotted))

    def _draw_state(self) -> None:
        watched, sample = self._watch is not None, self._history.sample
        silent = self._silence() if watched and not self._trouble else {}
        said = state_line(watched, sample, self._rate_s, self._order, self._trouble, silent, self.rocdoctor.alarm_c)
        self.query_one("#rate", Painted).update(said)

"""What all screens have: a line of state, the bar of screens, a body, the bar of keys."""

from __future__ import annotations

import asyncio
import inspect
import textwrap
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.events import Click, ScreenResume
from textual.timer import Timer
from textual.widgets import Static

from rocdoctor.model.printable import one_line
from rocdoctor.tui.areas import AREAS, KEYS, Area
from rocdoctor.tui.kept_focus import KeptFocus
from rocdoctor.tui.look import Look
from rocdoctor.tui.session import Session, session_of
from rocdoctor.tui.style import RISK, WRONG
from rocdoctor.tui.widgets.key_line import KeyLine
from rocdoctor.tui.widgets.painted import Painted

SMALLEST = (60, 16)
_USUAL = 80  # columns for which the bar of keys is made; with fewer it is closer


class StateLine(Painted):
    """Whose evidence it is, how far the looking has come, and when a live machine was read last."""

    def __init__(self, **options: Any) -> None:
        """``options`` are those of a ``Static`` (id, classes)."""
        super().__init__(**options)
        self._origin, self._look, self._live = "", Look(), False
        self._alarm = ""
        self._waits = 0.0  # since when it waits for programs (monotonic); 0 for not
        self._second: Timer | None = None

    def say(self, origin: str, look: Look, live: bool, alarm: str = "") -> None:
        """Show the state; while programs are waited for it counts the seconds. ``alarm`` stands before all else."""
        self._origin, self._look, self._live, self._alarm = origin, look, live, alarm
        waits = bool(look.waiting) and look.phase == "asking"
        self._waits = (self._waits or time.monotonic()) if waits else 0.0
        if waits and self._second is None:
            self._second = self.set_interval(1.0, self._draw)
        elif not waits and self._second is not None:
            self._second.stop()
            self._second = None
        self._draw()

    def _draw(self) -> None:
        look = self._look
        words = {"asking": "looking", "judging": "judging", "done": "", "failed": f"failed: {look.problem}"}[look.phase]
        if self._waits:
            words = waiting_words(look.waiting, time.monotonic() - self._waits)
        text = Text(" rocdoctor ", style="reverse", no_wrap=True, overflow="ellipsis")
        if self._alarm:
            text.append(f" ! {self._alarm} ", style=f"{WRONG} not reverse")
        text.append(f" {one_line(self._origin)} ", style="bold not reverse")
        if look.renewing:
            words = f"asking again; {words}" if look.waiting else "asking again"
        if words:
            text.append(f" {words} ...", style="not reverse")
        elif self._live and look.asked is not None:
            read = time.localtime(time.time() - (time.monotonic() - look.asked))
            said = f" read at {time.strftime('%H:%M:%S', read)}"
            if text.cell_len + len(said) > self.app.size.width:  # behind an alarm: whole, or not at all
                said = said.replace(" read at", "")
            text.append(said if text.cell_len + len(said) <= self.app.size.width else "", style="dim not reverse")
        self.update(text, layout=False)  # one line, whatever it says


def waiting_words(waiting: Sequence[str], seconds: float) -> str:
    """Which programs have not answered, and for how long."""
    names = ", ".join(one_line(one.split(" ", 1)[-1])[:30] for one in waiting)
    return f"waiting {seconds:.0f} s for {names}" if seconds >= 1 else f"waiting for {names}"


@dataclass(frozen=True, slots=True)
class _Way:
    """How the bar of screens is written. ``whole``: names as long as they are, and not the short ones."""

    whole: bool
    behind_key: str
    between: str


_CLOSE = _Way(False, "", " ")
_WAYS = (_Way(True, " ", "  "), _Way(True, " ", " "), _Way(False, " ", " "), _CLOSE)


class AreaBar(Static):
    """The screens with their keys; a click on one opens it."""

    def __init__(self, current: str) -> None:
        super().__init__()
        self.current = current
        self.unseen = 0
        self._ends: list[tuple[int, str]] = []

    def on_mount(self) -> None:
        self.draw()

    def on_resize(self) -> None:
        self.draw()

    def draw(self) -> None:
        """Names as long as the width allows."""
        text, self._ends = self.fitted(self.app.size.width)
        self.update(text, layout=False)  # one line, whatever it says

    def fitted(self, width: int) -> tuple[Text, list[tuple[int, str]]]:
        """The bar in so many cells, and where each screen ends in it; no name is cut."""
        ways = (self._drawn(way) for way in _WAYS)
        return next((one for one in ways if one[0].cell_len <= width), None) or self._drawn(_CLOSE, width)

    def _drawn(self, way: _Way, width: int = 0) -> tuple[Text, list[tuple[int, str]]]:
        """The bar written so; within a width as many names as it has room for, and of the other screens their key."""
        named = self._named(width) if width else AREAS
        text, ends = Text(no_wrap=True), list[tuple[int, str]]()
        for key, area in zip(KEYS, AREAS, strict=False):
            here = area.module == self.current
            name = (area.name if way.whole else area.short) if area in named else ""
            text.append(key + way.behind_key * bool(name), style="bold" if here else "dim")
            text.append(name, style="bold reverse" if here else "")
            if area.module == "findings":
                text.append(self._news(way), style=RISK)
            ends.append((text.cell_len, area.module))
            if area is not AREAS[-1]:
                text.append(way.between)
        return text, ends

    def _news(self, way: _Way) -> str:
        return f" !{self.unseen}{' new' * way.whole}" if self.unseen else ""

    def _named(self, width: int) -> list[Area]:
        """This screen, and of the others the first that there is room for."""
        room = width - len(AREAS) - len(_CLOSE.between) * (len(AREAS) - 1) - len(self._news(_CLOSE))
        named: list[Area] = []
        for area in sorted(AREAS, key=lambda one: one.module != self.current):
            room -= len(area.short)
            if room < 0:
                break
            named.append(area)
        return named

    def on_click(self, event: Click) -> None:
        """Open the screen under the pointer."""
        for end, module in self._ends:
            if event.x < end:
                self.app.run_worker(session_of(self.app).action_area(module))
                return


class Page(KeptFocus):
    """A screen of an area. Subclasses give ``AREA``, ``body`` and ``show``."""

    AREA: ClassVar[str] = ""
    # Classes that a screen has from so many columns on.
    ROOMY: ClassVar[Mapping[str, int]] = {}
    # (key, what it does) of keys that the key bar does not show; the help names them.
    HELP_KEYS: ClassVar[tuple[tuple[str, str], ...]] = ()
    # Whether the key bar is known before a part has the focus: that part brings no key that is shown.
    OWN_KEYS: ClassVar[bool] = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "app.area('overview')", "Overview", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._stale = True
        self._new = True
        if self.rocdoctor.drawn:
            self._bring_rules()

    def _bring_rules(self) -> None:
        """Have the rules of this screen parsed alone: Textual would parse those of all screens three times to open it.

        Where another version of Textual names its sources in another way, it does so, and nothing else is different.
        """
        own, app = type(self), self.app
        place = (inspect.getfile(own), f"{own.__name__}.CSS")
        scope = getattr(self, "_css_type_name", own.__name__) if self.SCOPED_CSS else ""
        app.stylesheet.add_source(self.CSS, read_from=place, is_default_css=False, scope=scope)
        self._css_update_count = getattr(app, "_css_update_count", -1)  # styled by the rules of now

    @property
    def rocdoctor(self) -> Session:
        """The app, by its own type."""
        return session_of(self.app)

    @property
    def look(self) -> Look:
        """What is known at the moment."""
        return self.rocdoctor.look

    def compose(self) -> ComposeResult:
        """State, screens, body, keys."""
        self._measure()  # before there are widgets: already the first layout is the one that stays
        yield StateLine(id="state-line")
        yield AreaBar(self.AREA)
        with Container(id="body"):
            yield from self.body()
        yield Static("", id="too-small", markup=False)
        footer = KeyLine(own=self.OWN_KEYS)
        footer.compact = self.app.size.width < _USUAL
        yield footer

    def body(self) -> ComposeResult:
        """The widgets of this screen."""
        raise NotImplementedError

    def show(self, look: Look) -> None:
        """Put what is known on the screen; called at each step of the looking while the screen is seen."""
        raise NotImplementedError

    def on_mount(self) -> None:
        """Listen to what becomes known."""
        self.watch(self.app, "look", self._changed, init=False)
        self.app.mode_change_signal.subscribe(self, self._opened, immediate=True)
        self.adapt()

    async def on_screen_resume(self, event: ScreenResume) -> None:
        """Catch up with what became known meanwhile."""
        if self._new:  # its parts have just been styled, and Textual would do so twice more: 10 to 20 ms each
            event.refresh_styles = False
        await asyncio.sleep(0)  # Textual styles the screen next, for up to 40 ms: keys first
        if self._stale:
            self.call_after_refresh(self._catch_up)
        else:  # a limit may have been reached while this screen was not seen
            self.tell_state()

    def on_screen_suspend(self) -> None:
        """Meanwhile the theme may become another one."""
        self._new = False

    def on_resize(self) -> None:
        """Another size of the terminal."""
        self.fit()

    def _opened(self, mode: str) -> None:
        if mode == self.AREA:  # the terminal may have another size since this screen was left
            self.fit()

    def fit(self) -> None:
        """Show what there is room for in the terminal of now."""
        self._measure()
        self.adapt()

    def _measure(self) -> None:
        size = self.app.size
        self.set_class(size.width < SMALLEST[0] or size.height < SMALLEST[1], "small")
        for name, columns in self.ROOMY.items():
            self.set_class(size.width >= columns, name)

    @property
    def caught_up(self) -> bool:
        """Whether the screen shows what is known."""
        return not self._stale

    @property
    def holds(self) -> str:
        """What is at work here that leaving would end, in words; "" for nothing."""
        return ""

    def offers(self, binding: Binding) -> bool:
        """Whether a key does something on this screen now."""
        return bool(self.check_action(binding.action.partition("(")[0], ()))

    def _catch_up(self) -> None:
        if self._stale:  # a screen may have been resumed twice meanwhile
            self._update()

    def _changed(self) -> None:
        self._stale = True
        if self.is_current:
            self._update()

    def _update(self) -> None:
        self._stale = False
        self.tell_state()
        bar = self.query_one(AreaBar)
        if bar.unseen != self.rocdoctor.unseen:
            bar.unseen = self.rocdoctor.unseen
            bar.draw()
        self.query_one("#body").set_class(self.look.renewing, "renewing")
        self.show(self.look)
        if self.has_class("small"):
            self.adapt()

    def tell_state(self) -> None:
        """The line on top."""
        host = self.rocdoctor.host
        self.query_one(StateLine).say(host.origin, self.look, host.kind == "live", self.rocdoctor.alarm)

    def _headline(self) -> list[str]:
        """What a terminal of any size has room for: what is wrong, and what to do."""
        look = self.look
        if look.diagnosis is None:
            return ["Looking ..."]
        from rocdoctor.tui.story import story

        told = story(look.diagnosis, look.setup, look.preliminary)
        return [one_line(one) for one in (told.heading.upper(), *told.lines)]

    def adapt(self) -> None:
        """Show and hide parts for the room that there is; called before the first layout and for each new size."""
        size = self.app.size
        self.query_one(KeyLine).compact = size.width < _USUAL
        if self.has_class("small"):
            words = f"{size.width} x {size.height} is too small: {SMALLEST[0]} x {SMALLEST[1]} is needed"
            told = [*self._headline(), "", "t: the report as text, q: quit", words]
            room = (size.width - 2, size.height - 1)  # a blank on both sides, and the line on top
            if len(told) > 6 and sum(len(textwrap.wrap(one, room[0])) or 1 for one in told) > room[1]:
                del told[-4]  # the command; what is wrong, what to do and how to see the report come first
            self.query_one("#too-small", Static).update("\n".join(told))

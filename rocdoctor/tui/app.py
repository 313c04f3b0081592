"""The app holds a host and nothing else: the same screens open on another machine's evidence."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import Binding, BindingType
from textual.command import Provider
from textual.screen import Screen

from rocdoctor.host.base import Answer, Host
from rocdoctor.host.overlay import OverlayHost
from rocdoctor.knowledge.kept_code import use_more_kept_code
from rocdoctor.model.printable import one_line
from rocdoctor.tui.alarmed import AlarmedSession
from rocdoctor.tui.areas import AREAS, KEYS, load, read_in
from rocdoctor.tui.background import Background, Call
from rocdoctor.tui.changed_cells import ShownCells, changed_only, erases_in_colour
from rocdoctor.tui.config import ACTIONS, ANSI, Config, config_file, theme_named, theme_names
from rocdoctor.tui.kept_rules import KeptRules
from rocdoctor.tui.live import EVERY_S
from rocdoctor.tui.look import Look, examine
from rocdoctor.tui.page import Page
from rocdoctor.tui.style import ON_DARK, ON_LIGHT, named_colours
from rocdoctor.tui.terminal_background import LIGHT, follow

if TYPE_CHECKING:
    from rich.console import RenderableType

    from rocdoctor.host.live.device_events import DeviceEvent
    from rocdoctor.model.finding import Diagnosis
    from rocdoctor.model.subject import Subject
    from rocdoctor.tui.changes import SeenChange

    _Seen = tuple[Host, Look, tuple[SeenChange, ...]]

_MOST_NEWS, _KEPT_CHANGES = 3, 200  # lines at once, and in all
_LEAVE_S = 4.0  # for a second press


def _commands() -> type[Provider]:
    """The commands of the palette, loaded when it opens."""
    from rocdoctor.tui.palette import Commands

    return Commands


def _copied(what: str, program: str) -> str:
    sent = f"sent {what} to the terminal, which copies it if it allows that (OSC 52)"
    return f"copied {what} ({program})" if program else sent


class RocdoctorApp(AlarmedSession):
    """The session of a person: what is open, what was open before, and the screens over it."""

    TITLE = "rocdoctor"
    CSS_PATH = "app.tcss"
    MODES: ClassVar[dict[str, str | Callable[[], Screen[Any]]]] = {
        area.module: partial(load, area.module) for area in AREAS
    }
    DEFAULT_MODE = "overview"
    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = {_commands}
    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            Binding(key, f"area('{area.module}')", area.name, show=False, tooltip=area.about)
            for key, area in zip(KEYS, AREAS, strict=False)
        ),
        Binding("question_mark", "help", "Help", key_display="?"),
        Binding("f1", "help", "Help", show=False),
        Binding("t", "text_report", "Text"),
        Binding("r", "reload", "Again"),
        Binding("b", "earlier", "Back", show=False),
        Binding("ctrl+p", "command_palette", "Commands", show=False),
        Binding("ctrl+l", "repaint", "Redraw the screen", show=False),
        Binding("ctrl+z", "suspend_process", "Suspend", show=False),
        Binding("q", "quit", "Quit"),
    ]

    def __init__(self, host: Host, again: Callable[[], Host] | None = None, config: Config | None = None) -> None:
        """``again`` opens the host anew, for a second look at a machine; without it the same host is judged again."""
        super().__init__()
        self.stylesheet = KeptRules(variables=self.get_css_variables())
        self.host = host
        self.config = config or Config()
        self.drawn = False
        self._again = again or (lambda: self.host)
        self._before: list[tuple[Host, Callable[[], Host]]] = []
        self._smoke: tuple[Host, Answer] | None = None
        self._work: Background[None] | None = None
        self._collections = gc.get_threshold()
        self._reading_in: Background[None] | None = None
        self._hears_devices = False
        self.changed = ""
        self._copying: Background[str] | None = None
        self._leave_asked = False
        self._again_look: Background[_Seen] | None = None
        self.unseen = 0
        self.changes: tuple[SeenChange, ...] = ()
        self.since = 0.0
        self._last: Diagnosis | None = None  # of this machine, from before it is asked anew
        self.wanted: tuple[str, str, str] | Subject | None = None
        self.wanted_answer = ""
        self._shown_cells = ShownCells(erases_in_colour())
        self.ansi_theme_dark = named_colours(self.ansi_theme_dark, ON_DARK)
        self.ansi_theme_light = named_colours(self.ansi_theme_light, ON_LIGHT)
        self._theme = self.theme  # that nobody has chosen
        self._odd = [*self.config.problems, *self._as_liked()]

    def on_mount(self) -> None:
        """Ask after the first frame."""
        # A full collection of garbage holds up the keys for 0.1 s and more on a large machine: rarely, then.
        gc.set_threshold(5000, 10, 100)
        self.app_resume_signal.subscribe(self, lambda _: self._shown_cells.forget(), immediate=True)
        self.theme_changed_signal.subscribe(self, lambda theme: self._theme_chosen(theme.name))
        self.call_after_refresh(self._begin)
        self.set_interval(EVERY_S, self._look_again)

    def _as_liked(self) -> list[str]:
        """Take the theme and the further keys of the user; what is no theme is said."""
        for key, name in self.config.keys.items():
            self.bind(key, ACTIONS[name], description=name, show=False)
        if not self.config.theme:
            follow(self, self._background_told)
            return []
        theme = theme_named(self.config.theme, list(self.available_themes))
        if not theme:
            known = ", ".join(theme_names(list(self.available_themes)))
            return [f"{self.config.theme_place}theme '{one_line(self.config.theme)}' is not one of {known}"]
        if not (os.environ.get("NO_COLOR") and ANSI in theme):  # the greys of NO_COLOR need colours to be made of
            self.theme = theme
        return []

    def _background_told(self, light: bool) -> None:
        if light and self.theme == self._theme:  # else somebody has chosen one
            self._theme = LIGHT  # before it is heard of
            self.theme = LIGHT

    def _theme_chosen(self, name: str) -> None:
        """Say how it is kept: another run asks the file of the user."""
        if self.drawn and name not in (self.config.theme, self._theme):
            words = f'to keep this theme: theme = "{name}" in {config_file()}'
            self.notify(words, timeout=10, markup=False)

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        """Write what differs from what the terminal shows; a line of what Textual calls for each update."""
        super()._display(screen, changed_only(renderable, self._shown_cells))

    def on_resize(self) -> None:
        """A terminal of another size shows anything."""
        self._shown_cells.forget()

    def on_unmount(self) -> None:
        """Leave the collection of garbage as it was found."""
        gc.unfreeze()
        gc.set_threshold(*self._collections)

    def on_call(self, message: Call) -> None:
        """Do what a thread wants done."""
        message.function()

    def _begin(self) -> None:
        self.drawn = True
        for one in self._odd:
            self.notify(one, severity="warning", timeout=30, markup=False)
        if self.config.start:
            self.call_later(self.action_area, self.config.start)
        self.examine()

    def examine(self, renew: bool = False) -> None:
        """Look at the host from the beginning; ``renew``: what is known stays until it is known anew."""
        if self._again_look is not None:
            self._again_look.cancel()
            self._again_look = None
        if self._work is not None:
            self._work.cancel()
        before = self.look
        kept = renew and before.diagnosis is not None
        self.look = replace(before, phase="asking", waiting=(), renewing=True) if kept else Look()
        if not renew:
            self.since, self.changes, self._last = 0.0, (), None
        elif before.diagnosis is not None and not before.preliminary:
            self._last = before.diagnosis_now
        self.changed = ""
        host, smoke = self._with_results()

        def work(task: Background[None]) -> None:
            use_more_kept_code("behind")
            examine(host, lambda look: task.tell(self._seen, look), lambda: task.cancelled, smoke)

        self._work = Background(self, work)

    def _seen(self, look: Look) -> None:
        if self.look.renewing and (look.busy or look.diagnosis is None) and look.phase != "failed":
            self.look = replace(self.look, phase=look.phase, waiting=look.waiting)
            return
        if look.diagnosis is not None and look.phase == "done":
            if self._last is None:
                self.since = time.time()
            else:
                from rocdoctor.tui.changes import changes

                self._tell(changes(self._last, look.diagnosis, time.time()))
        self.look = look
        if look.diagnosis is not None and self._reading_in is None:  # before, it would hold up the report
            self._reading_in = Background(self, self._read_in, lambda _: gc.freeze())
        if not look.busy:
            gc.freeze()  # facts and verdicts hold no cycles: collections need not walk over them
            if self.host.kind == "live" and not self._hears_devices:
                self._hears_devices = True
                self._hear_devices()

    def _look_again(self) -> None:
        """Read the live machine anew, unless somebody is at work with it."""
        busy = self._again_look is not None or self._work_held()
        if self.host.kind != "live" or self.look.busy or self.look.diagnosis is None or busy:
            return
        host, smoke = self._with_results()
        known, before = self.look, None if self.look.preliminary else self.look.diagnosis_now

        def work(task: Background[_Seen]) -> _Seen:
            from rocdoctor.tui.changes import changes
            from rocdoctor.tui.live import look_again

            asked, look = look_again(host, smoke, lambda: task.cancelled, known)
            if before is None or look.diagnosis is None:
                return asked, look, ()
            return asked, look, changes(before, look.diagnosis, time.time())

        def failed(error: Exception) -> None:
            self._again_look = None

        self._again_look = Background(self, work, lambda found: self._saw_again(*found), failed)

    def _saw_again(self, host: Host, look: Look, changes: tuple[SeenChange, ...]) -> None:
        from rocdoctor.tui.live import same_look, with_values

        self._again_look = None
        if look.diagnosis is None or self.look.diagnosis is None or self.look.busy or self._work_held():
            return  # a run that began meanwhile goes on with this host
        self._tell(changes)
        self.since = self.since or time.time()
        if same_look(self.look, look):
            self.look = with_values(self.look, look)
            return
        self._asks_anew(host)
        self.look = look

    def _asks_anew(self, host: Host) -> None:
        """Take another host of the same machine: what smoke tests found of it stays."""
        if self._smoke is not None and self._smoke[0] is self.host:
            self._smoke = host, self._smoke[1]
        self.host = host

    def _tell(self, changes: tuple[SeenChange, ...]) -> None:
        """Keep what has changed, and say what is found now or no more; the bar of screens counts what is new."""
        self.changes = (*changes, *self.changes)[:_KEPT_CHANGES]
        found = [one for one in changes if one.kind == "found"]
        gone = [one for one in changes if one.kind == "gone"]
        for one in found[:_MOST_NEWS]:
            self.notify(f"{one.clock} new: {one.said}", severity="warning", timeout=15, markup=False)
        for one in gone[:_MOST_NEWS]:
            self.notify(f"{one.clock} {one.said}", timeout=15, markup=False)
        self.unseen += len(found)

    def _hear_devices(self) -> None:
        from rocdoctor.tui.changes import SeenChange
        from rocdoctor.tui.device_changes import watch, words

        def told(event: DeviceEvent) -> None:
            self.call_later(self._look_again)
            if self.host.kind == "live" and not self.changed and not self.look.busy:
                self.changed = words(event)
                self.changes = (SeenChange(time.time(), "device", "", self.changed), *self.changes)
                self.notify(f"{self.changed}: r asks again", severity="warning", timeout=60, markup=False)

        watch(self, told)

    def _read_in(self, task: Background[None]) -> None:
        read_in(lambda: not self.is_running)

    def _with_results(self) -> tuple[Host, str]:
        """The host with the results of smoke tests in front, and their question; "" where none ran on it."""
        if self._smoke is None or self._smoke[0] is not self.host:
            return self.host, ""
        answer = self._smoke[1]
        return OverlayHost(self.host, {answer.question: answer}), answer.question

    def with_smoke(self, answer: Answer) -> None:
        """Judge the machine again together with the results of smoke tests."""
        self._smoke = (self.host, answer)
        self.examine(renew=True)

    def open(self, host: Host) -> None:
        """Look at other evidence; ``action_earlier`` returns to what was open before."""
        self._before.append((self.host, self._again))
        self.host, self._again = host, lambda: host
        self.examine()

    def again_host(self) -> Host | None:
        """A host that asks this live machine anew, beside the one that is open; None for other evidence."""
        host = self._again() if self.host.kind == "live" else self.host
        return None if host is self.host else host

    async def action_area(self, module: str) -> None:
        """Go to a screen."""
        if module in self._screen_stacks:  # before Textual lays it out: the terminal may have another size by now
            for page in self.get_screen_stack(module):
                if isinstance(page, Page):
                    page.fit()
        if module == "findings":
            self.unseen = 0
        await self.switch_mode(module)

    def copy(self, text: str, what: str) -> None:
        """To the clipboard; say what came of it, ``what`` being its name."""
        self.copy_to_clipboard(text)

        def work(task: Background[str]) -> str:
            from rocdoctor.host.live.clipboard import put

            return "" if self.is_headless else put(text)

        self._copying = Background(self, work, lambda program: self.notify(_copied(what, program), markup=False))

    async def show_finding(self, wanted: tuple[str, str, str] | Subject) -> None:
        """Go to a finding, by the key of its row; or to all findings of a part of the machine."""
        self.wanted = wanted
        await self.action_area("findings")

    async def show_answer(self, question: str) -> None:
        """Go to the answer to a question."""
        self.wanted_answer = question
        await self.action_area("bundle")

    def action_earlier(self) -> None:
        """Return to the evidence that was open before."""
        if self._before:
            self.host, self._again = self._before.pop()
            self.examine()

    def action_reload(self) -> None:
        """Ask everything again; not while a run has the host."""
        work = self._work_held()
        if work:
            self.notify(f"{work}: press r again when they have ended", severity="warning", markup=False)
            return
        self._asks_anew(self._again())
        self.examine(renew=True)

    async def action_quit(self) -> None:
        """Leave; what is at work is ended at the second press only."""
        work = self._work_held()
        if work and not self._leave_asked:
            self._leave_asked = True
            self.notify(f"{work}: q again ends that and quits", severity="warning", markup=False)
            self.set_timer(_LEAVE_S, self._stay)
            return
        await super().action_quit()

    def action_help_quit(self) -> None:
        """Ctrl+C: leave at the second press."""
        if self._leave_asked:
            self.exit()
            return
        self._leave_asked = True
        work = self._work_held()
        words = f"{work}{'; ' if work else ''}ctrl+c again leaves rocdoctor, as q does"
        self.notify(words, timeout=_LEAVE_S, markup=False)
        self.set_timer(_LEAVE_S, self._stay)

    def _stay(self) -> None:
        self._leave_asked = False

    def _work_held(self) -> str:
        """What is at work on some screen that another host, or leaving, would end; "" for nothing."""
        stacks = self._screen_stacks.values()
        return next((one.holds for stack in stacks for one in stack if isinstance(one, Page) and one.holds), "")

    def action_repaint(self) -> None:
        """Draw everything anew: something else wrote to the terminal."""
        self._shown_cells.forget()
        self.refresh(layout=True)

    def action_help(self) -> None:
        """The keys and the screens."""
        from rocdoctor.tui.help.screen import HelpPanel

        self.push_screen(HelpPanel())

    def action_text_report(self) -> None:
        """The report as plain text, for screen readers, copying and small terminals."""
        from rocdoctor.tui.text_report import show_text

        show_text(self)

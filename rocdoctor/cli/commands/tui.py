"""``rocdoctor`` on a terminal: the screens."""

from __future__ import annotations

import _thread
import contextlib
import os
import signal
import sys
import time
from argparse import ArgumentParser
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn

from rocdoctor.cli.arguments import evidence_arguments
from rocdoctor.cli.terminal import Terminal
from rocdoctor.host.supervised.command_child import children
from rocdoctor.host.supervised.supervised_host import far_of, fresh
from rocdoctor.knowledge.kept_code import keep_used
from rocdoctor.service.errors import UsageError, suggestion
from rocdoctor.service.options import EvidenceOptions, Format
from rocdoctor.service.session import open_host

if TYPE_CHECKING:
    import asyncio

    from textual.app import App

    from rocdoctor.host.base import Host
    from rocdoctor.host.supervised.supervised_host import FarHost
    from rocdoctor.tui.config import Config

HELP: str = "the screens (also without a command on a terminal)"
FORMATS: tuple[Format, ...] = ()
_STOPPING = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")
# So long the screens may take to end when asked.
_SOON_S = 0.5
# And so long what broke them may take to be said.
_SAID_S = 2.0
_BROKEN = 3


@dataclass(frozen=True, slots=True)
class TuiOptions(EvidenceOptions):
    """Which evidence, and in which colours."""

    theme: str | None = None


Options = TuiOptions


def arguments(parser: ArgumentParser) -> None:
    """How they are written."""
    evidence_arguments(parser, FORMATS)
    told = "colours: ansi (those of the terminal), textual-light, nord and others (ctrl+p shows all)"
    parser.add_argument("--theme", metavar="NAME", help=told)
    parser.epilog = (
        "Put your preferences into ~/.config/rocdoctor/config.toml (or $XDG_CONFIG_HOME/rocdoctor/config.toml): "
        'theme = "nord", rate = 5, start = "thermals", and under [keys] more keys, such as again = "ctrl+r".'
    )


def _liked(theme: str | None) -> Config:
    """What the configuration file says, but for a theme that was named."""
    from rocdoctor.tui.config import theme_named, theme_names, user_config

    if theme is None:
        return user_config()
    from textual.theme import BUILTIN_THEMES

    if not theme_named(theme, list(BUILTIN_THEMES)):
        known = theme_names(list(BUILTIN_THEMES))
        raise UsageError(f"no theme '{theme}'{suggestion(theme, known)}; there are {', '.join(known)}")
    return replace(user_config(), theme=theme, theme_place="")


def run(options: TuiOptions) -> NoReturn:
    """Open the app on the host that the options name, and end the process with it: threads may still wait."""
    liked = _liked(options.theme)
    host = open_host(options, far=os.name == "posix")  # its process starts while Textual is imported
    far = far_of(host)
    end = _End(far, Terminal())
    from rocdoctor.tui.app import RocdoctorApp

    def again() -> Host:
        if far is not None:
            far.retry()
        return fresh(host)

    _shown(RocdoctorApp(host, again, liked), end)


def shown(app: App[None]) -> NoReturn:
    """Show screens that need no host, and end the process with them."""
    _shown(app, _End(None, Terminal()))


def _shown(app: App[None], end: _End) -> NoReturn:
    try:
        with end.terminal.drawn_on():
            _show(app, end)
    except Exception:
        end.leave()
        end.soon(_BROKEN, _SAID_S)
        raise
    end.kept()
    end.leave()
    end.now(0)


def _show(app: App[None], end: _End) -> None:
    """Run the app to its end; what broke it is raised."""
    import asyncio

    debug = bool(os.environ.get("ROCDOCTOR_DEBUG"))
    with open(os.devnull, "w", encoding="utf-8") as nothing:
        if not debug:  # one line says it afterwards
            app.error_console.file = nothing
        # Not asyncio.run, which waits for every thread that still does something.
        loop = asyncio.new_event_loop()
        end.install(loop, app)
        loop.run_until_complete(app.run_async())
    end.host_closed()
    error: BaseException | None = getattr(app, "_exception", None)
    if error is not None:
        raise error
    if app.return_code:
        raise RuntimeError(f"the screens ended with status {app.return_code}")


class _End:
    """How it ends where somebody asks for it, or the terminal is gone: at once, whatever the screens are doing."""

    def __init__(self, far: FarHost | None, terminal: Terminal) -> None:
        self.code = 0
        self.terminal = terminal
        self._far = far
        self._loop: Any = None
        self._app: Any = None

    def install(self, loop: asyncio.AbstractEventLoop, app: App[None]) -> None:
        """Hear signals and the terminal. What is ignored (as nohup wants it) stays ignored."""
        self._loop, self._app = loop, app
        for name in _STOPPING:
            with contextlib.suppress(AttributeError, ValueError, OSError):
                number = getattr(signal, name)
                if signal.getsignal(number) is not signal.SIG_IGN:
                    signal.signal(number, self)
        if os.name == "posix":  # where the kernel gives a signal to another thread, the loop is woken too
            heard, woken = os.pipe()
            os.set_blocking(woken, False)
            signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
            loop.add_reader(heard, self._woken, heard)
        with contextlib.suppress(RuntimeError):
            _thread.start_new_thread(self.terminal.when_lost, (lambda: self.now(128 + signal.SIGHUP),))

    def __call__(self, number: int, _: object) -> None:
        if not self.code:
            self.code = 128 + number
            self.soon(self.code, _SOON_S, self.terminal)
            self._loop.call_soon_threadsafe(self._app.exit)

    def leave(self) -> None:
        """End at once where that was asked for, whatever broke on the way."""
        if not self.code and self.terminal.lost():
            self.code = 128 + signal.SIGHUP
        if self.code:
            self.now(self.code)

    def kept(self) -> None:
        """Keep for the next run what Python has compiled for this one; a disk that hangs keeps nobody."""
        self.soon(self.code, _SOON_S)
        keep_used()

    def _woken(self, heard: int) -> None:
        if signal.SIGCONT in os.read(heard, 4096):  # the numbers; after a stop the terminal shows nothing of us
            self._app.refresh(layout=True)

    def soon(self, code: int, after_s: float, terminal: Terminal | None = None) -> None:
        """End the process for certain, soon: the screens, or threads that still wait, would keep it."""

        def wait() -> None:
            time.sleep(after_s)
            self.now(code, terminal)

        try:
            _thread.start_new_thread(wait, ())
        except (RuntimeError, MemoryError):  # no more threads for this user
            self.now(code, terminal)

    def now(self, code: int, terminal: Terminal | None = None) -> NoReturn:
        """End the process, with everything it has started."""
        self.host_closed()
        if terminal is not None:
            terminal.restore()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        # A pager, say; the host's have been told already. Last, since who waits for it would draw on.
        for child in children():
            with contextlib.suppress(OSError):
                os.kill(child, signal.SIGTERM)
        os._exit(code)

    def host_closed(self) -> None:
        """Ask no more: who waits for an answer gets one now."""
        if self._far is not None:
            self._far.close()

"""The terminal of the screens: whether it can show them, what they draw on, its loss, and leaving it as it was."""

from __future__ import annotations

import codecs
import contextlib
import os
import select
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

# Kitty keys, mouse, focus, pasting, resizing and synchronised output off; line wrap on; normal screen; cursor; colours.
_AS_BEFORE = (
    b"\x1b[?2026l\x1b[<u\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?1016l\x1b[?1004l\x1b[?2004l\x1b[?2048l\x1b[?7h"
    b"\x1b[?1049l\x1b[?25h\x1b[0m"
)
_BUFFER_BYTES = 64 * 1024


def no_terminal() -> str:
    """Which of the standard streams is not a terminal, in words; empty where both are."""
    for stream, name in ((sys.stdin, "input"), (sys.stdout, "output")):
        if stream is None or not stream.isatty():
            return f"standard {name} is not a terminal"
    return ""


def no_screens() -> str:
    """Why a terminal cannot show the screens, in words; empty where it can."""
    if os.name == "posix" and os.environ.get("TERM", "") in ("", "dumb", "unknown"):
        return f"TERM is {os.environ.get('TERM') or 'not set'}"
    encoding = sys.stdout.encoding or "unknown"
    try:
        fits = codecs.lookup(encoding).name == "utf-8"
    except LookupError:
        fits = False
    return "" if fits else f"the output's encoding is {encoding}, not UTF-8"


def screens_or_report(arguments: Sequence[str]) -> tuple[list[str], str]:
    """The command line with its command, and why that is the report where somebody expects screens."""
    first = arguments[0] if arguments else ""
    chosen = first == "tui"
    if not chosen and first and (not first.startswith("-") or first in ("--version", "--help", "-h")):
        return list(arguments), ""
    rest = list(arguments[1:] if chosen else arguments)
    if not chosen and any(_names_format(one.split("=")[0]) for one in rest):
        return ["check", *_without_theme(rest)], ""
    if {"-h", "--help"} & set(rest):
        return ["tui", *rest], ""
    piped = no_terminal()
    if piped:
        return ["check", *_without_theme(rest)], piped if chosen else ""
    why = no_screens()
    return (["check", *_without_theme(rest)], why) if why else (["tui", *rest], "")


def _without_theme(arguments: list[str]) -> list[str]:
    """For a report, which has no theme."""
    kept: list[str] = []
    value = False
    for one in arguments:
        named = one.split("=")[0] == "--theme"
        if not named and not (value and not one.startswith("-")):
            kept.append(one)
        value = named and "=" not in one
    return kept


def _names_format(option: str) -> bool:
    """Whether it is ``--json`` or ``--format``, or short for one of them."""
    return len(option) > 3 and ("--json".startswith(option) or "--format".startswith(option))


class Terminal:
    """The terminal of standard input and output, as it was found."""

    def __init__(self) -> None:
        # As numbers: while the screens run, the streams of ``sys`` are other ones.
        self._in, self._out = sys.stdin.fileno(), sys.stdout.fileno()
        self._name = "/dev/tty"
        with contextlib.suppress(AttributeError, OSError):
            self._name = os.ttyname(self._out)
        self._attributes: list[Any] | None = None
        with contextlib.suppress(ImportError, OSError):
            import termios

            with contextlib.suppress(termios.error):
                self._attributes = termios.tcgetattr(self._in)

    @contextlib.contextmanager
    def drawn_on(self) -> Iterator[None]:
        """Textual draws on what standard error was at the start: here that is standard output, a terminal."""
        before = sys.__stderr__
        with open(os.dup(self._out), "w", _BUFFER_BYTES, encoding="utf-8", errors="replace", newline="") as stream:
            sys.__dict__["__stderr__"] = stream
            try:
                yield
            finally:
                sys.__dict__["__stderr__"] = before

    def restore(self) -> None:
        """Leave it as it was found, whoever writes to it still; never waits for a terminal that takes nothing."""
        with contextlib.suppress(OSError):
            device = self._opened_anew()
            if select.select([], [device], [], 0.0)[1]:
                os.write(device, _AS_BEFORE)
        if self._attributes is not None:
            import termios

            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})  # in the background it would stop us
            with contextlib.suppress(termios.error, OSError):
                termios.tcsetattr(self._in, termios.TCSANOW, self._attributes)

    def _opened_anew(self) -> int:
        """Its descriptor, of which not waiting is no property of the shell's; in some containers only our own."""
        for name in (f"/proc/self/fd/{self._out}", self._name):
            with contextlib.suppress(OSError):
                return os.open(name, os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
        return self._out

    def when_lost(self, call: Callable[[], None]) -> None:
        """Call when the terminal is gone; blocks until then, for ever where that cannot be seen."""
        if sys.platform.startswith("linux"):
            while not self.lost(None):
                pass
            call()

    def lost(self, wait_s: float | None = 0.0) -> bool:
        """Whether the terminal is gone (on Linux); None waits for it."""
        if not sys.platform.startswith("linux"):
            return False
        poll = select.poll()
        poll.register(self._in, 0)  # a hang-up alone
        return bool(poll.poll(None if wait_s is None else wait_s * 1000))

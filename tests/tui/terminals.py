"""Runs rocdoctor on a terminal of its own, as a shell would, and keeps what it draws."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import struct
import sys
import termios
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.sick.ill import CANNOT
from tests.sick.kit import Place, Running, as_in_the_foreground, wait_until
from tests.waiting import until

ALTERNATE, NORMAL = b"\x1b[?1049h", b"\x1b[?1049l"
CURSOR, NO_CURSOR = b"\x1b[?25h", b"\x1b[?25l"
MOUSE, NO_MOUSE = b"\x1b[?1003h", b"\x1b[?1003l"


def take_terminal() -> None:
    """Before the run starts: a session of its own, whose terminal this is."""
    as_in_the_foreground()
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


class Screen:
    """A run of rocdoctor whose standard streams are a terminal; ``options`` go to Popen."""

    def __init__(self, place: Place, *arguments: str, size: tuple[int, int] = (80, 24), **options: Any) -> None:
        self._main, side = pty.openpty()
        fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        self.side = Path(os.ttyname(side))
        self.drawn = b""
        self._lost = False
        options.setdefault("env", {})
        options["env"] = {"TERM": "xterm-256color", **options["env"]}
        streams = {"stdin": side, "stdout": side, "stderr": side, "preexec_fn": take_terminal, **options}
        self._kept_open = os.dup(side)  # the settings are looked at when the run has ended
        self.before = termios.tcgetattr(side)
        self.run: Running = place.start(*arguments, **streams)
        os.close(side)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        poll = select.poll()
        poll.register(self._main, select.POLLIN)
        with contextlib.suppress(OSError):
            while not self._lost:  # a thread inside read would keep the terminal
                if poll.poll(20) and (piece := os.read(self._main, 65536)):
                    self.drawn += piece

    def __enter__(self) -> Screen:
        return self

    def __exit__(self, *_: object) -> None:
        self.run.__exit__()
        self.lose()

    def lose(self) -> None:
        """The terminal goes away, as when its window is closed."""
        if not self._lost:
            self._lost = True
            self._reader.join()
            os.close(self._kept_open)
            os.close(self._main)

    def type(self, keys: bytes) -> None:
        """Press keys."""
        os.write(self._main, keys)

    def wait_for(self, words: bytes) -> None:
        """Until it has drawn that."""
        wait_until(lambda: words in self.drawn, self.run.process)

    def wait_for_or_skip(self, words: bytes) -> None:
        """The same; skips the test where this system cannot be ill that way."""
        process = self.run.process
        wait_until(lambda: words in self.drawn or process.poll() == CANNOT)
        if process.poll() == CANNOT:
            pytest.skip(self.drawn.decode(errors="replace").strip())

    def wait_for_rest(self) -> None:
        """Until it has drawn nothing for a second."""
        length = -1
        while length != len(self.drawn):
            length = len(self.drawn)
            time.sleep(1.0)

    def attributes(self) -> list[Any]:
        """The terminal's settings now."""
        return termios.tcgetattr(self._kept_open)

    def restored(self) -> bool:
        """Whether the terminal is as it was: its settings, the normal screen, a cursor, no mouse."""

        def last(one: bytes, other: bytes) -> bool:
            return self.drawn.rfind(one) > self.drawn.rfind(other)

        def all_last() -> bool:
            pairs = ((NORMAL, ALTERNATE), (CURSOR, NO_CURSOR), (NO_MOUSE, MOUSE)) if self.shown() else ()
            return all(last(*pair) for pair in pairs)

        return self.attributes() == self.before and until(all_last, 10)  # the reader is a thread

    def shown(self) -> bool:
        """Whether there were ever screens on it."""
        return ALTERNATE in self.drawn


class _Broken(Place):
    """Runs rocdoctor with the statements of the file ``action`` behind the key of the help."""

    __slots__ = ()

    def command(self, arguments: Sequence[str], words: Sequence[str] = ()) -> list[str]:
        begin = "import sys, threading, time\nfrom rocdoctor.tui.app import RocdoctorApp\ndef action_help(self):\n"
        end = "RocdoctorApp.action_help = action_help\nfrom rocdoctor.__main__ import main\nmain()\n"
        action = (self.folder / "action").read_text()
        return [sys.executable, "-c", f"{begin}{action}\n{end}", *arguments]


def broken(made: Place, action: str) -> Place:
    """The place with other statements behind the key of the help."""
    (made.folder / "action").write_text("".join(f"    {line}\n" for line in action.splitlines()))
    return _Broken(made.folder)

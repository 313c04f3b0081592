"""Measures the screens on a terminal of their own (Linux): the first drawn frame, and what they cost while idle."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import statistics
import struct
import sys
import termios
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rocdoctor.model.lazy_re import regex

_ESCAPES = regex(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][A-Z0-9]|[=>])|[\x00-\x20]")
_ALTERNATE = b"\x1b[?1049h"
# Fewer signs than this are no frame yet.
_SIGNS = 20
_GIVE_UP_S = 30.0
# The screens are at rest when they have drawn nothing for so long.
_QUIET_S = 2.0


class Frame(NamedTuple):
    """Seconds from the start of the process to its first frame, of these those of the processor, and MiB resident."""

    wall_s: float
    cpu_s: float
    memory_mib: float


class _Screens:
    """A run of the screens on a new terminal of 80 x 24."""

    def __init__(self, arguments: Sequence[str]) -> None:
        self.began = time.perf_counter()
        self.pid, self._terminal = pty.fork()
        if self.pid == 0:
            environment = {**os.environ, "TERM": "xterm-256color"}
            environment.pop("PYTHONDONTWRITEBYTECODE", None)  # cached as on a user's machine
            os.execve(sys.executable, [sys.executable, "-m", "rocdoctor", *arguments], environment)
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.drawn = b""

    def __enter__(self) -> _Screens:
        return self

    def __exit__(self, *_: object) -> None:
        os.kill(self.pid, signal.SIGTERM)
        with contextlib.suppress(OSError):
            while self.draws(_GIVE_UP_S):
                pass
        os.waitpid(self.pid, 0)
        os.close(self._terminal)

    def draws(self, limit_s: float) -> bool:
        """Whether something was drawn within so long."""
        if not select.select([self._terminal], [], [], limit_s)[0]:
            return False
        self.drawn += os.read(self._terminal, 65536)
        return True

    def first_frame(self) -> Frame:
        while self.draws(_GIVE_UP_S):
            if len(_ESCAPES.sub(b"", self.drawn.partition(_ALTERNATE)[2])) >= _SIGNS:
                passed = time.perf_counter() - self.began
                return Frame(passed, _busy_s(self.pid), _peak_mib(self.pid))
        raise RuntimeError("the screens drew nothing")

    def rest(self) -> None:
        """Wait until they draw no more, at most a while."""
        until = time.monotonic() + _GIVE_UP_S
        while self.draws(_QUIET_S) and time.monotonic() < until:
            pass


def _busy_s(pid: int) -> float:
    """Seconds of the processor that a process and its descendants have had."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        children = [
            int(word) for path in Path(f"/proc/{pid}/task").glob("*/children") for word in path.read_text().split()
        ]
    except OSError:
        return 0.0
    return sum(map(int, words[11:15])) / os.sysconf("SC_CLK_TCK") + sum(map(_busy_s, children))


def _peak_mib(pid: int) -> float:
    found = re.search(r"^VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    return int(found[1]) / 1024 if found else 0.0


def first_frame(runs: int, arguments: Sequence[str] = ()) -> Frame:
    """Medians of some runs after one to warm up, and the largest resident set."""
    frames = []
    for _ in range(runs + 1):
        with _Screens(arguments) as screens:
            frames.append(screens.first_frame())
    walls, busy, peaks = zip(*frames[1:], strict=True)
    return Frame(statistics.median(walls), statistics.median(busy), max(peaks))


def idle_share(seconds: float, arguments: Sequence[str] = ()) -> float:
    """The share of one processor core that the screens take at rest, with the process that asks the machine."""
    with _Screens(arguments) as screens:
        screens.first_frame()
        screens.rest()
        before, began = _busy_s(screens.pid), time.monotonic()
        while (left := began + seconds - time.monotonic()) > 0:
            screens.draws(left)
        return (_busy_s(screens.pid) - before) / (time.monotonic() - began)

"""Measures the screens on a terminal of their own (Linux): what a person waits for, and what they cost while idle."""

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
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from rocdoctor.model.lazy_re import regex
from rocdoctor.tui.areas import AREAS, KEYS

_ESCAPES = regex(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][A-Z0-9]|[=>])|[\x00-\x20]")
_ALTERNATE = b"\x1b[?1049h"
# Fewer signs than this are no frame yet.
_SIGNS = 20
_GIVE_UP_S = 30.0
# The screens are at rest when they have drawn nothing for so long.
_QUIET_S = 2.0
# And have answered a key when they have drawn nothing for so long.
_STILL_S = 0.4
# What the screen of the bundle says above its list.
_LISTED = "questions with their answers"
# The clock of a process is named by its number and this kind of it: clock_getcpuclockid(3), CPUCLOCK_SCHED of Linux
# (torvalds/linux include/linux/posix-timers.h, read 2026-11-28).
_SCHEDULED = 2


class Frame(NamedTuple):
    """Seconds from the start of the process to its first frame, of these those of the processor, and MiB resident."""

    wall_s: float
    cpu_s: float
    memory_mib: float


class _Screens:
    """A run of the screens on a new terminal."""

    def __init__(self, arguments: Sequence[str], size: tuple[int, int] = (80, 24)) -> None:
        """``size`` in columns and lines."""
        self.began = time.perf_counter()
        self.pid, self._terminal = pty.fork()
        if self.pid == 0:
            environment = {**os.environ, "TERM": "xterm-256color"}
            environment.pop("PYTHONDONTWRITEBYTECODE", None)  # cached as on a user's machine
            os.execve(sys.executable, [sys.executable, "-m", "rocdoctor", *arguments], environment)
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
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

    def first_verdict(self) -> Frame:
        """When the first screen says how many checks have passed."""
        while b"passed" not in self.drawn:
            if not self.draws(_GIVE_UP_S):
                raise RuntimeError("the screens told no verdict")
        passed = time.perf_counter() - self.began
        return Frame(passed, _busy_s(self.pid), _peak_mib(self.pid))

    def press(self, key: str) -> tuple[float, float, float]:
        """(seconds to the first byte of what a key changes, to the last one, of the processor meanwhile)."""
        while self.draws(_STILL_S):
            pass
        busy, began = _busy_s(self.pid), time.perf_counter()
        os.write(self._terminal, key.encode())
        first = last = 0.0
        while self.draws(_STILL_S if last else _GIVE_UP_S):
            last = time.perf_counter() - began
            first = first or last
        if not last:
            raise RuntimeError(f"the key {key!r} changed nothing")
        return first, last, _busy_s(self.pid) - busy

    def press_until(self, key: str, words: str) -> tuple[float, float]:
        """(seconds until a key has brought these words, of the processor meanwhile); wherever lines break in them."""
        while self.draws(_STILL_S):
            pass
        sought, before = words.replace(" ", "").encode(), len(self.drawn)
        busy, began = _busy_s(self.pid), time.perf_counter()
        os.write(self._terminal, key.encode())
        while sought not in _ESCAPES.sub(b"", self.drawn[before:]):
            if not self.draws(_GIVE_UP_S):
                raise RuntimeError(f"the key {key!r} did not bring {words!r}")
        return time.perf_counter() - began, _busy_s(self.pid) - busy

    def rest(self) -> None:
        """Wait until they draw no more, at most a while."""
        until = time.monotonic() + _GIVE_UP_S
        while self.draws(_QUIET_S) and time.monotonic() < until:
            pass


def _busy_s(pid: int) -> float:
    """Seconds of the processor that a process, its ended threads and its descendants have had, by the scheduler."""
    children: list[int] = []
    try:
        spent = time.clock_gettime(~pid << 3 | _SCHEDULED)
        for task in Path(f"/proc/{pid}/task").iterdir():
            children += map(int, (task / "children").read_text().split())
        ended = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[13:15]
    except OSError:
        return 0.0
    return spent + sum(map(int, ended)) / os.sysconf("SC_CLK_TCK") + sum(map(_busy_s, children))


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


class Wait(NamedTuple):
    """What a person waits for: medians of the seconds passed and of those of the processor."""

    what: str
    budget: str
    wall_s: float
    cpu_s: float


def waits(runs: int, machines: Mapping[str, Path], size: tuple[int, int] = (80, 24)) -> list[Wait]:
    """The waits on recorded evidence, by machine; the runs of all machines take turns, the first of each warms up."""
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for run in range(runs + 1):
        for machine, path in machines.items():
            for (what, budget), wait in _waits_of_run(path, size):
                if run:
                    found.setdefault((f"{machine}, {what}", budget), []).append(wait)
    return [
        Wait(what, budget, *(statistics.median(column) for column in zip(*each, strict=True)))
        for (what, budget), each in found.items()
    ]


def _waits_of_run(path: Path, size: tuple[int, int]) -> Iterator[tuple[tuple[str, str], tuple[float, float]]]:
    with _Screens(["--from", str(path)], size) as screens:
        yield ("first frame", "0.3 s"), screens.first_frame()[:2]
        yield ("first verdict", "0.8 s"), screens.first_verdict()[:2]
        screens.rest()
        for key, area in zip(KEYS[1:9], AREAS[1:9], strict=True):
            if area.module == "bundle":  # its list is there before all of it is masked
                yield (f"first visit of {area.name}", "0.15 s"), screens.press_until(key, _LISTED)
                screens.rest()  # the masking goes on behind it
                continue
            _, last, busy = screens.press(key)
            yield (f"first visit of {area.name}", "0.15 s"), (last, busy)
        screens.press("\x1b")  # out of the field of a paste, where a digit is text
        screens.press("2")
        screens.press("f")  # a sound machine has one finding, and an arrow goes nowhere
        downs = [screens.press("\x1b[B") for _ in range(5)]
        yield (
            ("an arrow key in Findings, first byte", "0.05 s"),
            (statistics.median(one[0] for one in downs), statistics.median(one[2] for one in downs)),
        )

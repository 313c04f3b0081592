"""The lines of a program while it runs, for output that is too long to be held: each is bounded, and so is the time."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from rocdoctor.host.live.run_program import running

_CHUNK = 1 << 16
_POLL_S = 0.05
_AFTER_END_S = 1.0  # a program of its own that lives on may hold a pipe open
_NAMES: tuple[Literal["out", "err"], ...] = ("out", "err")


class ProgramLine(NamedTuple):
    """A line with its end; ``cut``: it is longer than was asked for, and the rest of it is gone."""

    where: Literal["out", "err", "end"]
    text: bytes
    cut: bool = False


def program_lines(
    argv: list[str], environment: Mapping[str, str], limit_s: float, most: int, memory_bytes: int = 0
) -> Iterator[ProgramLine]:
    """Run a program and give its lines, at most ``most`` bytes of each; last an ``end``.

    ``memory_bytes``: what it and each process that it starts may have, on Linux; 0: as much as there is.

    The text of the end is its exit status, or nothing where it was still running after ``limit_s`` seconds. When the
    caller stops asking, the program is ended too. Raises OSError where it cannot be started.
    """
    with running(argv, environment) as child:
        if memory_bytes:
            _bound(child.pid, memory_bytes)
        assert child.stdout is not None
        assert child.stderr is not None
        ends = dict(zip((child.stdout.fileno(), child.stderr.fileno()), _NAMES, strict=True))
        parts = {descriptor: _Lines(most) for descriptor in ends}
        poll = select.poll()
        for descriptor in ends:
            poll.register(descriptor, select.POLLIN | select.POLLHUP)
        left, until, ended = set(ends), time.monotonic() + limit_s, False
        while left and time.monotonic() < until:
            for descriptor, _ in poll.poll(_POLL_S * 1000):
                chunk = os.read(descriptor, _CHUNK)
                if not chunk:
                    poll.unregister(descriptor)
                    left.discard(descriptor)
                for text, cut in parts[descriptor].of(chunk):
                    yield ProgramLine(ends[descriptor], text, cut)
            if not ended and child.poll() is not None:
                ended = True
                until = min(until, time.monotonic() + _AFTER_END_S)
        if not left:  # it may have closed both and live on
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(max(0.1, until - time.monotonic()))
        status = child.poll()
        yield ProgramLine("end", b"" if status is None else str(status).encode())


def _bound(pid: int, memory_bytes: int) -> None:
    if sys.platform == "linux":
        import resource  # which Windows lacks; macOS has it without this call, and engines run there too

        with contextlib.suppress(OSError):  # it has ended
            resource.prlimit(pid, resource.RLIMIT_AS, (memory_bytes, memory_bytes))


class _Lines:
    """Chunks as lines."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._rest = bytearray()
        self._over = False  # the beginning of this line was longer than is kept

    def of(self, chunk: bytes) -> Iterator[tuple[bytes, bool]]:
        """The lines that end in this chunk; an empty one is the end, and brings what has no line end."""
        if not chunk:
            if self._rest or self._over:
                yield bytes(self._rest), self._over
            self._rest.clear()
            return
        *whole, last = chunk.split(b"\n")
        for part in whole:
            self._add(part)
            yield bytes(self._rest) + b"\n", self._over
            self._rest.clear()
            self._over = False
        self._add(last)

    def _add(self, part: bytes) -> None:
        room = self._most - len(self._rest)
        self._over = self._over or len(part) > room
        self._rest += part[:room]

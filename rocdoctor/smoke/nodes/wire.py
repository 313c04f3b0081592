"""Lines of JSON over a connection between two nodes, with bounds and without a wait that never ends."""

from __future__ import annotations

import contextlib
import json
import select
import socket
import threading
import time
from typing import Any

MAX_LINE = 4 << 20
BEAT_S = 0.5
SILENT_S = 5.0  # ten beats; a busy machine may be late with some
_SEND_S = 3.0


class Wire:
    """One end of a connection. ``heard``: when something last came (monotonic clock); ``closed``: it has ended."""

    def __init__(self, connection: socket.socket) -> None:
        connection.settimeout(_SEND_S)
        with contextlib.suppress(OSError):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = connection
        self._buffer = b""
        self._queue: list[dict[str, Any]] = []
        self._lock = threading.Lock()
        self._beating = threading.Event()
        self.heard = time.monotonic()
        self.closed = False

    def fileno(self) -> int:
        """For select."""
        return self._socket.fileno()

    def local_address(self) -> str:
        """This end's address."""
        return str(self._socket.getsockname()[0])

    def peer_address(self) -> str:
        """The other end's address."""
        with contextlib.suppress(OSError):
            return str(self._socket.getpeername()[0])
        return "an unknown address"

    def say(self, **fields: Any) -> bool:
        """Send one line; False when the other side is gone or takes nothing."""
        data = (json.dumps(fields) + "\n").encode()
        try:
            with self._lock:
                self._socket.sendall(data)
        except OSError:
            self.closed = True
            return False
        return True

    def take(self) -> list[dict[str, Any]]:
        """What came meanwhile, without the beats; does not wait."""
        while not self.closed and select.select([self._socket], [], [], 0)[0]:
            try:
                data = self._socket.recv(65536)
            except OSError:
                data = b""
            if not data or len(self._buffer) > MAX_LINE:
                self.closed = True
                break
            self.heard = time.monotonic()
            self._buffer += data
        *lines, self._buffer = self._buffer.split(b"\n")
        found = self._queue + [one for one in map(_parsed, lines) if one and "beat" not in one]
        self._queue = []
        return found

    def wait(self, limit_s: float, *names: str) -> dict[str, Any] | None:
        """The next line that has one of these names; None when the other side is gone or silent for so long.

        Lines before it are dropped, lines after it are kept.
        """
        deadline = time.monotonic() + limit_s
        while True:
            many = self.take()
            for at, found in enumerate(many):
                if any(name in found for name in names):
                    self._queue = many[at + 1 :]
                    return found
            rest = deadline - time.monotonic()
            if self.lost or rest <= 0:
                return None
            select.select([self._socket], [], [], min(rest, BEAT_S))

    def beat(self) -> None:
        """Show the other side from now on that this one is there, from a thread of its own."""

        def run() -> None:
            while not self._beating.wait(BEAT_S) and self.say(beat=1):
                pass

        threading.Thread(target=run, daemon=True).start()

    @property
    def lost(self) -> bool:
        """The other side is gone, or has not shown itself for too long. Look after ``take``."""
        return self.closed or time.monotonic() - self.heard > SILENT_S

    def close(self) -> None:
        """End the connection."""
        self._beating.set()
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None

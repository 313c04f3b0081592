"""Lines of JSON over a connection between two nodes that know each other: each line carries a code and a place.

The code is an HMAC over the line's number in its direction and its text, so nobody on the way can change, repeat, drop
or add a line without the connection ending. Nothing is encrypted.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import socket
import threading
import time
from typing import Any

from rocdoctor.train.smoke.nodes.handshake import SessionKeys
from rocdoctor.train.smoke.nodes.polling import readable

MAX_LINE = 4 << 20
BEAT_S = 0.5
SILENT_S = 5.0  # ten beats; a busy machine may be late with some
_SEND_S = 3.0
_CODE = 32  # hexadecimal digits: half of the digest
_MOST_AT_ONCE = 16 << 20
_MOST_DIGITS = 40


class Wire:
    """One end of a connection. ``heard``: when something last came (monotonic clock); ``closed``: it has ended."""

    def __init__(self, connection: socket.socket, session: SessionKeys) -> None:
        connection.settimeout(_SEND_S)
        with contextlib.suppress(OSError):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = connection
        self._session = session
        self._sent = self._received = 0
        self._buffer = b""
        self._queue: list[dict[str, Any]] = []
        self._lock = threading.Lock()
        self._beating = threading.Event()
        self.heard = time.monotonic()
        self.closed = False

    def fileno(self) -> int:
        """For poll."""
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
        text = json.dumps(fields).encode()
        try:
            with self._lock:
                line = _code(self._session.send, self._sent, text) + b" " + text + b"\n"
                self._sent += 1
                self._socket.sendall(line)
        except OSError:
            self.closed = True
            return False
        return True

    def take(self) -> list[dict[str, Any]]:
        """What came meanwhile, without the beats; does not wait."""
        took = 0
        while not self.closed and took < _MOST_AT_ONCE and readable(self._socket):
            try:
                data = self._socket.recv(65536)
            except OSError:
                data = b""
            took += len(data)
            self._buffer += data
            if not data or (len(self._buffer) > MAX_LINE and b"\n" not in self._buffer):
                self.closed = True
        *lines, self._buffer = self._buffer.split(b"\n")
        found, self._queue = self._queue, []
        for line in lines:
            text = line[_CODE + 1 :]
            if not hmac.compare_digest(line[:_CODE], _code(self._session.receive, self._received, text)):
                self.closed = True  # somebody on the way has a hand in it
                self._buffer = b""
                break
            self._received += 1
            self.heard = time.monotonic()
            one = parsed(text)
            if one and "beat" not in one:
                found.append(one)
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
            readable(self._socket, min(rest, BEAT_S))

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


def _code(key: bytes, number: int, text: bytes) -> bytes:
    return hmac.digest(key, number.to_bytes(8, "big") + text, "sha256").hex()[:_CODE].encode()


def _short(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ValueError("too long a number")
    return int(digits)


def parsed(line: bytes) -> dict[str, Any] | None:
    """The JSON object of a line; None for anything else, whatever it holds."""
    try:
        found = json.loads(line, parse_int=_short)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None

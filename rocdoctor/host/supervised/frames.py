"""How the screens and their service talk: frames of a small JSON header and raw bytes, over two pipes."""

from __future__ import annotations

import json
import os
import select
import struct
import threading
from typing import Any

from rocdoctor.host.base import Answer

_LENGTHS = struct.Struct("<II")
_PIECE_BYTES = 256 * 1024
_encode = json.JSONEncoder(separators=(",", ":")).encode
_decode = json.JSONDecoder().decode


def packed(header: Any, data: bytes = b"") -> bytes:
    """One frame."""
    words = _encode(header).encode()
    return _LENGTHS.pack(len(words), len(data)) + words + data


class Frames:
    """The frames that come through a pipe."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._buffer = bytearray()
        self._at = 0  # where the next frame begins

    def next(self) -> tuple[Any, bytes] | None:
        """The next frame; None at the end. Blocks until there is one."""
        while not self._whole():
            del self._buffer[: self._at]
            self._at = 0
            try:
                piece = os.read(self.descriptor, _PIECE_BYTES)
            except OSError:
                return None
            if not piece:
                return None
            self._buffer += piece
        words, data = _LENGTHS.unpack_from(self._buffer, self._at)
        start = self._at + _LENGTHS.size
        self._at = start + words + data
        return _decode(self._buffer[start : start + words].decode()), bytes(self._buffer[start + words : self._at])

    def wait(self, seconds: float) -> bool:
        """Whether something has come, or the end."""
        if self._whole():
            return True
        poll = select.poll()
        poll.register(self.descriptor, select.POLLIN)
        return bool(poll.poll(seconds * 1000))

    def _whole(self) -> bool:
        there = len(self._buffer) - self._at
        return there >= _LENGTHS.size and there >= _LENGTHS.size + sum(_LENGTHS.unpack_from(self._buffer, self._at))


class Outlet:
    """Sends frames from several threads; small ones may wait for the next that does not."""

    def __init__(self, descriptor: int, flush_bytes: int = 32 * 1024) -> None:
        self.descriptor = descriptor
        self._flush_bytes = flush_bytes
        self._buffer = bytearray()
        self._lock = threading.Lock()

    def send(self, frame: bytes, now: bool = True) -> None:
        """Send a frame, with all that wait; raises OSError where nobody is at the other end."""
        with self._lock:
            self._buffer += frame
            if now or len(self._buffer) >= self._flush_bytes:
                self._write()

    def flush(self) -> None:
        """Send what waits."""
        with self._lock:
            if self._buffer:
                self._write()

    def _write(self) -> None:
        data, self._buffer = memoryview(bytes(self._buffer)), bytearray()
        while data:
            data = data[os.write(self.descriptor, data) :]


def answer_header(number: int, answer: Answer) -> list[Any]:
    """What is said of an answer beside its bytes."""
    return [
        number,
        answer.status,
        answer.exit_code,
        answer.seconds,
        answer.note,
        answer.truncated,
        answer.complete,
    ]


def answer_of(question: str, header: list[Any], data: bytes) -> Answer:
    """The answer that a frame holds."""
    _, status, exit_code, seconds, note, truncated, complete = header
    return Answer(question, status, data, exit_code, seconds, note, truncated, complete)

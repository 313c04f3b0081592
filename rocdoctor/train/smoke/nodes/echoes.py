"""Messages there and back over one connection, for the time that they take."""

from __future__ import annotations

import socket
import time
from statistics import median
from typing import Any

from rocdoctor.train.smoke.nodes.pair_results import LARGE_BYTES, SMALL_BYTES
from rocdoctor.train.smoke.nodes.polling import readable

SIZES = (SMALL_BYTES, LARGE_BYTES)
_TIMES = 30
_FIRST = 3  # not counted: the connection and the processor warm up
_WHOLE_S = 3.0


def send_back(connection: socket.socket, size: Any) -> None:
    """Send back what comes, ``size`` bytes at a time, until the other side ends or it has been enough."""
    if size not in SIZES:
        return
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    deadline = time.monotonic() + _WHOLE_S
    for _ in range(_TIMES):
        data = _whole(connection, size, deadline)
        if len(data) < size:
            return
        connection.sendall(data)


def round_trip_us(connection: socket.socket, size: int) -> float | None:
    """The median time of a message of ``size`` bytes there and back; None where fewer than three came back."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    data = bytes(size)
    deadline = time.monotonic() + _WHOLE_S
    times: list[float] = []
    for _ in range(_TIMES):
        began = time.monotonic()
        connection.sendall(data)
        if len(_whole(connection, size, deadline)) < size:
            break
        times.append((time.monotonic() - began) * 1e6)
    counted = times[_FIRST:]
    return median(counted) if len(counted) > 2 else None


def _whole(connection: socket.socket, size: int, deadline: float) -> bytes:
    parts: list[bytes] = []
    rest = size
    while rest and readable(connection, deadline - time.monotonic()):
        data = connection.recv(rest)
        if not data:
            break
        parts.append(data)
        rest -= len(data)
    return b"".join(parts)

"""The path between two nodes: can one connect, do frames of full size pass, how fast is it in either direction.

A responder answers on the address that the communication library binds to. Frames of full size are UDP datagrams that
no router may cut (Linux IP_MTU_DISCOVER, IP_PMTUDISC_PROBE: ip(7)); the judge is a stream of TCP, since that is what
hangs where such frames are lost.
"""

from __future__ import annotations

import contextlib
import errno
import json
import select
import socket
import threading
import time
from dataclasses import dataclass
from typing import Any

CONNECT_S = 3.0
STALL_S = 2.5
STREAM_S = 0.4
_STREAM_BYTES = 64 << 20
_WHOLE_S = 8.0
_ROUND_S, _ROUNDS = 0.25, 3
_MTU_DISCOVER, _PROBE = 10, 3  # IP_MTU_DISCOVER, IP_PMTUDISC_PROBE
_MTU_DISCOVER_6 = 23  # IPV6_MTU_DISCOVER
# Usual sizes of frames: jumbo, InfiniBand datagram and other modes, Ethernet, VXLAN, GRE and VPNs, the least of IPv6.
_SIZES = (9000, 8900, 4092, 2044, 1500, 1450, 1400, 1280, 576)
_SMALL = 300
_HEADER = 40  # token, number, wanted size


@dataclass(frozen=True, slots=True)
class Stream:
    """One direction of a stream: what arrived in which time; ``stalled``: nothing more came for STALL_S."""

    received_bytes: int
    seconds: float
    stalled: bool

    @property
    def mbit_s(self) -> float | None:
        """The rate; None where too little came to tell."""
        return self.received_bytes * 8e-6 / self.seconds if self.seconds > 0 and self.received_bytes > 65536 else None


@dataclass(frozen=True, slots=True)
class Link:
    """From node ``a`` to node ``b``. ``error``: why no connection came about; None in ``frame`` fields: not known.

    ``frame_bytes``: the size that was tried, by the smaller MTU of the two ends; ``frame_out``, ``frame_back``: the
    largest size that passed from a to b and back; ``told``: the network itself said that a frame was too large.
    ``out``, ``back``: streams, None where not tried.
    """

    a: int
    b: int
    address: str
    error: str = ""
    connect_ms: float | None = None
    frame_bytes: int | None = None
    frame_out: int | None = None
    frame_back: int | None = None
    out: Stream | None = None
    back: Stream | None = None
    told: bool = False


class Responder:
    """Answers probes on one address until closed."""

    def __init__(self, address: str, token: str) -> None:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self._token = token.encode()
        self._listener = socket.socket(family, socket.SOCK_STREAM)
        self._datagrams = socket.socket(family, socket.SOCK_DGRAM)
        try:
            self._listener.bind((address, 0))
            self.port = int(self._listener.getsockname()[1])
            self._datagrams.bind((address, self.port))
            self._listener.listen(64)
        except OSError:
            self.close()
            raise
        _no_cutting(self._datagrams)
        for target in (self._accept, self._echo):
            threading.Thread(target=target, daemon=True).start()

    def close(self) -> None:
        """Answer no more."""
        for one in (self._listener, self._datagrams):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError, ValueError):
            connection.settimeout(CONNECT_S)
            order = json.loads(_line(connection))
            if order.get("token") != self._token.decode():
                return
            connection.sendall(b'{"ok": 1}\n')
            if order.get("do") == "take":
                found = receive(connection)
                connection.sendall((json.dumps(_plain(found)) + "\n").encode())
                _drain(connection)
            elif order.get("do") == "give":
                send(connection)

    def _echo(self) -> None:
        while True:
            try:
                data, sender = self._datagrams.recvfrom(65535)
            except OSError:
                return
            if len(data) < _HEADER or not data.startswith(self._token):
                continue
            number, back = data[24:28], int.from_bytes(data[28:32], "big")
            size = min(back, 65507) if back else _HEADER
            with contextlib.suppress(OSError):
                answer = self._token + number + len(data).to_bytes(4, "big")
                self._datagrams.sendto(answer.ljust(size, b"\0"), sender)


def _drain(connection: socket.socket) -> None:
    """Read what is still under way: a connection that is closed with unread data takes back what was said last."""
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_WR)
        deadline = time.monotonic() + CONNECT_S
        while time.monotonic() < deadline and connection.recv(1 << 20):
            pass


def _plain(found: Stream) -> dict[str, Any]:
    return {"bytes": found.received_bytes, "seconds": found.seconds, "stalled": found.stalled}


def _no_cutting(one: socket.socket) -> None:
    with contextlib.suppress(OSError):
        if one.family == socket.AF_INET6:
            one.setsockopt(socket.IPPROTO_IPV6, _MTU_DISCOVER_6, _PROBE)
        else:
            one.setsockopt(socket.IPPROTO_IP, _MTU_DISCOVER, _PROBE)


def _line(connection: socket.socket) -> bytes:
    """A short line, byte by byte: what follows it is no line."""
    found = b""
    while not found.endswith(b"\n") and len(found) < 1000:
        one = connection.recv(1)
        if not one:
            break
        found += one
    return found


def receive(connection: socket.socket) -> Stream:
    """Read a stream for a while and tell the sender to stop."""
    total, first = 0, 0.0
    began = last = time.monotonic()
    while total < _STREAM_BYTES:
        now = time.monotonic()
        if (first and now - first > STREAM_S) or now - began > _WHOLE_S:
            break
        ready = select.select([connection], [], [], max(0.0, last + STALL_S - now))[0]
        data = connection.recv(1 << 20) if ready else b""
        if not data:
            return Stream(total, max(0.0, last - first) if first else 0.0, True)
        last = time.monotonic()
        if not first:
            first = last  # the clock starts with the first part, which therefore does not count
        else:
            total += len(data)
    with contextlib.suppress(OSError):
        connection.sendall(b"stop\n")
    return Stream(total, last - first, False)


def send(connection: socket.socket) -> None:
    """Send a stream until the receiver says stop, takes nothing for a while, or it has been enough."""
    data = memoryview(bytes(1 << 18))
    connection.setblocking(False)
    sent, began = 0, time.monotonic()
    while sent < 2 * _STREAM_BYTES and time.monotonic() - began < _WHOLE_S:
        readable, writable, _ = select.select([connection], [connection], [], STALL_S + 0.5)
        if readable or not writable:
            break
        try:
            sent += connection.send(data)
        except BlockingIOError:
            continue
        except OSError:
            break
    connection.settimeout(STALL_S + 0.5)


def connect(a: int, b: int, address: str, port: int, token: str) -> Link:
    """Whether node b's responder answers at all."""
    began = time.monotonic()
    try:
        with _open(address, port, token, "ping"):
            return Link(a, b, address, connect_ms=(time.monotonic() - began) * 1e3)
    except OSError as error:
        return Link(a, b, address, words_of(error))


def words_of(error: OSError) -> str:
    """Why a connection did not come about, in a few words."""
    if isinstance(error, (socket.timeout, TimeoutError)):
        return "no answer"
    return str(error.strerror or error).lower()


def _open(address: str, port: int, token: str, order: str) -> socket.socket:
    connection = socket.create_connection((address, port), CONNECT_S)
    try:
        connection.sendall((json.dumps({"do": order, "token": token}) + "\n").encode())
        if b"ok" not in _line(connection):
            raise ConnectionError("something else answers there")
    except BaseException:
        connection.close()
        raise
    return connection


def measure(a: int, b: int, address: str, port: int, token: str, frame_bytes: int | None) -> Link:
    """Connect, try frames, and stream in both directions."""
    found = connect(a, b, address, port, token)
    if found.error:
        return found
    largest_out = largest_back = None
    told = False
    if frame_bytes:
        largest_out, largest_back, told = frames(address, port, token, frame_bytes)
    out = back = None
    with contextlib.suppress(OSError, ValueError), _open(address, port, token, "take") as connection:
        send(connection)
        out = _told(connection)
    with contextlib.suppress(OSError), _open(address, port, token, "give") as connection:
        back = receive(connection)
    return Link(a, b, address, "", found.connect_ms, frame_bytes, largest_out, largest_back, out, back, told)


def _told(connection: socket.socket) -> Stream | None:
    """What the receiver says of a stream; the line "stop" comes before it."""
    line = _line(connection)
    while line.startswith(b"stop"):
        line = _line(connection)
    told = json.loads(line)
    return Stream(int(told["bytes"]), float(told["seconds"]), bool(told["stalled"]))


def frames(address: str, port: int, token: str, wanted: int) -> tuple[int | None, int | None, bool]:
    """The largest frame, up to ``wanted`` bytes with all headers of IP, that passes there and back; None: not known.

    The last value: whether a router said that a frame was too large, so that programs learn the right size.
    """
    over = 48 if ":" in address else 28
    sizes = [wanted, *(size for size in _SIZES if size < wanted), _SMALL]
    best = [0, 0]
    told = False
    with socket.socket(socket.AF_INET6 if over == 48 else socket.AF_INET, socket.SOCK_DGRAM) as one:
        _no_cutting(one)
        one.connect((address, port))
        one.setblocking(False)
        for _ in range(_ROUNDS):
            for direction in (0, 1):
                for number, size in enumerate(sizes):
                    if size > best[direction]:
                        told |= _send_frame(one, token, number * 2 + direction, size - over, direction)
            deadline = time.monotonic() + _ROUND_S
            while max(best) < wanted or min(best) < wanted:
                rest = deadline - time.monotonic()
                if rest <= 0 or not select.select([one], [], [], rest)[0]:
                    break
                try:
                    number = int.from_bytes(one.recv(65535)[24:28], "big")
                except OSError as error:
                    told |= error.errno == errno.EMSGSIZE
                    continue
                if number < 2 * len(sizes):
                    best[number % 2] = max(best[number % 2], sizes[number // 2])
            if min(best) == wanted:
                break
    # Where even small datagrams are lost, something blocks UDP, and nothing is known of frames.
    return (best[0] or None, best[1] or None, told)


def _send_frame(one: socket.socket, token: str, number: int, size: int, direction: int) -> bool:
    """A datagram of ``size`` bytes whose answer is small (0), or a small one whose answer has that size (1).

    True where the kernel, by now, knows from the network that this is too large.
    """
    back = size if direction else 0
    data = token.encode() + number.to_bytes(4, "big") + back.to_bytes(4, "big")
    try:
        one.send(data.ljust(_HEADER if direction else size, b"\0"))
    except OSError as error:
        return error.errno == errno.EMSGSIZE
    return False

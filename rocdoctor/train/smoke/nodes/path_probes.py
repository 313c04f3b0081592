"""The path between two nodes: can one connect, do frames of full size pass, how fast is it in either direction.

A responder answers on the address that the communication library binds to. Frames of full size are UDP datagrams that
no router may cut (Linux IP_MTU_DISCOVER, IP_PMTUDISC_PROBE: ip(7)); the judge is a stream of TCP, since that is what
hangs where such frames are lost.
"""

from __future__ import annotations

import contextlib
import errno
import hmac
import json
import math
import socket
import threading
import time
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Any

from rocdoctor.train.smoke.nodes.busy_ends import ShareWaited, both_busy
from rocdoctor.train.smoke.nodes.echoes import send_back
from rocdoctor.train.smoke.nodes.polling import can, line, most_strangers, readable, to_drop
from rocdoctor.train.smoke.nodes.signed_lines import parsed

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
_MAX_ORDER = 1000
_MOST_ROUNDS, _MOST_STREAMS = 64, 64
_WAIT_AND_SEE = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.ECONNABORTED)
_HEADER = 40  # token, number, wanted size


@dataclass(frozen=True, slots=True)
class Stream:
    """One direction of a stream: what arrived in which time; ``stalled``: nothing more came for STALL_S.

    ``busy``: for which share of the time its ends waited for a processor, 0 to 1; 0 where that is not known.
    """

    received_bytes: int
    seconds: float
    stalled: bool
    busy: float = 0.0

    @property
    def mbit_s(self) -> float | None:
        """The rate; None where too little came to tell."""
        return self.received_bytes * 8e-6 / self.seconds if self.seconds > 0 and self.received_bytes > 65536 else None


@dataclass(frozen=True, slots=True)
class ProbedLink:
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
    """Answers probes on one address until closed; who does not show the token gets no answer.

    The token is no secret towards those who listen on the way: what it opens is a stream of zeros, and echoes.
    """

    def __init__(self, address: str, token: str) -> None:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self._token = token.encode()
        self._unproved: list[tuple[str, socket.socket]] = []
        self._seen: dict[int, list[Stream]] = defaultdict(list)
        self._lock = threading.Lock()
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
                connection, sender = self._listener.accept()
            except OSError as error:
                if error.errno in _WAIT_AND_SEE and self._listener.fileno() >= 0:
                    time.sleep(0.05)
                    continue
                return
            with self._lock:
                self._unproved.append((str(sender[0]), connection))
                many = [address for address, _ in self._unproved]
                last = self._unproved.pop(to_drop(many))[1] if len(many) > most_strangers() else None
            if last is not None:
                with contextlib.suppress(OSError):
                    last.shutdown(socket.SHUT_RDWR)  # its own thread sees that and closes it
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _proved(self, connection: socket.socket) -> dict[str, Any] | None:
        try:
            order = parsed(line(connection, _MAX_ORDER, CONNECT_S))
        finally:
            with self._lock:
                self._unproved = [one for one in self._unproved if one[1] is not connection]
        token = order.get("token") if order else None
        known = isinstance(token, str) and hmac.compare_digest(token.encode(errors="replace"), self._token)
        return order if known else None

    def _serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError, ValueError):
            connection.settimeout(CONNECT_S)
            order = self._proved(connection)
            if order is None:
                return
            connection.sendall(b'{"ok": 1}\n')
            if order.get("do") == "take":
                found = receive(connection)
                self._note(order.get("round"), found)
                connection.sendall((json.dumps(_plain(found)) + "\n").encode())
                _drain(connection)
            elif order.get("do") == "give":
                send(connection)
            elif order.get("do") == "back":
                send_back(connection, order.get("bytes"))

    def _note(self, number: Any, found: Stream) -> None:
        with self._lock:
            if isinstance(number, int) and 0 <= number < _MOST_ROUNDS and len(self._seen[number]) < _MOST_STREAMS:
                self._seen[number].append(found)

    def seen(self, number: int) -> list[Stream]:
        """The streams that came here in a round, as this end saw them."""
        with self._lock:
            return list(self._seen[number])

    def _echo(self) -> None:
        while True:
            try:
                data, sender = self._datagrams.recvfrom(65535)
            except OSError:
                return
            if len(data) < _HEADER or not hmac.compare_digest(data[: len(self._token)], self._token):
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
    return {"bytes": found.received_bytes, "seconds": found.seconds, "stalled": found.stalled, "busy": found.busy}


def _no_cutting(one: socket.socket) -> None:
    with contextlib.suppress(OSError):
        if one.family == socket.AF_INET6:
            one.setsockopt(socket.IPPROTO_IPV6, _MTU_DISCOVER_6, _PROBE)
        else:
            one.setsockopt(socket.IPPROTO_IP, _MTU_DISCOVER, _PROBE)


def receive(connection: socket.socket) -> Stream:
    """Read a stream for a while and tell the sender to stop."""
    total, first = 0, 0.0
    busy = ShareWaited()
    began = last = time.monotonic()
    while total < _STREAM_BYTES:
        now = time.monotonic()
        if (first and now - first > STREAM_S) or now - began > _WHOLE_S:
            break
        data = connection.recv(1 << 20) if readable(connection, last + STALL_S - now) else b""
        if not data:
            return Stream(total, max(0.0, last - first) if first else 0.0, True, busy.share())
        last = time.monotonic()
        if not first:
            first = last  # the clock starts with the first part, which therefore does not count
        else:
            total += len(data)
    with contextlib.suppress(OSError):
        connection.sendall(b"stop\n")
    return Stream(total, last - first, False, busy.share())


def send(connection: socket.socket) -> float:
    """Send a stream until the receiver says stop, takes nothing for a while, or it has been enough.

    Gives the share of the time for which it waited for a processor.
    """
    busy = ShareWaited()
    data = memoryview(bytes(1 << 18))
    connection.setblocking(False)
    sent, began = 0, time.monotonic()
    while sent < 2 * _STREAM_BYTES and time.monotonic() - began < _WHOLE_S:
        stop, takes = can(connection, STALL_S + 0.5)
        if stop or not takes:
            break
        try:
            sent += connection.send(data)
        except BlockingIOError:
            continue
        except OSError:
            break
    connection.settimeout(STALL_S + 0.5)
    return busy.share()


def connect(a: int, b: int, address: str, port: int, token: str) -> ProbedLink:
    """Whether node b's responder answers at all."""
    began = time.monotonic()
    try:
        with ask(address, port, token, "ping"):
            return ProbedLink(a, b, address, connect_ms=(time.monotonic() - began) * 1e3)
    except OSError as error:
        return ProbedLink(a, b, address, words_of(error))


def words_of(error: OSError) -> str:
    """Why a connection did not come about, in a few words."""
    if isinstance(error, (socket.timeout, TimeoutError)):
        return "no answer"
    return str(error.strerror or error).lower()


def ask(address: str, port: int, token: str, order: str, **more: int) -> socket.socket:
    """A connection to a responder that has taken an order. Raises OSError."""
    connection = socket.create_connection((address, port), CONNECT_S)
    try:
        connection.sendall((json.dumps({"do": order, "token": token, **more}) + "\n").encode())
        if parsed(line(connection, _MAX_ORDER, CONNECT_S)) != {"ok": 1}:
            raise ConnectionError("something else answers there")
    except BaseException:
        connection.close()
        raise
    return connection


def measure(a: int, b: int, address: str, port: int, token: str, frame_bytes: int | None) -> ProbedLink:
    """Connect, try frames, and stream in both directions."""
    found = connect(a, b, address, port, token)
    if found.error:
        return found
    largest_out = largest_back = None
    told = False
    if frame_bytes:
        largest_out, largest_back, told = frames(address, port, token, frame_bytes)
    out = back = None
    there = 0.0  # how busy the other end is, which it says of its own part alone
    with contextlib.suppress(OSError), ask(address, port, token, "take") as connection:
        here = send(connection)
        out = stream_told(connection)
        if out is not None:
            there = out.busy
            out = replace(out, busy=both_busy(here, there))
    with contextlib.suppress(OSError), ask(address, port, token, "give") as connection:
        back = receive(connection)
        back = replace(back, busy=both_busy(back.busy, there))
    return ProbedLink(a, b, address, "", found.connect_ms, frame_bytes, largest_out, largest_back, out, back, told)


def stream_told(connection: socket.socket) -> Stream | None:
    """What the receiver says of a stream; the line "stop" comes before it."""
    told = parsed(found := line(connection, _MAX_ORDER, CONNECT_S))
    if found == b"stop":
        told = parsed(line(connection, _MAX_ORDER, CONNECT_S))
    if told is None:
        return None
    return stream_of(told.get("bytes"), told.get("seconds"), told.get("stalled"), told.get("busy"))


def stream_of(received_bytes: Any, seconds: Any, stalled: Any, busy: Any = None) -> Stream | None:
    """A stream that the other side told; None where the values cannot be those of one."""
    if not isinstance(received_bytes, int) or not isinstance(seconds, (int, float)) or not isinstance(stalled, bool):
        return None
    fits = 0 <= received_bytes <= 1 << 40 and math.isfinite(seconds) and 0 <= seconds <= 3600
    share = float(busy) if isinstance(busy, float) and 0 <= busy <= 1 else 0.0
    return Stream(received_bytes, float(seconds), stalled, share) if fits else None


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
                if rest <= 0 or not readable(one, rest):
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

"""Waiting for many connections at once, without select's limit of 1,024, and who goes when too many wait."""

from __future__ import annotations

import resource
import select
import socket
import time
from collections import Counter
from collections.abc import Iterable
from typing import Protocol, TypeVar


class Handle(Protocol):
    """What has a file descriptor."""

    def fileno(self) -> int:
        """Its number, below 0 when it is closed."""
        ...


_H = TypeVar("_H", bound="Handle | int")
_MOST_STRANGERS = 64


def most_strangers() -> int:
    """How many unproved connections may wait: 64, but at most a quarter of the descriptors (``ulimit -n``)."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST_STRANGERS if soft == resource.RLIM_INFINITY else max(4, min(_MOST_STRANGERS, soft // 4))


def ready(many: Iterable[_H], limit_s: float) -> list[_H]:
    """Those that can be read, or whose other side is gone; waits until there is one, at most ``limit_s``."""
    poll = select.poll()
    by_number: dict[int, _H] = {}
    for one in many:
        number = one if isinstance(one, int) else one.fileno()
        if number >= 0:
            by_number[number] = one
            poll.register(number, select.POLLIN)
    return [by_number[number] for number, _ in poll.poll(max(0.0, limit_s) * 1000)]


def readable(one: Handle, limit_s: float = 0.0) -> bool:
    """Whether it can be read now, or within that time."""
    return bool(ready([one], limit_s))


def can(one: Handle, limit_s: float) -> tuple[bool, bool]:
    """Whether it can be read and whether it can be written to; waits until either is so."""
    poll = select.poll()
    poll.register(one.fileno(), select.POLLIN | select.POLLOUT)
    flags = next((found for _, found in poll.poll(limit_s * 1000)), 0)
    return bool(flags & ~select.POLLOUT), bool(flags & select.POLLOUT)


def line(connection: socket.socket, most_bytes: int, limit_s: float) -> bytes:
    """A line without its end, byte by byte, since what follows it is none; what came where it did not end in time."""
    found = b""
    deadline = time.monotonic() + limit_s
    while len(found) < most_bytes and readable(connection, deadline - time.monotonic()):
        one = connection.recv(1)
        if one in (b"", b"\n"):
            break
        found += one
    return found


def to_drop(addresses: Iterable[str]) -> int:
    """Which of those who wait has to go, by their addresses in the order of coming.

    The oldest of the address with most of them: so one machine that opens many does not push out the others.
    """
    many = list(addresses)
    most = Counter(many).most_common(1)[0][0]
    return many.index(most)

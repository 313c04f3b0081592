"""Mutual proof that both ends of a connection know the run's secret, before either believes the other. Pure.

Three lines of fixed form: a claim with the connecting side's random number and a code over both; the listening side's
number and code; the connecting side's code. Each code is an HMAC (RFC 2104, SHA-256) over both numbers, the side that
speaks, the claim (node, number of nodes) and both addresses and ports, so that none can be used elsewhere, later or in
the other direction. The first code keeps strangers from getting any answer. Keys for what follows come from the same.
"""

from __future__ import annotations

import hmac
import re
import secrets
from dataclasses import dataclass

from rocdoctor.model.lazy_re import regex

MAX_LINE = 400
_NAME = "rocdoctor-nodes/1"  # grows with the form of these lines and of those that follow
_NUMBER, _CODE = "[0-9a-f]{32}", "[0-9a-f]{64}"
_PLACE = r"\S{1,64} [0-9]{1,5}"
_FIRST = regex(
    rf"{re.escape(_NAME)} (?P<claim>(?P<node>[0-9]{{1,4}}) (?P<nodes>[0-9]{{1,4}}) (?P<client>{_PLACE}) "
    rf"(?P<server>{_PLACE})) (?P<number>{_NUMBER}) (?P<code>{_CODE})"
)
_SECOND = regex(rf"(?P<number>{_NUMBER}) (?P<code>{_CODE})")
_THIRD = regex(rf"(?P<code>{_CODE})")


class StrangerError(Exception):
    """The other side does not know the secret, or does not speak this language."""


@dataclass(frozen=True, slots=True)
class SessionKeys:
    """What codes of later lines are made with, one key a direction."""

    send: bytes
    receive: bytes


@dataclass(frozen=True, slots=True)
class Claim:
    """What the connecting side says of itself: its number, how many nodes, and both ends as it sees them."""

    node: int
    nodes: int
    client: str
    server: str

    def __str__(self) -> str:
        return f"{self.node} {self.nodes} {self.client} {self.server}"


def end(address: str, port: int) -> str:
    """One end of a connection, as claims name it."""
    return f"{address.split('%')[0].removeprefix('::ffff:')} {port}"


def code(key: bytes, *parts: str) -> bytes:
    """HMAC-SHA-256 over the parts; none of them holds a line end, which parts them."""
    return hmac.digest(key, "\n".join((_NAME, *parts)).encode(), "sha256")


def _matched(form: re.Pattern[str], line: bytes) -> re.Match[str]:
    found = form.fullmatch(line.decode("latin-1")) if len(line) <= MAX_LINE else None
    if found is None:
        raise StrangerError
    return found


def _equal(wanted: bytes, told: str) -> None:
    if not hmac.compare_digest(wanted.hex().encode(), told.encode()):
        raise StrangerError


def _secret(key: str) -> bytes:
    if not key:  # an empty one would let everybody in
        raise ValueError("a run over nodes needs a secret")
    return key.encode()


class Caller:
    """The connecting side."""

    def __init__(self, key: str, claim: Claim) -> None:
        self._key = _secret(key)
        self._claim = str(claim)
        self._number = secrets.token_hex(16)

    def first(self) -> bytes:
        """What to send first."""
        told = code(self._key, "first", self._claim, self._number).hex()
        return f"{_NAME} {self._claim} {self._number} {told}\n".encode()

    def second(self, line: bytes) -> tuple[bytes, SessionKeys]:
        """What to send upon the other side's answer, and the keys.

        Raises:
            StrangerError: the other side did not prove that it knows the secret.
        """
        found = _matched(_SECOND, line)
        said = (self._claim, self._number, found["number"])
        _equal(code(self._key, "listener", *said), found["code"])
        told = code(self._key, "caller", *said).hex()
        up, down = code(self._key, "upwards", *said), code(self._key, "downwards", *said)
        return f"{told}\n".encode(), SessionKeys(up, down)


class Listener:
    """The listening side of one connection. ``claim``, ``session``: set when the other side has proved itself."""

    def __init__(self, key: str) -> None:
        self._key = _secret(key)
        self._said: tuple[str, str, str] | None = None
        self._claimed: Claim | None = None
        self.claim: Claim | None = None
        self.session: SessionKeys | None = None

    def take(self, line: bytes) -> bytes:
        """What to answer to a line; nothing after the last one.

        Raises:
            StrangerError: this is nobody of this run; not a word to it.
        """
        if self._said is None:
            found = _matched(_FIRST, line)
            _equal(code(self._key, "first", found["claim"], found["number"]), found["code"])
            number = secrets.token_hex(16)
            self._said = said = (found["claim"], found["number"], number)
            self._claimed = Claim(int(found["node"]), int(found["nodes"]), found["client"], found["server"])
            return f"{number} {code(self._key, 'listener', *said).hex()}\n".encode()
        if self.session is not None:
            raise StrangerError
        found = _matched(_THIRD, line)
        _equal(code(self._key, "caller", *self._said), found["code"])
        up, down = code(self._key, "upwards", *self._said), code(self._key, "downwards", *self._said)
        self.claim, self.session = self._claimed, SessionKeys(down, up)
        return b""

"""A connection from its first byte until both ends have proved that they know the run's secret."""

from __future__ import annotations

import socket
import time
from typing import Any

from rocdoctor.train.smoke.nodes import handshake
from rocdoctor.train.smoke.nodes.handshake import Claim, StrangerError, end
from rocdoctor.train.smoke.nodes.polling import line
from rocdoctor.train.smoke.nodes.signed_lines import Wire


class Guest:
    """Somebody who has connected to node 0. ``gone``: a stranger, or it has left; ``wire``: there once it is proved.

    ``claim``: what it says of itself, None before; ``ends``: its end and ours, as claims name them.
    """

    def __init__(self, connection: socket.socket, address: str, key: str) -> None:
        connection.setblocking(False)
        mine, other = connection.getsockname(), connection.getpeername()
        self._socket = connection
        self._listener = handshake.Listener(key)
        self._buffer = b""
        self.address = address
        self.ends = end(str(other[0]), other[1]), end(str(mine[0]), mine[1])
        self.since = time.monotonic()
        self.gone = False
        self.wire: Wire | None = None

    @property
    def claim(self) -> Claim | None:
        """What it says of itself, once it is proved who says so."""
        return self._listener.claim

    def fileno(self) -> int:
        """For poll."""
        return self._socket.fileno()

    def hello(self) -> dict[str, Any] | None:
        """Read on; gives its first line once it has proved itself and has said it."""
        if self.wire is None:
            try:
                self._prove()
            except (OSError, StrangerError):
                self.gone = True
                return None
        if self.wire is None:
            return None
        found = next((one for one in self.wire.take() if "hello" in one), None)
        self.gone = found is None and self.wire.closed
        return found

    def _prove(self) -> None:
        """One line at most: what follows the last one is no longer ours to read."""
        while b"\n" not in self._buffer:
            if len(self._buffer) > handshake.MAX_LINE:
                raise StrangerError
            try:
                data = self._socket.recv(1)
            except BlockingIOError:
                return
            if not data:
                raise StrangerError
            self._buffer += data
        said, self._buffer = self._buffer[:-1], b""
        answer = self._listener.take(said)
        if answer:
            self._socket.sendall(answer)  # far less than a fresh connection takes at once
        if self._listener.session is not None:
            self.wire = Wire(self._socket, self._listener.session)

    def close(self) -> None:
        """End it without a word."""
        if self.wire is not None:
            self.wire.close()
        self._socket.close()


def introduce(connection: socket.socket, key: str, node: int, nodes: int, limit_s: float) -> Wire:
    """Prove to node 0 that we know the secret, and have it prove the same.

    Raises:
        StrangerError: it does not, or is silent; OSError: the connection is gone.
    """
    mine, other = connection.getsockname(), connection.getpeername()
    caller = handshake.Caller(key, Claim(node, nodes, end(str(mine[0]), mine[1]), end(str(other[0]), other[1])))
    connection.sendall(caller.first())
    answer, session = caller.second(line(connection, handshake.MAX_LINE, limit_s))
    connection.sendall(answer)
    return Wire(connection, session)

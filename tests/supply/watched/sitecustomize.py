"""Notes every attempt of a Python process to reach a network, in the file that ROCDOCTOR_TEST_NETWORK names.

Found by PYTHONPATH, so the children of a command are watched too.
"""

from __future__ import annotations

import os
import sys

_NOTED = {
    "socket.connect",
    "socket.getaddrinfo",
    "socket.gethostbyname",
    "socket.gethostbyaddr",
    "socket.sendto",
    "socket.sendmsg",
    "socket.bind",
    "urllib.Request",
    "ftplib.connect",
    "smtplib.connect",
    "http.client.connect",
}


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    if event in _NOTED:
        address = arguments[-1] if arguments else ""
        if isinstance(address, (str, bytes)) and event in ("socket.connect", "socket.bind", "socket.sendto"):
            return  # a path: a socket of this machine
        with open(os.environ["ROCDOCTOR_TEST_NETWORK"], "a") as stream:
            stream.write(f"{event} {address!r} {' '.join(sys.argv)[:200]}\n")


if os.environ.get("ROCDOCTOR_TEST_NETWORK"):
    sys.addaudithook(_watch)

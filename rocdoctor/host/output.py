"""The one door to standard output and standard error: what passes it can drive neither a terminal nor a build log.

Reports clean what they quote; here it is seen to that nothing was forgotten. Other modules do not print.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
from typing import Any, TextIO

from rocdoctor.model.lazy_re import regex
from rocdoctor.model.printable import clean, hidden

# The colours of our own reports, which go to terminals alone (``report/diagnosis/text.py Style``).
_COLOUR = regex(r"(\x1b\[(?:[0-2]|3[1-7](?:;1)?)m)")
# What build services take for an order: "::error ...::" at the start of a line, blanks left out of account, and
# "##[error]", "##vso[...]", "##teamcity[...]" wherever they stand (actions/runner ActionCommand.cs, TryParseV2 and
# TryParse; microsoft/azure-pipelines-agent Command.cs).
_ORDER = regex(r"^([^\S\n]*):(?=:[^\n]*::)|#(?=#\w*\[)", re.MULTILINE)


def show(text: str, flush: bool = False) -> None:
    """A text for people on standard output; it brings its own line ends."""
    sys.stdout.write(_safe(text, sys.stdout))
    if flush:
        sys.stdout.flush()


def line(text: str = "") -> None:
    """A line, or several, for people on standard output, at once."""
    show(f"{text}\n", flush=True)


def exact(text: str) -> None:
    """The text of a file on standard output: to the byte, but on a terminal, where somebody only looks at it."""
    sys.stdout.write(orderless(clean(text)) if on_terminal() else text)


def packed(content: bytes) -> None:
    """Bytes of a file on standard output, which is not a terminal."""
    sys.stdout.buffer.write(content)


def on_terminal() -> bool:
    """Whether somebody looks at standard output."""
    return _terminal(sys.stdout)


def data(value: Any) -> None:
    """One JSON document on standard output."""
    encoding = (sys.stdout.encoding or "").lower().replace("-", "")
    structured(json.dumps(value, indent=2, ensure_ascii=encoding != "utf8", default=str) + "\n")


def structured(text: str) -> None:
    """A JSON text on standard output; what must not stand there as it is stands as an escape, which means the same."""
    signs = {ord(sign): _escape(sign) for sign in hidden(text)}
    sys.stdout.write(_ORDER.sub(lambda found: r"\u0023" if found[0] == "#" else found[0], text.translate(signs)))


def note(words: str, name: str = "rocdoctor:") -> None:
    """One line on standard error; what an input is called may hold anything."""
    plain = "".join(sign if sign.isprintable() else "?" for sign in words)
    with contextlib.suppress(OSError):
        sys.stderr.write(orderless(f"{name} {plain}".strip()) + "\n")
        sys.stderr.flush()


def notes(text: str) -> None:
    """A text of several lines for people on standard error."""
    sys.stderr.write(_safe(text, sys.stderr))


def status(words: str) -> None:
    """A line on the terminal behind standard error that the next one takes the place of; "" clears it."""
    sys.stderr.write(f"\r\x1b[K{clean(words)} ..." if words else "\r\x1b[K")
    sys.stderr.flush()


def orderless(text: str) -> str:
    """The text without orders to build services: a blank comes between the signs by which they know one."""
    return _ORDER.sub(lambda found: f"{found[0]} ", text)


def _safe(text: str, stream: TextIO) -> str:
    if not _terminal(stream):
        return orderless(clean(text))
    parts = _COLOUR.split(text)  # every second one is a colour
    return orderless("".join(part if at % 2 else clean(part) for at, part in enumerate(parts)))


def _terminal(stream: TextIO) -> bool:
    with contextlib.suppress(OSError, ValueError):
        return stream.isatty()
    return False


def _escape(sign: str) -> str:
    units = sign.encode("utf-16-be", errors="surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))

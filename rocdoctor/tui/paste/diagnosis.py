"""Pasted text and its diagnosis, without Textual: what ``rocdoctor read`` says of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rocdoctor.host.base import Host
from rocdoctor.model.finding import Diagnosis
from rocdoctor.model.printable import clean
from rocdoctor.tui.draw.lines import hung

# A larger paste is kept beside the text area, which would take seconds to lay it out.
LARGE = 32_768
ORIGIN = "pasted text"
_HEAD_LINES, _HEAD_CHARACTERS = 4, 4000


@dataclass(frozen=True, slots=True)
class LargePaste:
    """A large paste: its text as it came, its size and lines, its first lines made safe to show."""

    text: str
    size_bytes: int
    lines: int
    head: str


@dataclass(frozen=True, slots=True)
class Read:
    """Evidence with its diagnosis; ``parts`` is what was recognised in a text, for people."""

    host: Host
    diagnosis: Diagnosis
    parts: str


def aside(text: str) -> LargePaste:
    """A large paste, looked at once."""
    ends = text.count("\n") or text.count("\r")
    lines = ends + (not text.endswith(("\n", "\r")))
    head = clean(unix(text[:_HEAD_CHARACTERS])).split("\n")[:_HEAD_LINES]
    # Bytes of text that is nearly all ASCII; counting them exactly would copy it.
    return LargePaste(text, len(text), lines, "\n".join(head))


def unix(text: str) -> str:
    """The text with plain line ends; terminals send pasted ones as carriage returns."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_text(pieces: Sequence[str]) -> Read:
    """The diagnosis of pasted text, which may also be a whole bundle. Slow: for a thread. Raises CaptureError."""
    text = "\n".join(unix(one) for one in pieces if one.strip())
    from rocdoctor.host.evidence.capture import CaptureHost, is_capture, parse

    data = text[:4096].encode(errors="replace")
    if is_capture(data):
        return read_host(CaptureHost(parse(text.encode(errors="replace")), ORIGIN))
    from rocdoctor.paste import open_text

    return read_host(open_text(text, ORIGIN))


def read_host(host: Host) -> Read:
    """The diagnosis of any evidence."""
    from rocdoctor.service.reading import judged, listing, recognised, with_lines_of_text
    from rocdoctor.service.session import chosen_checks

    checks, problems = chosen_checks((), ())
    diagnosis = with_lines_of_text(judged(host, checks, problems), host)
    return Read(host, diagnosis, listing(recognised(host)) if host.kind == "text" else "")


def report(read: Read, width: int) -> str:
    """The diagnosis as text."""
    from rocdoctor.report.diagnosis.text import render

    said = render(read.diagnosis, width=min(width, 100), pasted=read.host.kind == "text") + read.parts
    return "\n".join(hung(clean(said), width))

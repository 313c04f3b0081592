"""The capture file: every question with its answer, in one text that people can read.

::

    rocdoctor capture 1
    origin: recorded
    (free text: the summary for people)
    -- env --
    HSA_OVERRIDE_GFX_VERSION=11.0.0
    -- run rocm-smi --showtopo -- exit 1 0.21s
    -- read /sys/class/drm/card0/device/gpu_metrics -- base64

Lines of a body that begin with ``-- `` or a backslash get one backslash in front. Bytes that are not clean text are
written in base64. The same format serves bundles and fixtures.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import cast

from rocdoctor.host.base import MAX_ANSWER_BYTES, Answer, Kind, Status
from rocdoctor.host.evidence.decompress import Damaged, unpacked
from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.text import whole_number

MAGIC = "rocdoctor capture 1"
MAX_FILE_BYTES = 64 * 1024 * 1024
MAX_ANSWERS = 200_000
_MAX_MEMBERS = 1000
_MAX_HEADERS = 1000

_HEADER = regex(rb"([a-z][a-z-]{0,30}): ([^\n]*)(?:\n|\Z)")
_MARKED = regex(rb"^-- [^\n]*", re.MULTILINE)
_ESCAPE = regex(rb"^\\", re.MULTILINE)
_CONTROL = regex(rb"[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]")
_FAILURES = ("absent", "denied", "failed", "not-asked")


class CaptureError(ValueError):
    """A capture file that cannot be read; the message says what is wrong and where."""


@dataclass(frozen=True, slots=True)
class Capture:
    """The content of a capture file."""

    headers: Mapping[str, str]
    summary: str
    answers: Mapping[str, Answer]
    notes: tuple[str, ...] = field(default=())


def is_capture(data: bytes) -> bool:
    """Whether the bytes begin like a capture file."""
    return data[:4096].removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"rocdoctor capture ")


def gunzip(data: bytes, limit: int = MAX_FILE_BYTES) -> bytes:
    """Unpacked gzip data, never more than ``limit`` bytes; raises CaptureError when damaged or larger."""
    parts: list[bytes] = []
    room = limit
    try:
        for part in unpacked(io.BytesIO(data), _MAX_MEMBERS):
            room -= len(part)
            if room < 0:
                raise CaptureError(f"unpacks to more than {limit // 2**20} MiB")
            parts.append(part)
    except Damaged as problem:
        raise CaptureError(f"damaged gzip data: {problem}") from None
    return b"".join(parts)


def pack(text: str) -> bytes:
    """The capture's text as gzip data."""
    return gzip.compress(text.encode(), mtime=0)


def _attributes(answer: Answer) -> str:
    words: list[str] = []
    if answer.status in _FAILURES:
        words.append(answer.status)
    if answer.status == "timeout":
        words += ["timeout", answer.note.replace(" ", "") or "?"]
    if answer.exit_code is not None:
        words += ["exit", str(answer.exit_code)]
    if answer.seconds is not None and answer.question.startswith(("run ", "python ")):
        words.append(f"{answer.seconds:.2f}s")
    words += ["truncated"] * answer.truncated + ["partial"] * (not answer.complete)
    return "".join(" " + word for word in words)


def _body(answer: Answer) -> tuple[str, str]:
    """(extra attribute, text of the body)."""
    if not answer.data:
        return "", ""
    try:
        text = answer.data.decode("utf-8")
    except UnicodeDecodeError:
        text = ""
    if not text or _CONTROL.search(answer.data) or "\r" in text:
        coded = base64.b64encode(answer.data).decode()
        return " base64", "".join(coded[at : at + 120] + "\n" for at in range(0, len(coded), 120))
    return "", "".join(_escaped(line) + "\n" for line in text.split("\n"))


def _escaped(line: str) -> str:
    return "\\" + line if line.startswith(("-- ", "\\")) else line


def write(answers: Iterable[Answer], headers: Mapping[str, str], summary: str = "") -> str:
    """The text of a capture file. Notes of failures stand in the body, since they are words."""
    kept = list(answers)
    parts = [MAGIC + "\n"]
    parts += [f"{name}: {_one_line(value)}\n" for name, value in headers.items()]
    parts.append(f"answers: {len(kept)}\n")
    if summary:
        parts += [
            "\n",
            *(("\\" + line if line.startswith(("-- ", "\\")) else line) + "\n" for line in summary.split("\n")),
        ]
    for answer in kept:
        if answer.status == "failed" and not answer.data and answer.note:
            extra, body = _body(replace(answer, data=answer.note.encode()))
        else:
            extra, body = _body(answer)
        parts.append(f"-- {_one_line(answer.question)} --{_attributes(answer)}{extra}\n{body}")
    return "".join(parts)


def _one_line(text: str) -> str:
    """Text that cannot begin a line of its own (a file name may hold line ends)."""
    return re.sub(r"[\r\n]+", " ", text)


def _header(line: str) -> tuple[str, list[str]] | None:
    """(question, attributes) of a header line; None for a line of a body that only begins like one."""
    question, dashes, attributes = (line[3:-3], "--", "") if line.endswith(" --") else line[3:].rpartition(" -- ")
    return (question, attributes.split()) if dashes and question else None


def _answer(question: str, attributes: list[str], body: bytes, where: int) -> Answer:
    status: Status = "ok"
    exit_code: int | None = None
    seconds: float | None = None
    note = ""
    if not attributes:
        return Answer(question, "ok", _plain(body).encode()[:MAX_ANSWER_BYTES])
    words = iter(attributes)
    for word in words:
        if word in _FAILURES:
            status = cast(Status, word)
        elif word == "timeout":
            status, note = "timeout", next(words, "")
        elif word == "exit":
            code = next(words, "")
            exit_code = int(code) if re.fullmatch(r"-?[0-9]{1,5}", code) else None
        elif re.fullmatch(r"[0-9]{1,6}\.[0-9]{1,3}s", word):
            seconds = float(word[:-1])
    if "base64" in attributes:
        try:
            data = base64.b64decode(b"".join(body.split()), validate=True)
        except (binascii.Error, ValueError):
            raise CaptureError(f"line {where}: the base64 data of '{question[:80]}' is damaged") from None
    else:
        data = _plain(body).encode()
    if status == "failed":
        note, data = data.decode("utf-8", errors="replace"), b""
    truncated = "truncated" in attributes
    return Answer(
        question, status, data[:MAX_ANSWER_BYTES], exit_code, seconds, note, truncated, "partial" not in attributes
    )


def parse(data: bytes) -> Capture:
    """A capture from the bytes of its file (plain or gzip); raises CaptureError with the line that is wrong."""
    if data[:2] == b"\x1f\x8b":
        data = gunzip(data)
    if len(data) > MAX_FILE_BYTES:
        raise CaptureError(f"larger than {MAX_FILE_BYTES // 2**20} MiB")
    data = data.removeprefix(b"\xef\xbb\xbf").lstrip()
    first, _, _ = data[:4096].partition(b"\n")
    if first.endswith(b"\r"):  # a mail program or an editor changed the line ends
        data = data.replace(b"\r\n", b"\n")
    title = first.decode("utf-8", errors="replace").strip()
    if title != MAGIC:
        if title.startswith("rocdoctor capture "):
            raise CaptureError(f"'{title[:60]}' is from a newer rocdoctor than this one; update rocdoctor to read it")
        raise CaptureError("not a rocdoctor capture (its first line is not 'rocdoctor capture 1')")
    headers, summary_at = _headers(data)
    answers: dict[str, Answer] = {}
    notes: list[str] = []
    summary = ""
    question, attributes, where, begin, number, counted = "", list[str](), 1, summary_at, 1, 0
    for count, (start, end, line) in enumerate(_marked_lines(data)):
        header = _header(line)
        if count > MAX_ANSWERS:
            raise CaptureError(f"more than {MAX_ANSWERS} answers")
        if header is None and line:
            continue
        body = data[begin : max(begin, start - 1)]
        if not question:
            summary = _plain(body).strip("\n")
        elif question in answers:
            notes.append(f"line {where}: '{question[:80]}' appears twice; the first one counts")
        else:
            answers[question] = _answer(question, attributes, body, where)
        if header is not None:
            number += data.count(b"\n", counted, start)
            (question, attributes), where, begin, counted = header, number, end + 1, start
    written = whole_number(headers.get("answers"))
    if answers and written is not None and len(answers) + len(notes) < written:
        # The file was cut off on its way: what its last answer does not show is unknown.
        notes.append(f"holds {len(answers)} of {written} answers; the rest was cut off")
        answers[question] = replace(answers[question], complete=False, truncated=True)
    return Capture(headers, summary, answers, tuple(notes))


def _marked_lines(data: bytes) -> Iterator[tuple[int, int, str]]:
    """(start, end, text) of each line that may be a header, then of the end of the file, whose text is ""."""
    for found in _MARKED.finditer(data):
        yield found.start(), found.end(), found[0].decode("utf-8", errors="replace")
    yield len(data) + (not data.endswith(b"\n")), len(data), ""


def _plain(body: bytes) -> str:
    return (_ESCAPE.sub(b"", body) if b"\\" in body else body).decode("utf-8", errors="replace")


def _headers(data: bytes) -> tuple[dict[str, str], int]:
    """The ``name: value`` lines below the first line, and where they end."""
    headers: dict[str, str] = {}
    at = data.find(b"\n") + 1 or len(data)
    while found := _HEADER.match(data, at):
        if len(headers) >= _MAX_HEADERS:
            raise CaptureError(f"more than {_MAX_HEADERS} lines of description")
        headers[found[1].decode()] = found[2].decode("utf-8", errors="replace")
        at = found.end()
    return headers, at


class CaptureHost:
    """A host that answers from a capture; what was not asked when it was made is unknown."""

    kind: Kind = "bundle"

    def __init__(self, capture: Capture, origin: str) -> None:
        self.capture = capture
        self.origin = origin
        self.notes = capture.notes

    def ask(self, question: str) -> Answer:
        return self.capture.answers.get(question) or Answer(question, "not-asked", complete=False)

    def prefetch(self, questions: Iterable[str]) -> None:
        pass

    def available(self) -> tuple[str, ...]:
        return tuple(self.capture.answers)

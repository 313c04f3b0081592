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
import re
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import cast

from rocdoctor.host.base import MAX_ANSWER_BYTES, Answer, Kind, Status

MAGIC = "rocdoctor capture 1"
MAX_FILE_BYTES = 128 * 1024 * 1024
MAX_ANSWERS = 200_000

_HEADER = re.compile(r"^-- (.*) --((?: [^ ]+)*)$")
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]")
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
    unpacker = zlib.decompressobj(wbits=31)
    try:
        plain = unpacker.decompress(data, limit + 1)
    except zlib.error as error:
        raise CaptureError(f"damaged gzip data: {error}") from None
    if len(plain) > limit:
        raise CaptureError(f"unpacks to more than {limit // 2**20} MiB")
    return plain


def pack(text: str) -> bytes:
    """The capture's text as gzip data."""
    return gzip.compress(text.encode(), mtime=0)


def _attributes(answer: Answer) -> str:
    words: list[str] = []
    if answer.status in _FAILURES:
        words.append(answer.status)
    if answer.status == "timeout":
        words += ["timeout", answer.note or "?"]
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
    parts = [MAGIC + "\n"]
    parts += [f"{name}: {value}\n" for name, value in headers.items()]
    if summary:
        parts += [
            "\n",
            *(("\\" + line if line.startswith(("-- ", "\\")) else line) + "\n" for line in summary.split("\n")),
        ]
    for answer in answers:
        if answer.status == "failed" and not answer.data and answer.note:
            extra, body = _body(replace(answer, data=answer.note.encode()))
        else:
            extra, body = _body(answer)
        parts.append(f"-- {answer.question} --{_attributes(answer)}{extra}\n{body}")
    return "".join(parts)


def _answer(question: str, attributes: list[str], body: list[str], where: int) -> Answer:
    status: Status = "ok"
    exit_code: int | None = None
    seconds: float | None = None
    note = ""
    words = iter(attributes)
    for word in words:
        if word in _FAILURES:
            status = cast(Status, word)
        elif word == "timeout":
            status, note = "timeout", next(words, "")
        elif word == "exit":
            code = next(words, "")
            exit_code = int(code) if re.fullmatch(r"-?\d{1,5}", code) else None
        elif re.fullmatch(r"\d{1,6}\.\d{1,3}s", word):
            seconds = float(word[:-1])
    if "base64" in attributes:
        try:
            data = base64.b64decode("".join(body), validate=True)
        except (binascii.Error, ValueError):
            raise CaptureError(f"line {where}: the base64 data of '{question[:80]}' is damaged") from None
    else:
        data = "\n".join(line.removeprefix("\\") for line in body).encode()
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
    lines = data.decode("utf-8", errors="replace").removeprefix("\ufeff").split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    if lines and lines[0].endswith("\r"):  # a mail program or an editor changed the line ends
        lines = [line.removesuffix("\r") for line in lines]
    if not lines or lines[0].strip() != MAGIC:
        first = lines[0].strip()[:60] if lines else ""
        if first.startswith("rocdoctor capture "):
            raise CaptureError(f"'{first}' is of a newer rocdoctor than this one; update rocdoctor to read it")
        raise CaptureError("not a rocdoctor capture (its first line is not 'rocdoctor capture 1')")
    headers: dict[str, str] = {}
    at = 1
    while at < len(lines) and (found := re.match(r"^([a-z][a-z-]{0,30}): (.*)$", lines[at])):
        headers[found[1]] = found[2]
        at += 1
    summary: list[str] = []
    answers: dict[str, Answer] = {}
    notes: list[str] = []
    question, attributes, body, where = "", list[str](), summary, at
    for number, line in enumerate(lines[at:], at + 1):
        header = _HEADER.match(line) if line.startswith("-- ") else None
        if header is None:
            body.append(line)
            continue
        if question:
            answers.setdefault(question, _answer(question, attributes, body, where))
        question, attributes, body, where = header[1], header[2].split(), [], number
        if question in answers:
            notes.append(f"line {number}: '{question[:80]}' stands twice; the first one counts")
        if len(answers) > MAX_ANSWERS:
            raise CaptureError(f"more than {MAX_ANSWERS} answers")
    if question:
        answers.setdefault(question, _answer(question, attributes, body, where))
    text = "\n".join(line.removeprefix("\\") for line in summary).strip("\n")
    return Capture(headers, text, answers, tuple(notes))


class CaptureHost:
    """A host that answers from a capture; what was not asked when it was made is unknown."""

    kind: Kind = "bundle"

    def __init__(self, capture: Capture, origin: str) -> None:
        self.capture = capture
        self.origin = origin

    def ask(self, question: str) -> Answer:
        return self.capture.answers.get(question) or Answer(question, "not-asked", complete=False)

    def prefetch(self, questions: Iterable[str]) -> None:
        pass

    def available(self) -> tuple[str, ...]:
        return tuple(self.capture.answers)

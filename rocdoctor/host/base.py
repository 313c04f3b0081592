"""Questions, answers, and the protocol of a host.

A question is one line of text, and that line is the key of its answer everywhere: in a capture file, in the evidence of
a finding, in a test that edits a machine. The verbs:

=================  ==========================================================================================
``read PATH``      the bytes of a regular file (16 MiB at most)
``list GLOB``      the paths that match, sorted, one a line (``*`` stands for one path component or a part of it)
``link PATH``      the path with every symbolic link resolved
``stat PATH``      ``type mode uid gid [major:minor]``, for example ``char 0660 0 109 235:0``
``open PATH``      can this user open the device node for reading and writing: ``read-write`` or ``denied``
``udev PATH``      udev's records of a device node and its PCI device, in the lines of ``udevadm info``
``space PATH``     size and free space of the file system in bytes: ``total free``
``run ARGV``       the output of a program, arguments quoted as a POSIX shell would need it
``env``            the environment, ``NAME=value`` a line
``python WHICH``   the probe of an interpreter: ``default`` or its path, then ``--import`` when torch may be imported
``held PROC``      the device nodes that a process holds open, a line each (PROC is ``/proc/job`` or ``/proc/NUMBER``)
``holders gpu``    ``pid age_s node,node name`` of processes that have a GPU's nodes open, last ``hidden COUNT``
``threads PROC``   ``tid state switches wchan name`` of each thread; ``threads PROC again`` is a later look
``processes PROC`` the lines of ``/proc/NUMBER/stat`` of a process, its descendants, and its parent's other children
``ranks PROC``     of the same processes, ``pid NAME=value ...`` with what launchers set, or ``pid denied``
``libraries PROC`` the shared objects that a process has mapped
``smoke SET ...``  the results of smoke tests as JSON (``rocdoctor/train/smoke/run/request.py`` tells the words)
=================  ==========================================================================================
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, Protocol

from rocdoctor.model.evidence import Reason, Source, Unknown
from rocdoctor.model.lazy_re import regex

Status = Literal["ok", "absent", "denied", "timeout", "failed", "not-asked"]
Kind = Literal["live", "bundle", "folder", "text"]

# How the notes of questions begin that were left because the process that was to answer them is gone.
ASKER = "the process that asks this machine"
MAX_ANSWER_BYTES = 16 * 1024 * 1024
# Where set-up makes an environment for torch, so where an interpreter is looked for when none is active.
NEW_ENVIRONMENT = "~/torch-venv"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a host said to one question.

    ``complete`` is false when the answer may be an excerpt: then what it does not show is unknown, not absent.
    ``seconds`` is how long the question took (None when replayed from a source that does not say).
    """

    question: str
    status: Status
    data: bytes = b""
    exit_code: int | None = None
    seconds: float | None = None
    note: str = ""
    truncated: bool = False
    complete: bool = True

    @property
    def ok(self) -> bool:
        """There is an answer (a program that ended with an error status has given one too)."""
        return self.status == "ok"

    @property
    def text(self) -> str:
        """The answer as text; undecodable bytes become U+FFFD."""
        return self.data.decode("utf-8", errors="replace")

    def lines(self) -> list[str]:
        """The answer's lines without their ends; of a listing only paths that match its pattern."""
        lines = self.text.splitlines()
        if lines and self.question.startswith("list "):
            matches = _pattern(self.question[5:]).fullmatch
            return [line for line in lines if matches(line)]
        return lines

    def source(self, line: int | None = None) -> Source:
        """Where a value of this answer stands."""
        return Source(self.question, line)

    def unknown(self) -> Unknown:
        """Why there is no value: the question and the words for it."""
        reason: Reason = self.status if self.status != "ok" else "unparsable"
        return Unknown(f"{self.question}: {self.in_words}", reason, self.source())

    @property
    def in_words(self) -> str:
        """What came of the question where there is no value, in a few words."""
        return {
            "ok": "the answer makes no sense",
            "absent": "there is no such file or program",
            "denied": "permission denied",
            "timeout": f"no answer within {self.note}" if self.note else "no answer in time",
            "failed": self.note or "it failed",
            "not-asked": "this is not in the evidence",
        }[self.status]


@lru_cache(4096)
def _pattern(glob: str) -> re.Pattern[str]:
    """What the paths of a listing look like; a home folder may be spelled out."""
    home = glob.startswith("~")
    parts = re.split(r"(\*+|\?|\[[^\]/]{1,80}\])", glob[1:] if home else glob)
    words = [_sign(part) if at % 2 else re.escape(part) for at, part in enumerate(parts)]
    return re.compile(("(?:~|/.*)" if home else "") + "".join(words))


def _sign(part: str) -> str:
    if part[0] == "[":
        return "[" + ("^" if part[1] == "!" else "") + re.escape(part[1:-1].removeprefix("!")).replace("\\-", "-") + "]"
    return "[^/]" if part == "?" else "[^/]*"


def same_answer(was: Answer, now: Answer) -> bool:
    """Whether two answers to one question say the same; how long it took does not count."""
    return was is now or (
        (was.data, was.status, was.note, was.exit_code, was.truncated, was.complete)
        == (now.data, now.status, now.note, now.exit_code, now.truncated, now.complete)
    )


class Host(Protocol):
    """The one door to a machine: live, or its evidence."""

    @property
    def kind(self) -> Kind: ...

    @property
    def origin(self) -> str: ...

    def ask(self, question: str) -> Answer:
        """The answer to one question; never raises, always ends."""
        ...

    def prefetch(self, questions: Iterable[str]) -> None:
        """Start on questions that will be asked, so that slow ones run side by side."""
        ...

    def available(self) -> tuple[str, ...]:
        """Questions that are known to have an answer; empty on a live machine, where anything may be asked."""
        ...


def normalise(data: bytes) -> bytes:
    """The form in which every host returns an answer: no line ends at the end, so that a capture can be exact."""
    return data.rstrip(b"\n")


def read(path: str) -> str:
    """The question for the content of a file."""
    return f"read {path}"


_PLAIN = regex(r"[A-Za-z0-9_ .,:/=+@%-]*")


def listing(pattern: str) -> str:
    """The question for the paths that match a pattern."""
    return f"list {pattern}"


def run(*argv: str) -> str:
    """The question for the output of a program."""
    return "run " + shlex.join(argv)


def argv_of(question: str) -> list[str]:
    """The arguments of a ``run`` question; empty when it is none."""
    if not question.startswith("run "):
        return []
    if _PLAIN.fullmatch(question):  # a bundle may hold 200,000 of them, and each is looked at several times
        return question[4:].split()
    try:
        return shlex.split(question[4:])
    except ValueError:
        return question[4:].split()


def partial(answer: Answer) -> Answer:
    """The same answer, marked as an excerpt."""
    return replace(answer, complete=False)

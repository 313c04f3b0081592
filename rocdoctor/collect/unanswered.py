"""Questions without a whole answer although there is one: too slow, refused, not asked, an error of the kernel, cut."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable

from rocdoctor.host.base import ASKER, Answer, Host, Kind
from rocdoctor.model.facts import Unanswered
from rocdoctor.model.lazy_re import regex

# A healthy driver refuses files that its device has no use for in many ways (EINVAL, EOPNOTSUPP, ENODATA, EBUSY), which
# says nothing. These say that a device or a disk does not work, is gone, or that we lack files or memory ourselves.
_SICK = frozenset(
    os.strerror(number)
    for number in (
        errno.EIO,
        errno.ENXIO,
        errno.ENODEV,
        errno.ETIMEDOUT,
        errno.ESTALE,
        errno.ENOTCONN,
        errno.EMFILE,
        errno.ENFILE,
        errno.ENOMEM,
        getattr(errno, "EREMOTEIO", errno.EIO),
        getattr(errno, "EUCLEAN", errno.EIO),
    )
)

# A folder of programs that hangs (host/live/programs.py).
_SILENT = regex(r" gave no answer within [0-9.]{1,8}s\Z")


def unanswered(answer: Answer) -> Unanswered | None:
    """What an answer leaves open; None for a whole one, and for what is simply not there."""
    if answer.status == "timeout":
        return Unanswered(answer.question, "timeout", f"within {answer.note}" if answer.note else "in time")
    if answer.status == "denied":
        return Unanswered(answer.question, "denied", "permission denied")
    if answer.ok and answer.truncated:
        return Unanswered(answer.question, "cut", f"{_amount(answer)} of it")
    if answer.status == "failed" and _SILENT.search(answer.note):
        return Unanswered(answer.question, "timeout", answer.note)
    if answer.status == "failed":
        if answer.note.startswith(ASKER):
            return Unanswered(answer.question, "failed", answer.note)
        sick = answer.note in _SICK or any(answer.note.endswith(f": {words}") for words in _SICK)
        if sick or answer.note.startswith("MemoryError"):
            return Unanswered(answer.question, "failed", answer.note.rstrip(": "))
        if answer.question.startswith("python ") and answer.note:  # root runs no code of others, and no stranger's
            return Unanswered(answer.question, "not asked", answer.note)
    return None


class NotingHost:
    """A host that keeps what it left unanswered, each question once, in the order asked."""

    def __init__(self, inner: Host) -> None:
        self.inner = inner
        self.kind: Kind = inner.kind
        self.origin = inner.origin
        self._open: dict[str, Unanswered | None] = {}

    def ask(self, question: str) -> Answer:
        answer = self.inner.ask(question)
        if (not answer.ok or answer.truncated) and answer.question not in self._open:
            self._open[answer.question] = unanswered(answer)
        return answer

    def prefetch(self, questions: Iterable[str]) -> None:
        self.inner.prefetch(questions)

    def available(self) -> tuple[str, ...]:
        return self.inner.available()

    @property
    def unanswered(self) -> tuple[Unanswered, ...]:
        return tuple(one for one in self._open.values() if one is not None)


def _amount(answer: Answer) -> str:
    kib = len(answer.data) / 1024
    return f"{kib / 1024:.0f} MiB" if kib >= 1024 else f"{kib:.0f} KiB"

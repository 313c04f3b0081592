"""An answer that another process will give."""

from __future__ import annotations

import _thread

from rocdoctor.host.base import Answer
from rocdoctor.host.supervised.child_process import Link


class Pending:
    """An answer on its way; ``sent`` is when its question was (monotonic)."""

    __slots__ = ("_open", "answer", "link", "question", "sent")

    def __init__(self, question: str, sent: float) -> None:
        self.question = question
        self.sent = sent
        self.link: Link | None = None
        self.answer: Answer | None = None
        self._open = _thread.allocate_lock()  # an event of ``threading`` costs five times as much
        self._open.acquire()

    def finish(self, answer: Answer) -> None:
        """Called once."""
        self.answer = answer
        self._open.release()

    def wait(self, seconds: float) -> Answer | None:
        """The answer; None where it has not come within so long."""
        if self.answer is None and self._open.acquire(timeout=seconds):
            self._open.release()  # for the next one who waits
        return self.answer

"""This machine, asked by another process (``server.py``): whatever a question does there, this process can end.

The other process starts without being waited for, and ends when this one does, however that happens. Where it breaks,
its questions fail and a new one is started, a few times. Smoke tests have one of their own, so that they can be
cancelled.
"""

from __future__ import annotations

import _thread
import atexit
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from rocdoctor.host.base import ASKER, Answer, Host, Kind
from rocdoctor.host.supervised.child_process import Link, LinkError, Settings
from rocdoctor.host.supervised.frames import answer_of, packed
from rocdoctor.host.supervised.pending_answer import Pending
from rocdoctor.host.supervised.smoke_child import SmokeChild

_MOST_STARTS = 4
# A question that was not answered in time is not asked anew so soon: its tool or driver may still hang in it.
_REST_S = 60.0
_CLOSE_S = 0.15
Told = Callable[[str, str, int, str], None]


@dataclass(frozen=True, slots=True)
class Waiting:
    """A question that was sent and not yet answered, and for how long."""

    question: str
    seconds: float


_Book = dict[str, Pending]


class FarHost:
    """Asks this machine through a child process. ``timeout_s`` is the deadline of one question."""

    kind: Kind = "live"
    origin = "this machine"

    def __init__(
        self, timeout_s: float = 5.0, python: str | None = None, pid: int | None = None, trust_python: bool = False
    ) -> None:
        self.timeout_s = timeout_s
        self.answered = 0
        self._settings = Settings(timeout_s, python, pid, trust_python=trust_python)
        # Programs keep their own deadline, a probe that imports torch three of them: longer silence is the end.
        self._silence_s = 4 * timeout_s + 10.0
        self._lock = threading.Lock()
        self._book: _Book = {}
        self._sent: dict[int, Pending] = {}
        self._number = 0
        self._rests: dict[str, tuple[float, Answer]] = {}
        self._starts = 0
        self._why = ""
        self._closed = False
        self._link: Link | None = None
        self._greeted = threading.Event()
        self._hello = ("", "")
        self._smoke = SmokeChild(self._settings)
        self._smoked: dict[str, Answer] = {}
        atexit.register(self.close)
        self._start()

    # -- the protocol

    def available(self) -> tuple[str, ...]:
        if self._settings.pid is None:
            return ()
        from rocdoctor.host.live.running_job import STATUS

        return (STATUS,)

    def prefetch(self, questions: Iterable[str]) -> None:
        self._begin(self._book, [one for one in questions if not one.startswith("smoke ")])

    def ask(self, question: str) -> Answer:
        return self._ask(self._book, question)

    def fresh(self) -> FreshHost:
        """A host that asks every question anew, once."""
        return FreshHost(self)

    def retry(self) -> None:
        """Let the next fresh view ask also what was not answered in time a moment ago."""
        with self._lock:
            self._rests.clear()

    def waiting(self) -> tuple[Waiting, ...]:
        """The questions that were sent and are not yet answered, in the order sent."""
        now = time.monotonic()
        with self._lock:
            return tuple(Waiting(one.question, now - one.sent) for one in self._sent.values())

    def hello(self, limit_s: float) -> tuple[str, str]:
        """(why a job cannot be judged, what cannot be seen of it); waits for the child, at most so long."""
        if not self._greeted.wait(limit_s):
            return f"process {self._settings.pid}: it reported nothing within {limit_s:g} s", ""
        return self._hello

    def perform(self, question: str, told: Told | None = None, trace: str = "") -> Answer:
        """Run smoke tests anew, not masked; ``told`` hears how far they are, in this thread. Results are kept."""
        if self._closed:
            return Answer(question, "failed", note="rocdoctor is ending")
        answer = self._smoke.perform(question, told, trace)
        if answer.ok:
            self._smoked[question] = answer
        return answer

    def cancel(self) -> None:
        """End the smoke tests that run, with all their processes; ``perform`` returns when they are gone."""
        self._smoke.cancel()

    def close(self) -> None:
        """End the child and all it has started, without waiting for it to be done; what is asked now fails."""
        locked = self._lock.acquire(timeout=_CLOSE_S)  # somebody may be starting another child on a sick file system
        try:
            if self._closed:
                return
            self._closed = True
            link, self._link = self._link, None
            left = list(self._sent.values())
            self._sent.clear()
        finally:
            if locked:
                self._lock.release()
        atexit.unregister(self.close)
        self._smoke.cancel()
        for one in left:
            one.finish(Answer(one.question, "failed", note="rocdoctor is ending"))
        if link is not None:
            link.close()
            link.wait(_CLOSE_S)

    def _ask(self, book: _Book, question: str) -> Answer:
        if question.startswith("smoke "):
            return self._smoked.get(question) or self.perform(question)
        pending = book.get(question) or self._begin(book, [question])[0]
        while (answer := pending.wait(self._silence_s)) is None:
            link = pending.link
            if link is not None and time.monotonic() - max(link.heard_at, pending.sent) >= self._silence_s:
                link.kill()
                self._lost(link, f"{ASKER} said nothing for {self._silence_s:g} s")
        return answer

    def _begin(self, book: _Book, questions: list[str]) -> list[Pending]:
        """The answers on their way; those that are not yet are sent for, together."""
        found: list[Pending] = []
        batch: list[tuple[int, str]] = []
        now = time.monotonic()
        with self._lock:
            link = self._link
            if link is None and not self._closed:
                link = self._start()
            for question in questions:
                pending = book.get(question)
                if pending is None:
                    pending = book[question] = Pending(question, now)
                    rest = self._rests.get(question)
                    if rest is not None and now < rest[0]:
                        pending.finish(rest[1])
                    elif link is None:
                        pending.finish(Answer(question, "failed", note=self._why or "rocdoctor is ending"))
                    else:
                        pending.link = link
                        self._number += 1
                        self._sent[self._number] = pending
                        batch.append((self._number, question))
                found.append(pending)
        if batch and link is not None:
            try:
                link.send(packed(batch), self._silence_s)
            except OSError:
                self._lost(link, "")
        return found

    def _start(self) -> Link | None:
        """Start a child; None where that fails or was done too often."""
        if self._starts >= _MOST_STARTS:
            return None
        self._starts += 1
        try:
            self._link = link = Link(self._settings)
            _thread.start_new_thread(self._hear, (link,))
        except (LinkError, RuntimeError, MemoryError) as error:
            self._why = str(error) or type(error).__name__
            return None
        return link

    def _hear(self, link: Link) -> None:
        first = link.frames.next()
        if first is not None:
            link.worker = first[0]["pid"]
            self._hello = (first[0]["problem"], first[0]["note"])
        self._greeted.set()
        while (found := link.frames.next()) is not None:
            link.heard_at = time.monotonic()
            header, data = found
            with self._lock:
                pending = self._sent.pop(header[0], None)
                if pending is None:
                    continue
                self.answered += 1
                answer = answer_of(pending.question, header, data)
                if answer.status == "timeout":
                    self._rests[pending.question] = (link.heard_at + _REST_S, answer)
            pending.finish(answer)
        self._lost(link, "")

    def _lost(self, link: Link, why: str) -> None:
        """The child is gone: what it was asked fails; the next question starts another."""
        link.close()
        how = why or f"{ASKER} ended {link.end()}"
        with self._lock:
            if self._link is link:
                self._link = None
                self._why = how
            left = {number: one for number, one in self._sent.items() if one.link is link}
            for number in left:
                del self._sent[number]
        for one in left.values():
            one.finish(Answer(one.question, "failed", note=how))


class FreshHost:
    """Asks every question anew, once: what was recorded before stays as it is."""

    kind: Kind = "live"

    def __init__(self, far: FarHost) -> None:
        self.far = far
        self.origin = far.origin
        self._book: _Book = {}

    def available(self) -> tuple[str, ...]:
        return self.far.available()

    def prefetch(self, questions: Iterable[str]) -> None:
        self.far._begin(self._book, [one for one in questions if not one.startswith("smoke ")])

    def ask(self, question: str) -> Answer:
        return self.far._ask(self._book, question)


def far_of(host: Host) -> FarHost | None:
    """The far host behind masking, recording and added answers; None for evidence and in-process hosts."""
    one: object = host
    while not isinstance(one, FarHost):
        one = getattr(one, "far", None) or getattr(one, "inner", None)
        if one is None:
            return None
    return one


def fresh(host: Host) -> Host:
    """The same host asking this machine anew, with a record of its own; evidence stays what it is."""
    from rocdoctor.host.overlay import OverlayHost
    from rocdoctor.host.recorder import MaskedHost, Recorder

    if isinstance(host, FarHost):
        return host.fresh()
    if isinstance(host, FreshHost):
        return host.far.fresh()
    if far_of(host) is None:
        return host
    if isinstance(host, MaskedHost):
        return MaskedHost(fresh(host.inner), host.masker, host)
    if isinstance(host, OverlayHost):
        return OverlayHost(fresh(host.inner), host.answers)
    if isinstance(host, Recorder):
        return Recorder(fresh(host.inner))
    return host


def perform(host: Host, question: str, told: Told | None = None, trace: str = "") -> Answer:
    """Run smoke tests now, masked as the host masks; results stand in its record, cancelled and failed ones do not."""
    far = far_of(host)
    return host.ask(question) if far is None else _kept(host, far.perform(question, told, trace))


def _kept(host: Host, answer: Answer) -> Answer:
    from rocdoctor.host.overlay import OverlayHost
    from rocdoctor.host.recorder import MaskedHost, Recorder, mask_answer

    if isinstance(host, MaskedHost | Recorder | OverlayHost):
        answer = _kept(host.inner, answer)
    if isinstance(host, MaskedHost):
        return host.keep(answer) if answer.ok else mask_answer(answer, host.masker)
    if isinstance(host, Recorder) and answer.ok:
        host.answers[answer.question] = answer
    return answer

"""The process that asks this machine for the screens: questions come in through a pipe, answers go out in any order.

It ends, with everything that it has started, when that pipe is closed: the screens have ended, or somebody ended them.
Like the commands that run apart (``command_child.py``), a parent outlives a thread that hangs in the kernel, and ends
what tools leave behind.

==============================  ====================================================================================
from the screens                ``[[number, question], ...]``; of smoke tests ``{"question": ..., "trace": ...}``
to the screens                  ``{"pid": ..., "problem": ..., "note": ...}`` once; then for each question the header
                                of ``frames.py`` and the answer's bytes; of smoke tests also
                                ``{"told": [what, mode, rank, state]}``
==============================  ====================================================================================
"""

from __future__ import annotations

import _thread
import contextlib
import json
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from rocdoctor.host.base import Answer, Host, Kind
from rocdoctor.host.live.live_host import LiveHost
from rocdoctor.host.live.own_time import OwnTime
from rocdoctor.host.live.quick_questions import look
from rocdoctor.host.live.run_program import end_all
from rocdoctor.host.supervised.command_child import adopt, possible, run_apart
from rocdoctor.host.supervised.frames import Frames, Outlet, answer_header, packed

# So long one question may keep the others waiting; then another thread goes on with them.
_PATIENCE_S = 0.02
_IDLE_LOOK_S = 0.2
# Two looks at threads, with a pause between them.
_AGAIN_S = 1.0
_SLOW = ("run ", "python ")


def main(serve_smoke: Callable[[dict[str, Any], int, int], int]) -> NoReturn:
    """Serve until the screens are gone. The one argument is JSON: ``timeout_s``, ``python``, ``pid``, ``folder``.

    ``serve_smoke`` takes what it says and the two pipes where there is a folder, which smoke tests have.
    """
    settings = json.loads(sys.argv[1])
    source, sink = _private(0), _private(1)

    def work() -> int:
        signal.signal(signal.SIGTERM, _end)
        return (serve_smoke if settings["folder"] else _serve)(settings, source, sink)

    if possible():
        adopt()  # before the first tool may leave something behind
        run_apart(work)
    sys.exit(work())


def _private(number: int) -> int:
    """A standard stream moved out of the reach of programs and of stray prints."""
    moved = os.dup(number)  # not inheritable
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, number)
    os.close(nothing)
    return moved


def _end(*_: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a second one would only break the clearing up
    raise SystemExit(0)


def _serve(settings: dict[str, Any], source: int, sink: int) -> int:
    service = Service(settings, source, sink)
    try:
        service.start()
        service.ended.acquire()
    finally:  # the exit handler of programs would come too late: the parent's is older, so it is the last
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        end_all()
    return 0


class _Quick:
    """This machine without programs and without deadlines: the answer is given in the thread that asks."""

    kind: Kind = "live"
    origin = "this machine"

    def ask(self, question: str) -> Answer:
        return look(question)

    def prefetch(self, questions: Iterable[str]) -> None:
        pass

    def available(self) -> tuple[str, ...]:
        return ()


class _Hand:
    """A thread that reads questions and answers quick ones while it is its turn."""

    __slots__ = ("job", "limit_s", "since", "turn")

    def __init__(self) -> None:
        self.turn = _thread.allocate_lock()
        self.turn.acquire()
        self.job: tuple[int, str] | None = None  # what it is at; None where somebody else has answered that
        self.since = 0.0
        self.limit_s = 0.0


class Service:
    """Answers questions side by side.

    Programs have a thread each. Quick questions are answered one after the other by the thread that reads them, which
    costs no change of threads. Where one hangs, another thread goes on at once; at the deadline its question is
    answered for it, and it is left where it is.
    """

    def __init__(self, settings: dict[str, Any], source: int, sink: int) -> None:
        self.settings = settings
        self.ended = _thread.allocate_lock()
        self.ended.acquire()
        self._frames = Frames(source)
        self._out = Outlet(sink)
        self._lock = threading.Lock()
        self._queue: deque[tuple[int, str]] = deque()
        self._leader = _Hand()
        self._late: list[_Hand] = []
        self._spare: list[_Hand] = []
        self._count = 0  # of quick questions begun

    def start(self) -> None:
        """Say hello and begin."""
        problem, note = self._open()
        self._out.send(packed({"pid": os.getpid(), "problem": problem, "note": note}))
        _thread.start_new_thread(self._work, (self._leader,))
        self._leader.turn.release()
        _thread.start_new_thread(self._watch, ())

    def _open(self) -> tuple[str, str]:
        """(why a job cannot be judged, what cannot be seen of it), each empty where there is nothing to say."""
        timeout_s, python, pid = (self.settings[name] for name in ("timeout_s", "python", "pid"))
        self._quick: Host = _Quick()
        trust = bool(self.settings.get("trust_python"))
        self._live = LiveHost(timeout_s, python, None, trust)
        self._programs: Host = self._live
        if pid is None:
            return "", ""
        from rocdoctor.host.live.running_job import JobError, JobHost, find_job, hidden_of, live_for

        try:
            job = find_job(pid)
        except JobError as error:
            return str(error), ""
        self._live = live_for(job, timeout_s, python, trust)
        self._programs, self._quick = (JobHost(one, job, python is not None) for one in (self._live, self._quick))
        return "", hidden_of(job)

    # -- quick questions

    def _work(self, hand: _Hand) -> None:
        with contextlib.suppress(OSError):  # nobody hears the answer
            while (more := self._turn(hand)) is True:
                with self._lock:
                    self._spare.append(hand)
            if more is None:
                return
        with contextlib.suppress(RuntimeError):
            self.ended.release()

    def _turn(self, hand: _Hand) -> bool | None:
        """Read and answer until another hand does; False at the end, None where it came too late with an answer."""
        hand.turn.acquire()
        while self._leader is hand:
            job = self._next()
            if job is None:
                return False
            hand.since = time.monotonic()
            hand.job = job
            self._count += 1
            answer = _asked(self._quick, job[1])
            with self._lock:
                if hand.job is None:
                    return None
                hand.job = None
                if hand in self._late:
                    self._late.remove(hand)
            self._send(job[0], answer, not self._queue)
        return True

    def _next(self) -> tuple[int, str] | None:
        """The next quick question; programs are started on the way."""
        while not self._queue:
            found = self._frames.next()
            if found is None:
                return None
            for number, question in found[0]:
                if question.startswith(_SLOW):
                    self._begin(number, question)
                else:
                    self._queue.append((number, question))
        return self._queue.popleft()

    def _send(self, number: int, answer: Answer, now: bool = True) -> None:
        self._out.send(packed(answer_header(number, answer), answer.data), now)

    def _watch(self) -> None:
        """Let another hand go on where one hangs, and keep the deadlines."""
        seen = 0
        clock = OwnTime()
        while True:
            busy = self._late or self._leader.job is not None or self._count != seen
            seen = self._count
            lost_s = clock.lost_s
            time.sleep(_PATIENCE_S if busy else _IDLE_LOOK_S)
            clock.now(_IDLE_LOOK_S)
            self._stopped(clock.lost_s - lost_s)
            with contextlib.suppress(OSError):
                self._out.flush()
                for number, question, limit_s in self._overdue():
                    self._live.hung(question, limit_s)
                    note = f"{round(limit_s, 2):g}s" if limit_s else ""
                    answer = Answer(question, "timeout", note=note, seconds=limit_s)
                    self._send(number, answer)

    def _stopped(self, lost_s: float) -> None:
        """This process was stopped that long, and what it waits for may have been: that does not count."""
        if lost_s:
            with self._lock:
                for hand in (self._leader, *self._late):
                    hand.since += lost_s

    def _overdue(self) -> list[tuple[int, str, float]]:
        """The questions, with their deadlines, that are given up now."""
        found: list[tuple[int, str, float]] = []
        now = time.monotonic()
        with self._lock:
            leader = self._leader
            if leader.job is not None and now - leader.since >= _PATIENCE_S:
                leader.limit_s = self._live.deadline_s(leader.job[1])
                leader.limit_s += _AGAIN_S if leader.job[1].endswith(" again") else 0.0
                if (hand := self._another()) is not None:
                    self._late.append(leader)
                    self._leader = hand
                    hand.turn.release()
            for hand in [one for one in self._late if now - one.since >= one.limit_s]:
                self._late.remove(hand)
                if hand.job is not None:
                    found.append((*hand.job, hand.limit_s))
                hand.job = None
        return found

    def _another(self) -> _Hand | None:
        """A hand that is free; None where there can be no more."""
        if self._spare:
            return self._spare.pop()
        hand = _Hand()
        try:
            _thread.start_new_thread(self._work, (hand,))
        except (RuntimeError, MemoryError):
            return None
        return hand

    # -- programs

    def _begin(self, number: int, question: str) -> None:
        try:
            _thread.start_new_thread(self._run, (number, question))
        except (RuntimeError, MemoryError):  # this user may start no more
            self._run(number, question)

    def _run(self, number: int, question: str) -> None:
        self._live.forget()  # who asks again wants to know it anew
        with contextlib.suppress(OSError):
            self._send(number, _asked(self._programs, question))


def _asked(host: Host, question: str) -> Answer:
    try:
        return host.ask(question)
    except Exception as error:  # a question never breaks the rest
        return Answer(question, "failed", note=f"{type(error).__name__}: {error}")

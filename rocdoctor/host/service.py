"""The process that asks this machine for the screens: questions come in through a pipe, answers go out in any order.

It ends, with everything that it has started, when that pipe is closed: the screens have ended, or somebody ended them.
Like the commands that run apart (``apart.py``), a parent outlives a thread that hangs in the kernel, and ends what
tools leave behind.

==============================  ====================================================================================
from the screens                ``[[number, question], ...]``; of smoke tests ``{"question": ..., "trace": ...}``, and
                                later ``{"stop": true}``, which ends figures early
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
from typing import TYPE_CHECKING, Any, NoReturn

from rocdoctor.host.apart import adopt, possible, run_apart
from rocdoctor.host.base import Answer, Host
from rocdoctor.host.frames import Frames, Outlet, answer_header, packed
from rocdoctor.host.live import LiveHost
from rocdoctor.host.running import end_all

if TYPE_CHECKING:
    from rocdoctor.host.job import JobProcess

# So long one question may keep the others waiting; then another thread goes on with them.
_PATIENCE_S = 0.02
_IDLE_LOOK_S = 0.2
_MOST_HANDS = 64
# From the request to end smoke tests until they are ended without being asked.
_END_S = 0.7
_SLOW = ("run ", "python ")


def main() -> NoReturn:
    """Serve until the screens are gone. The one argument is JSON: ``timeout_s``, ``python``, ``pid``, ``folder``."""
    settings = json.loads(sys.argv[1])
    source, sink = _private(0), _private(1)

    def work() -> int:
        serve = _serve_smoke if settings["folder"] else _serve
        return serve(settings, source, sink)

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
    signal.signal(signal.SIGTERM, _end)
    service = Service(settings, source, sink)
    try:
        service.start()
        service.ended.acquire()
    finally:  # the exit handler of programs would come too late: the parent's is older, so it is the last
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        end_all()
    return 0


class _Hand:
    """A thread that reads and answers quick questions while it is its turn, with a live host of its own."""

    __slots__ = ("host", "live", "since", "turn")

    def __init__(self, live: LiveHost, host: Host) -> None:
        self.live, self.host = live, host
        self.since: float | None = None  # when the question began that it is at
        self.turn = _thread.allocate_lock()
        self.turn.acquire()

    def ask(self, question: str) -> Answer:
        self.live.forget()  # who asks again wants to know it anew
        try:
            return self.host.ask(question)
        except Exception as error:  # a question never breaks the rest
            return Answer(question, "failed", note=f"{type(error).__name__}: {error}")


class Service:
    """Answers questions side by side.

    Programs have a thread each. Quick questions are answered one after the other by the thread that reads them, which
    costs no change of threads; where one hangs, another thread goes on.
    """

    def __init__(self, settings: dict[str, Any], source: int, sink: int) -> None:
        self.settings = settings
        self.ended = _thread.allocate_lock()
        self.ended.acquire()
        self._job: JobProcess | None = None
        self._frames = Frames(source)
        self._out = Outlet(sink)
        self._lock = threading.Lock()
        self._queue: deque[tuple[int, str]] = deque()
        self._spare: list[_Hand] = []
        self._hands = 0
        self._count = 0  # of quick questions begun

    def start(self) -> None:
        """Say hello and begin."""
        problem, note = self._find_job()
        self._programs = self._new_hand()
        self._leader = self._new_hand()
        self._out.send(packed({"pid": os.getpid(), "problem": problem, "note": note}))
        self._leader.turn.release()
        _thread.start_new_thread(self._work, (self._leader,))
        _thread.start_new_thread(self._watch, ())

    def _find_job(self) -> tuple[str, str]:
        """(why the job cannot be judged, what cannot be seen of it), each empty where there is nothing to say."""
        if self.settings["pid"] is None:
            return "", ""
        from rocdoctor.host.job import JobError, find_job, hidden_of

        try:
            self._job = find_job(self.settings["pid"])
        except JobError as error:
            return str(error), ""
        return "", hidden_of(self._job)

    def _new_hand(self) -> _Hand:
        timeout_s, python = self.settings["timeout_s"], self.settings["python"]
        if self._job is None:
            live = LiveHost(timeout_s, python)
            return _Hand(live, live)
        from rocdoctor.host.job import JobHost, live_for

        live = live_for(self._job, timeout_s, python)
        return _Hand(live, JobHost(live, self._job, python is not None))

    # -- quick questions

    def _work(self, hand: _Hand) -> None:
        with contextlib.suppress(OSError):  # nobody hears the answer
            while True:
                hand.turn.acquire()
                while self._leader is hand:
                    job = self._next()
                    if job is None:
                        break
                    hand.since = time.monotonic()
                    self._count += 1
                    answer = hand.ask(job[1])
                    with self._lock:
                        hand.since = None
                    self._send(job[0], answer, not self._queue)
                else:
                    with self._lock:
                        self._spare.append(hand)
                    continue
                break
        self._stop()

    def _stop(self) -> None:
        with contextlib.suppress(RuntimeError):
            self.ended.release()

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
        """Let another thread go on where one hangs."""
        seen = 0
        while True:
            busy = self._leader.since is not None or self._count != seen
            seen = self._count
            time.sleep(_PATIENCE_S if busy else _IDLE_LOOK_S)
            with contextlib.suppress(OSError):
                self._out.flush()
            with self._lock:
                since = self._leader.since
                if since is None or time.monotonic() - since < _PATIENCE_S or self._hands >= _MOST_HANDS:
                    continue
                hand = self._spare.pop() if self._spare else None
                if hand is None:
                    hand = self._new_hand()
                    try:
                        _thread.start_new_thread(self._work, (hand,))
                    except (RuntimeError, MemoryError):  # this user may start no more: then they wait
                        continue
                    self._hands += 1
                self._leader = hand
                hand.turn.release()

    # -- programs

    def _begin(self, number: int, question: str) -> None:
        try:
            _thread.start_new_thread(self._run, (number, question))
        except (RuntimeError, MemoryError):  # this user may start no more
            self._run(number, question)

    def _run(self, number: int, question: str) -> None:
        with contextlib.suppress(OSError):
            self._send(number, self._programs.ask(question))


# -- smoke tests: in a process of their own, so that ending it ends them and nothing else


def _serve_smoke(settings: dict[str, Any], source: int, sink: int) -> int:
    """One run of smoke tests, in the main thread, so that a request to end reaches it wherever it is."""
    import tempfile

    from rocdoctor.smoke.live import Aside

    signal.signal(signal.SIGTERM, _end)
    tempfile.tempdir = settings["folder"]
    frames, out = Frames(source), Outlet(sink)
    out.send(packed({"pid": os.getpid(), "problem": "", "note": ""}))
    found = frames.next()
    if found is None:
        return 0
    host = LiveHost(settings["timeout_s"], settings["python"])
    host.smoke_aside = Aside(found[0]["trace"])
    host.told = lambda *words: out.send(packed({"told": words}))
    _thread.start_new_thread(_hear, (frames, host.smoke_aside.stop, settings["folder"]))
    answer = host.smoke(found[0]["question"])
    out.send(packed(answer_header(0, answer), answer.data))
    return 0


def _hear(frames: Frames, stop: threading.Event, folder: str) -> None:
    """Until the screens are gone or want no more: then end, for certain."""
    while frames.next() is not None:
        stop.set()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_END_S)
    import shutil

    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)  # the parent ends what is left

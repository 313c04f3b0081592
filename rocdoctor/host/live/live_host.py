"""The machine that we run on.

Every question has its own deadline, also a plain read: a sick GPU can block a process in the kernel for ever. Reads go
through one daemon thread that is replaced when it gets stuck; programs run side by side, each in its own process
group, which is ended with TERM and then KILL. Nothing here waits without a limit, and nothing uses a shell.
"""

from __future__ import annotations

import _thread
import contextlib
import json
import os
import queue
import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial

from rocdoctor.host.base import Answer, Kind, argv_of, normalise
from rocdoctor.host.live.programs import find_interpreter, find_program, invoking_user, refusal
from rocdoctor.host.live.quick_questions import look, no_such_verb
from rocdoctor.host.live.run_program import GRACE_S, Loading, programs_at_once, run_bounded, threads_fit

# Each in a thread of its own, with a deadline of its own.
_SLOW = ("run ", "python ", "smoke ")
# Every mode has its own deadline; this one is for the day when that fails.
_SMOKE_LIMIT_S = 7200.0
_MANY_STUCK = 20
_STEP_S = 0.25


class _Pending:
    """An answer on its way."""

    __slots__ = ("answer", "began", "done", "taken")

    def __init__(self) -> None:
        self.taken = False  # a thread lives that will answer it
        self.done = threading.Event()
        self.answer: Answer | None = None
        self.began: float | None = None

    def finish(self, answer: Answer) -> None:
        if not self.done.is_set():
            self.answer = answer
            self.done.set()


_Job = tuple[str, "_Pending"]
Verb = Callable[["LiveHost", str], Answer]


class LiveHost:
    """Asks this machine. ``timeout_s`` is the deadline of one question.

    ``verbs``: functions for verbs that other rooms bring (``smoke``), called with this host and the question.
    """

    kind: Kind = "live"
    origin = "this machine"

    def __init__(
        self,
        timeout_s: float = 5.0,
        python: str | None = None,
        environment: Mapping[str, str] | None = None,
        trust_python: bool = False,
        verbs: Mapping[str, Verb] | None = None,
    ) -> None:
        self.timeout_s = timeout_s
        self.python = python
        self.environment = environment  # of the interpreter under test, where it is not our own
        self.trust_python = trust_python  # root runs it whoever can change it
        self.told: Callable[[str, str, int, str], None] | None = None  # hears how far smoke tests are
        self.aside: object = None  # what belongs to one run of theirs and not to its question
        self._verbs = dict(verbs or {})
        self._pending: dict[str, _Pending] = {}
        self._lock = threading.Lock()
        self._slots = threading.BoundedSemaphore(programs_at_once())
        self._probed: dict[str, str] = {}  # question to an interpreter -> its path
        self._judging: dict[str, str] = {}  # question to an interpreter -> its path, while root looks who can change it
        self._loading: dict[str, Loading] = {}
        self._stuck: list[str] = []  # the folders of files whose reading hangs
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._reading = self._start_reader()

    # -- the protocol

    def available(self) -> tuple[str, ...]:
        return ()

    def prefetch(self, questions: Iterable[str]) -> None:
        for question in questions:
            self._begin(question)

    def ask(self, question: str) -> Answer:
        pending = self._begin(question)
        slow = question.startswith(_SLOW)
        limit = self.deadline_s(question)
        waited = 0
        while not _wait(pending.done, limit):
            began = pending.began
            waited += 1
            loading = self._loading.get(question)
            if began is not None and time.monotonic() - began >= limit and not (loading and loading.busy):
                pending.finish(self._late(question, limit))
                if not slow:
                    self.hung(question)
            if slow and not pending.taken and waited > 1:
                pending.finish(Answer(question, "failed", note="MemoryError: its thread did not start"))
            if not slow and waited > 1 and not self._lived:
                self._read_here()
            elif not slow:  # it hangs, or stands behind one that does
                self._replace_reader()
        return pending.answer or Answer(question, "failed", note="MemoryError: too little for the answer")

    def forget(self) -> None:
        """Let the next asking of a question look again: for what changes while one watches."""
        with self._lock:
            self._pending.clear()

    # -- how it works

    def hung(self, question: str) -> None:
        """Keep in mind that a read gave no answer."""
        self._stuck.append(question.rpartition("/")[0])

    def deadline_s(self, question: str) -> float:
        """How long to wait. Programs keep their own deadline, so they get a little longer here.

        After one stuck read the device is known to be sick: the next ones get little time, least in the same folder
        and after many, so that the whole run ends soon after one deadline.
        """
        if question.startswith("smoke "):
            soak = re.search(r" soak=([0-9]{1,4}(?:\.[0-9]{1,4})?)\b", question)
            return _SMOKE_LIMIT_S + (60.0 * float(soak[1]) if soak else 0.0)
        if question.startswith(("run ", "python ")):
            return self.timeout_s + 2 * GRACE_S + 1.0
        if not self._stuck:
            return self.timeout_s
        known = len(self._stuck) > _MANY_STUCK or question.rpartition("/")[0] in self._stuck
        return min(self.timeout_s, 0.05 if known else 0.2)

    def _begin(self, question: str) -> _Pending:
        with self._lock:
            pending = self._pending.get(question)
            if pending is not None:
                return pending
            pending = self._pending[question] = _Pending()
        if question.startswith(_SLOW):
            target = self._slow(question.split(" ", 1)[0])
            if not _start(self._slot, target, question, pending):  # one after the other then
                self._slot(target, question, pending)
        else:
            self._jobs.put((question, pending))
            if not self._reading:
                self._read_one(self._jobs.get_nowait())
        return pending

    def _slow(self, verb: str) -> Callable[[str], Answer]:
        if verb in self._verbs:
            return partial(self._verbs[verb], self)
        return {"run": self._run, "python": self._probe}.get(verb, no_such_verb)

    def _slot(self, function: Callable[[str], Answer], question: str, pending: _Pending) -> None:
        pending.taken = True
        try:
            with self._slots:
                pending.began = time.monotonic()
                try:
                    answer = function(question)
                except Exception as error:  # a question never breaks the tool
                    answer = Answer(question, "failed", note=f"{type(error).__name__}: {error}")
            pending.finish(replace(answer, seconds=time.monotonic() - pending.began))
        except MemoryError:  # the asker has words for it
            pass
        finally:
            pending.done.set()

    def _start_reader(self) -> bool:
        """Whether there is a thread that reads; without one, questions are answered as they come."""
        self._lived: list[bool] = []  # filled by the reader's first step
        return _start(self._read_for_ever, self._jobs, self._lived)

    def _read_here(self) -> None:
        """No thread gets as far as its first step: answer what waits, and all that follows, without one."""
        self._reading = False
        with contextlib.suppress(queue.Empty):
            while True:
                self._read_one(self._jobs.get_nowait())

    def _replace_reader(self) -> None:
        """The reader hangs in the kernel: leave it there, and let a new one go on with the rest."""
        with self._lock:
            old, self._jobs = self._jobs, queue.SimpleQueue()
            with contextlib.suppress(queue.Empty):
                while True:
                    self._jobs.put(old.get_nowait())
            old.put(None)
        self._start_reader()

    @staticmethod
    def _read_for_ever(jobs: queue.SimpleQueue[_Job | None], lived: list[bool]) -> None:
        lived.append(True)
        more = True
        while more:
            with contextlib.suppress(MemoryError):
                job = jobs.get()
                more = job is not None
                LiveHost._read_one(job)

    @staticmethod
    def _read_one(job: _Job | None) -> None:
        if job is None or job[1].done.is_set():
            return
        question, pending = job
        try:
            pending.began = time.monotonic()
            pending.finish(look(question))
        finally:
            pending.done.set()  # also where memory is too short for words

    def _run(self, question: str) -> Answer:
        argv = argv_of(question)
        program = find_program(argv[0]) if argv else None
        if program is None:
            why = refusal(argv[0]) if argv else ""
            return Answer(question, "failed", note=why) if why else Answer(question, "absent")
        return run_bounded(question, [program, *(os.path.expanduser(part) for part in argv[1:])], self.timeout_s)

    def _probe(self, question: str) -> Answer:
        words = question.split(" ")[1:]
        if invoking_user() is not None and words[:1] == ["default"] and not self.python:
            return Answer(
                question, "failed", note="run through sudo: root's interpreter is not the user's (--python PATH)"
            )
        which = self.python if words[:1] == ["default"] else os.path.expanduser(words[0])
        interpreter = find_interpreter(which)
        if interpreter is None:
            return Answer(question, "absent", note="no Python interpreter found")
        from rocdoctor.host.live.interpreter import PROBE, chosen

        self._judging[question] = interpreter
        how = chosen(interpreter, "import" if "--import" in words else "start", self.environment, self.trust_python)
        del self._judging[question]
        if pending := self._pending.get(question):
            pending.began = time.monotonic()  # the time of the interpreter itself begins now
        if how.refused:
            return Answer(question, "failed", note=how.refused)
        options = [word for word in words[1:] if not how.not_imported or word != "--import"]
        options += ["--not-imported", how.not_imported] if how.not_imported else []
        self._probed[question] = interpreter
        # Importing torch reads gigabytes from a cold disk: as long as it reads, it may take longer than others.
        self._loading[question] = loading = Loading(self.timeout_s * 3)
        argv = [interpreter, "-B", str(PROBE), *options]
        return self._naming(run_bounded(question, argv, self.timeout_s, how.environment, how.who, loading=loading))

    def _late(self, question: str, limit: float) -> Answer:
        """The answer to a question whose time is over."""
        if judged := self._judging.get(question):
            why = f"root runs only what nobody else can change, and looking at its files took more than {limit:g}s"
            return Answer(question, "failed", note=f"{judged} was not run: {why}", seconds=limit)
        late = Answer(question, "timeout", note=f"{limit:g}s", seconds=limit)
        return self._naming(late) if question.startswith("python ") else late

    def _naming(self, answer: Answer) -> Answer:
        """The answer of an interpreter that has not told about itself, with its path in front."""
        told = answer.ok and not answer.truncated and b'"part": "static"' in answer.data
        if told or answer.status == "failed":  # the note of a failure names it
            return answer
        path = self._probed.get(answer.question) or self.python or answer.question.split(" ")[1]
        line = json.dumps({"schema": "rocdoctor.probe/1", "part": "asked", "interpreter": path})
        return replace(answer, data=normalise(line.encode() + b"\n" + answer.data), complete=False)


def _wait(event: threading.Event, seconds: float) -> bool:
    """Wait in steps: Python does not see a signal that comes just before a wait begins until the wait is over."""
    until = time.monotonic() + seconds
    while not event.wait(max(0.0, min(_STEP_S, until - time.monotonic()))):
        if time.monotonic() >= until:
            return False
    return True


def _start(function: Callable[..., None], *arguments: object) -> bool:
    """Start a daemon thread; False where this user may start no more, or has no memory for it.

    Not ``threading.Thread``, which waits for the first step of a thread that may never take it: where memory is short
    it dies before.
    """
    if not threads_fit():
        return False
    try:
        _thread.start_new_thread(function, arguments)
    except (RuntimeError, MemoryError):
        return False
    return True

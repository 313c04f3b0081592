"""The machine that we run on.

Every question has its own deadline, also a plain read: a sick GPU can block a process in the kernel for ever. Reads go
through one daemon thread that is replaced when it gets stuck; programs run side by side, each in its own process
group, which is ended with TERM and then KILL. Nothing here waits without a limit, and nothing uses a shell.
"""

from __future__ import annotations

import contextlib
import json
import queue
import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial

from rocdoctor.host.base import Answer, Kind, argv_of, normalise
from rocdoctor.host.live.accounts import expanded
from rocdoctor.host.live.own_time import OwnTime, left_s
from rocdoctor.host.live.patience import Looking, Patience, heard
from rocdoctor.host.live.programs import (
    find_interpreter,
    find_program,
    folder_s,
    interpreter_named,
    invoking_user,
    refusal,
    silence,
    silent,
)
from rocdoctor.host.live.quick_questions import look, no_such_verb
from rocdoctor.host.live.run_program import GRACE_S, Loading, programs_at_once, run_bounded, start_thread

# Each in a thread of its own, with a deadline of its own.
_SLOW = ("run ", "python ", "smoke ")
# Every mode has its own deadline; this one is for the day when that fails.
_WALK_S = 0.5  # at least, for a walk over all processes: it does not hang where a device does
_SMOKE_LIMIT_S = 7200.0
_STEP_S = 0.25
# A thread that has not taken its first step by then never does.
_LIVE_S = 1.0
# What a program may take beyond its own deadline: it is asked to end, then ended, and that takes a while to be seen.
_ENDING_S = 2 * GRACE_S + 0.4


class _Pending:
    """An answer on its way."""

    __slots__ = ("answer", "began", "done", "limit_s", "runs", "slot", "taken")

    def __init__(self) -> None:
        self.taken = False  # a thread lives that will answer it
        self.slot = False  # it holds one of the places of programs
        self.runs = False  # its program was found and is started
        self.limit_s = 0.0  # of that program
        self.done = threading.Event()
        self.answer: Answer | None = None
        self.began: float | None = None

    def finish(self, answer: Answer) -> None:
        if not self.done.is_set():
            self.answer = answer
            self.done.set()


_Job = tuple[str, "_Pending"]
Verb = Callable[["LiveHost", str], Answer]


class _Reader:
    """What one thread reads, one after the other. ``lived``: it has taken its first step; ``job``: what it is at."""

    __slots__ = ("job", "jobs", "lived", "since")

    def __init__(self, jobs: queue.SimpleQueue[_Job | None]) -> None:
        self.jobs = jobs
        self.since = time.monotonic()
        self.job: _Job | None = None
        self.lived = False

    def read_for_ever(self) -> None:
        """Until there is an empty job."""
        self.lived = more = True
        while more:
            with contextlib.suppress(MemoryError):
                job = self.jobs.get()
                more = job is not None
                self.read(job)

    def read(self, job: _Job | None) -> None:
        """Answer one question, unless somebody has done so."""
        if job is None or job[1].done.is_set():
            return
        question, pending = job
        try:
            pending.began = time.monotonic()
            self.job = job
            pending.finish(look(question))
        finally:
            self.job = None
            pending.done.set()  # also where memory is too short for words


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
        patience: Patience | None = None,
    ) -> None:
        self.timeout_s = timeout_s
        self.patience = patience or Patience(timeout_s)
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
        self._at_work: dict[str, Loading | Looking] = {}
        self._silent: list[str] = []
        self._lived = False  # an earlier reader
        self._mute = False  # no reader can be had any more
        self._reader = _Reader(queue.SimpleQueue())
        self._reading = start_thread(self._reader.read_for_ever)  # without a thread questions are answered as they come

    # -- the protocol

    def available(self) -> tuple[str, ...]:
        return ()

    def prefetch(self, questions: Iterable[str]) -> None:
        for question in questions:
            self._begin(question)

    def ask(self, question: str) -> Answer:
        pending = self._begin(question)
        slow = question.startswith(_SLOW)
        asked = time.monotonic()
        clock = OwnTime()
        while not pending.done.is_set():
            limit = self._limit_s(question, pending)
            left = left_s(pending.began, asked, limit, clock.now(_STEP_S))
            if left > 0 or ((at_work := self._at_work.get(question)) and at_work.busy):
                pending.done.wait(min(max(left, 0.0) or _STEP_S, _STEP_S))  # see wait() of patience.py
            elif pending.began is not None:
                self._give_up(question, pending, limit)
            elif slow and not pending.taken:
                pending.finish(Answer(question, "failed", note="MemoryError: its thread did not start"))
            elif slow:  # all places of programs are taken
                self._give_up_others()
                asked = time.monotonic()
            elif not self._reader.lived and time.monotonic() - self._reader.since > _LIVE_S:
                self._without_thread(question, pending, limit)
            else:  # it stands behind another one
                pending.done.wait(self._other_s())
        return pending.answer or Answer(question, "failed", note="MemoryError: too little for the answer")

    def forget(self) -> None:
        """Let the next asking of a question look again: for what changes while one watches."""
        with self._lock:
            self._pending.clear()

    # -- how it works

    def hung(self, question: str, waited_s: float) -> None:
        """Keep in mind that a question gave no answer."""
        self.patience.hung(question.rpartition("/")[0], waited_s)

    def deadline_s(self, question: str) -> float:
        """How long to wait for what is read; 0: it is not begun."""
        limit_s = self.patience.limit_s(question.rpartition("/")[0])
        return max(limit_s, _WALK_S) if question.startswith("holders ") else limit_s

    def _limit_s(self, question: str, pending: _Pending) -> float:
        """How long to wait. Programs keep their own deadline, so they get a little longer here."""
        if question.startswith("smoke "):
            soak = re.search(r" soak=([0-9]{1,4}(?:\.[0-9]{1,4})?)\b", question)
            return _SMOKE_LIMIT_S + (60.0 * float(soak[1]) if soak else 0.0)
        if question.startswith(_SLOW):
            return pending.limit_s + (_ENDING_S if pending.runs else 0.0)
        return self.deadline_s(question)

    def _give_up(self, question: str, pending: _Pending, limit_s: float) -> None:
        """Answer for one that has taken too long; it is left where it is."""
        slow = question.startswith(_SLOW)
        pending.finish(self._late(question, pending.limit_s if slow else limit_s))
        self.hung(question, limit_s)
        if slow:
            self._free(pending)
        else:
            self._replace_reader()

    def _give_up_others(self) -> None:
        """So that one that waits gets its turn: also those that nobody asks for may hang."""
        now = time.monotonic()
        with self._lock:
            holders = [(question, one) for question, one in self._pending.items() if one.slot]
        for question, one in holders:
            limit = self._limit_s(question, one)
            if one.began is not None and now - one.began >= limit:
                self._give_up(question, one, limit)

    def _free(self, pending: _Pending) -> None:
        with self._lock:
            held, pending.slot = pending.slot, False
        if held:
            self._slots.release()

    def _begin(self, question: str) -> _Pending:
        with self._lock:
            pending = self._pending.get(question)
            if pending is not None:
                return pending
            pending = self._pending[question] = _Pending()
        if question.startswith(_SLOW):
            pending.limit_s = self.patience.program_limit_s(question)
            target = self._slow(question.split(" ", 1)[0])
            if not start_thread(self._slot, target, question, pending):  # one after the other then
                self._slot(target, question, pending)
        elif self._mute or self.deadline_s(question) <= 0:
            pending.finish(Answer(question, "timeout", seconds=0.0))
        else:
            self._reader.jobs.put((question, pending))
            if not self._reading:
                self._reader.read(self._reader.jobs.get_nowait())
        return pending

    def _slow(self, verb: str) -> Callable[[str], Answer]:
        if verb in self._verbs:
            return partial(self._verbs[verb], self)
        return {"run": self._run, "python": self._probe}.get(verb, no_such_verb)

    def _slot(self, function: Callable[[str], Answer], question: str, pending: _Pending) -> None:
        pending.taken = True
        try:
            self._slots.acquire()
            pending.slot = True
            pending.began = began = time.monotonic()
            try:
                answer = function(question)
            except Exception as error:  # a question never breaks the tool
                told = error.strerror if isinstance(error, OSError) and error.filename is None else None
                answer = Answer(question, "failed", note=told or f"{type(error).__name__}: {error}")
            pending.finish(replace(answer, seconds=time.monotonic() - began))
        except MemoryError:  # the asker has words for it
            pass
        finally:
            self._free(pending)
            pending.done.set()

    def _without_thread(self, question: str, pending: _Pending, limit: float) -> None:
        """No thread gets as far as its first step: answer what waits, and all that follows, without one.

        Not where one has lived before: then something hangs, and the C library looks at /sys for a new thread's memory.
        """
        if self._lived:
            self._mute = True
            self._give_up(question, pending, limit)
            return
        self._reading = False
        with contextlib.suppress(queue.Empty):
            while True:
                self._reader.read(self._reader.jobs.get_nowait())

    def _other_s(self) -> float:
        """Until when to wait for the question that is being read; it is given up where its time is over."""
        job = self._reader.job
        if job is None:  # it is about to begin
            return 0.001
        question, pending = job
        limit = self.deadline_s(question)
        left = left_s(pending.began, 0.0, limit, time.monotonic())
        if left <= 0:
            self._give_up(question, pending, limit)
        return min(max(left, 0.0), _STEP_S)

    def _replace_reader(self) -> None:
        """The reader hangs in the kernel: leave it there, and let a new one go on with the rest."""
        with self._lock:
            old, self._reader = self._reader, _Reader(queue.SimpleQueue())
            self._lived = self._lived or old.lived
            with contextlib.suppress(queue.Empty):
                while True:
                    self._reader.jobs.put(old.jobs.get_nowait())
            old.jobs.put(None)
        start_thread(self._reader.read_for_ever)

    def _run(self, question: str) -> Answer:
        argv = argv_of(question)
        self._at_work[question] = looking = Looking(self.patience.program_limit_s(question))
        with heard(looking.step):
            program = find_program(argv[0]) if argv else None
        self._at_work.pop(question, None)  # the same question may be asked again when nobody waits for this answer
        self._hear_of_silent()
        if program is None:
            why = refusal(argv[0]) or silence() if argv else ""
            return Answer(question, "failed", note=why) if why else Answer(question, "absent")
        limit_s = self._starts(question)
        words = [program, *map(expanded, argv[1:])]
        return run_bounded(question, words, limit_s, begun=partial(self._counts, question))

    def _hear_of_silent(self) -> None:
        """Folders of programs that gave no answer are no news to questions about what lies there."""
        with self._lock:
            fresh = [one for one in silent() if one not in self._silent]
            self._silent += fresh
        for one in fresh:
            self.patience.hung(one, folder_s())

    def _starts(self, question: str) -> float:
        """The program of a question is found and begins now: how long it may take."""
        pending = self._pending.get(question)
        if pending is None:  # forgotten meanwhile
            return self.patience.program_limit_s(question)
        pending.runs = True
        self._counts(question)
        return pending.limit_s

    def _counts(self, question: str) -> None:
        """From here on its time counts: to find, judge and start a program is slow on a busy machine."""
        if pending := self._pending.get(question):
            pending.began = time.monotonic()

    def _probe(self, question: str) -> Answer:
        words = question.split(" ")[1:]
        if invoking_user() is not None and words[:1] == ["default"] and not self.python:
            why = "run through sudo: root's interpreter is not the user's (--python PATH)"
            return Answer(question, "failed", note=why)
        which = self.python if words[:1] == ["default"] else expanded(words[0])
        self._probed[question] = interpreter_named(which)
        interpreter = find_interpreter(which)
        self._hear_of_silent()
        if interpreter is None:
            named = self.python if words[:1] == ["default"] else None
            note = f"{named} is not there, or not a program" if named else "no Python interpreter found"
            return Answer(question, "failed" if named else "absent", note=note)
        from rocdoctor.host.live.interpreter import chosen

        self._at_work[question] = looking = Looking(self.patience.program_limit_s(question))
        self._judging[question] = interpreter
        how = chosen(
            interpreter, "import" if "--import" in words else "start", self.environment, self.trust_python, looking.step
        )
        self._judging.pop(question, None)
        if how.refused:
            return Answer(question, "failed", note=how.refused)
        options = [word for word in words[1:] if not how.not_imported or word != "--import"]
        options += ["--not-imported", how.not_imported] if how.not_imported else []
        self._probed[question] = interpreter
        # Importing torch reads gigabytes from a cold disk: as long as it reads, it may take longer than others.
        limit_s = self._starts(question)
        self._at_work[question] = loading = Loading(limit_s * 3)
        argv, environment = how.command(options)
        begun = partial(self._counts, question)
        return self._naming(run_bounded(question, argv, limit_s, environment, how.who, loading=loading, begun=begun))

    def _late(self, question: str, limit: float) -> Answer:
        """The answer to a question whose time is over."""
        if judged := self._judging.get(question):
            why = f"root runs only what nobody else can change, and looking at its files took more than {limit:g}s"
            return Answer(question, "failed", note=f"{judged} was not run: {why}", seconds=limit)
        if question.startswith("run ") and (pending := self._pending.get(question)) and not pending.runs:
            why = f"{question.split()[1]} was not run: finding it and who can change it took more than {limit:g}s"
            return Answer(question, "failed", note=why, seconds=limit)
        late = Answer(question, "timeout", note=f"{round(limit, 2):g}s", seconds=limit)
        return self._naming(late) if question.startswith("python ") else late

    def _naming(self, answer: Answer) -> Answer:
        """The answer of an interpreter that has not told about itself, with its path in front."""
        told = answer.ok and not answer.truncated and b'"part": "static"' in answer.data
        if told or answer.status == "failed":  # the note of a failure names it
            return answer
        path = self._probed.get(answer.question) or self.python or answer.question.split(" ")[1]
        line = json.dumps({"schema": "rocdoctor.probe/1", "part": "asked", "interpreter": path})
        return replace(answer, data=normalise(line.encode() + b"\n" + answer.data), complete=False)

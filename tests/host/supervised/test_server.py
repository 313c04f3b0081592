"""How the process that asks for the screens goes on where a read hangs."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator

import pytest

from rocdoctor.host.base import Answer
from rocdoctor.host.live import quick_questions
from rocdoctor.host.supervised.frames import Frames, answer_of, packed
from rocdoctor.host.supervised.server import Service
from tests.sick.kit import GIVE_UP_S, MARGIN_S

pytestmark = pytest.mark.live


class _Asking:
    """A service in this process, and the other ends of its pipes."""

    def __init__(self, timeout_s: float) -> None:
        self._source, self._to = os.pipe()
        self._from, self._sink = os.pipe()
        self._open: dict[int, str] = {}
        self._number = 0
        self.frames = Frames(self._from)
        self.service = Service({"timeout_s": timeout_s, "python": None, "pid": None}, self._source, self._sink)
        self.service.start()
        self.hello = self.frames.next()

    def send(self, questions: list[str]) -> None:
        first = self._number
        self._number += len(questions)
        self._open |= dict(enumerate(questions, first))
        os.write(self._to, packed(list(enumerate(questions, first))))

    def answers(self, count: int) -> list[Answer]:
        """So many of the next answers, in the order in which they come, each once."""
        found = []
        for _ in range(count):
            frame = self.frames.next()
            assert frame is not None
            found.append(answer_of(self._open.pop(frame[0][0]), *frame))
        return found

    def end(self) -> None:
        os.close(self._to)
        assert self.service.ended.acquire(timeout=GIVE_UP_S)


@pytest.fixture
def sick(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Reads below /sick hang until the event is set."""
    released = threading.Event()

    def read(question: str) -> Answer:
        if question.startswith("read /sick/"):
            released.wait(GIVE_UP_S)
        return Answer(question, "ok", question.encode())

    monkeypatch.setitem(quick_questions._QUICK, "read", read)
    yield released
    released.set()


def test_other_questions_go_on_while_one_hangs(sick: threading.Event) -> None:
    asking = _Asking(timeout_s=GIVE_UP_S)
    questions = ["read /a", "read /sick/1", "read /b", "read /sick/2", "run no-such-program", "read /c"]
    asking.send(questions)
    first = asking.answers(4)
    assert {one.question for one in first} == {"read /a", "read /b", "read /c", "run no-such-program"}
    sick.set()
    rest = asking.answers(2)
    assert {(one.question, one.status) for one in rest} == {("read /sick/1", "ok"), ("read /sick/2", "ok")}
    asking.send(["read /d"])
    assert asking.answers(1)[0].text == "read /d"
    asking.end()


def test_a_device_that_holds_every_read_costs_one_deadline(sick: threading.Event) -> None:
    asking = _Asking(timeout_s=2.0)
    questions = [f"read /sick/{number}" for number in range(60)]
    began = time.monotonic()
    asking.send(questions)
    answers = asking.answers(60)
    assert [one.status for one in answers] == ["timeout"] * 60
    assert sorted(one.question for one in answers) == sorted(questions)
    assert answers[0].note == "2s"
    assert time.monotonic() - began < MARGIN_S  # a deadline each would be 120 s
    asking.send(["read /sick/x", "read /elsewhere/x"])  # it is known to be sick by now
    assert {(one.question, one.status) for one in asking.answers(2)} == {
        ("read /sick/x", "timeout"),
        ("read /elsewhere/x", "ok"),
    }
    sick.set()  # what comes now comes too late, and is not said twice
    for number in range(50):
        asking.send([f"read /other/{number}"])
        assert asking.answers(1)[0].text == f"read /other/{number}"
    asking.end()


def test_the_end_of_the_questions_is_heard_while_one_hangs(sick: threading.Event) -> None:
    asking = _Asking(timeout_s=GIVE_UP_S)
    asking.send(["read /sick/1"])
    asking.end()

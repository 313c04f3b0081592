"""What was made of answers is kept for as long as they are the same, and a GPU that fell asleep is left asleep."""

from __future__ import annotations

from rocdoctor.collect.gpus.asleep import all_awake
from rocdoctor.collect.gpus.same_answers import SameAnswers
from rocdoctor.host.base import Answer, Host
from tests.tui.thermals.live_kit import LiveFixture

_STATE, _HEAT = "read /sys/gpu/power/runtime_status", "read /sys/gpu/temp1_input"


class _Gpu(LiveFixture):
    """A GPU of two files."""

    def __init__(self) -> None:
        super().__init__("mi300x-8gpu")
        self.files = {_STATE: "active", _HEAT: "40000"}
        self.asked = []

    def ask(self, question: str) -> Answer:
        self.asked.append(question)
        return Answer(question, "ok", self.files[question].encode())


def _read(host: Host) -> str:
    state = host.ask(_STATE).text
    return state if state == "suspended" else f"{state} {host.ask(_HEAT).text}"


def test_answers_that_are_the_same_are_not_read_anew() -> None:
    host, seen, made = _Gpu(), SameAnswers(), list[str]()

    def read(asked: Host) -> str:
        made.append(_read(asked))
        return made[-1]

    assert [seen.made("gpu", host, read) for _ in range(3)] == ["active 40000"] * 3
    assert len(made) == 1
    host.files[_HEAT] = "90000"
    assert seen.made("gpu", host, read) == "active 90000"
    assert len(made) == 2


def test_a_gpu_that_has_fallen_asleep_is_asked_nothing_that_wakes_it() -> None:
    host, seen = _Gpu(), SameAnswers()
    seen.made("gpu", host, _read)
    before = {question: text.encode() for question, text in host.files.items()}
    assert all_awake(host, before)
    host.files[_STATE] = "suspended"
    host.asked = []
    assert not all_awake(host, before)
    assert seen.made("gpu", host, _read) == "suspended"
    assert _HEAT not in host.asked
    assert not all_awake(host, {_STATE: b"suspended"}), "it slept then as well"


def test_what_was_made_for_one_host_is_not_given_to_another() -> None:
    seen = SameAnswers()
    live, folder = _Gpu(), _Gpu()
    folder.kind = "folder"
    assert [seen.made("pci", one, lambda host: host.kind) for one in (live, folder)] == [live.kind, "folder"]

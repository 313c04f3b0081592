"""What a machine left unanswered is kept, and the report says it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rocdoctor.collect import collect
from rocdoctor.collect.unanswered import NotingHost, unanswered
from rocdoctor.host.base import Answer
from rocdoctor.host.evidence.capture import CaptureHost, parse
from rocdoctor.host.overlay import OverlayHost
from rocdoctor.model.facts import Unanswered
from rocdoctor.report.diagnosis.unanswered import unanswered_lines
from tests.kit import ROOT

_NAME = "read /sys/class/x"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Answer(_NAME, "timeout", note="5s"), "timeout"),
        (Answer(_NAME, "denied"), "denied"),
        (Answer(_NAME, "failed", note="Input/output error"), "failed"),
        (Answer(_NAME, "failed", note="cannot start /usr/bin/x: Too many open files"), "failed"),
        (Answer(_NAME, "failed", note="MemoryError: "), "failed"),
        (Answer(_NAME, "failed", note="the process that asks this machine ended with status 3"), "failed"),
        (Answer(_NAME, "failed", note="Invalid argument"), None),
        (Answer(_NAME, "failed", note="not a regular file"), None),
        (Answer("python default --import", "failed", note="root does not run it"), "not asked"),
        (Answer("python default", "failed", note="Input/output error"), "failed"),
        (Answer("python default", "absent", note="no Python interpreter found"), None),
        (Answer(_NAME, "absent"), None),
        (Answer(_NAME, "not-asked"), None),
        (Answer(_NAME, "ok"), None),
        (Answer(_NAME, "ok", truncated=True), "cut"),
    ],
)
def test_silence_is_told_from_absence_and_from_files_that_a_healthy_driver_refuses(
    answer: Answer, reason: str | None
) -> None:
    found = unanswered(answer)
    assert (found.reason if found else None) == reason


def test_each_question_counts_once() -> None:
    class One(CaptureHost):
        def ask(self, question: str) -> Answer:
            return Answer(question, "timeout", note="5s")

    host = NotingHost(One(parse(b"rocdoctor capture 1\n"), "x"))
    for name in ("read /a", "read /b", "read /a"):
        host.ask(name)
    assert [one.question for one in host.unanswered] == ["read /a", "read /b"]


def test_a_collected_machine_knows_what_was_not_answered() -> None:
    host = CaptureHost(parse((ROOT / "fixtures" / "rx7900xtx-2gpu.capture").read_bytes()), "x")
    assert collect(host).unanswered == ()
    sick = [Answer("run rocminfo", "timeout", note="5s"), Answer("read /proc/meminfo", "denied")]
    machine = collect(OverlayHost(host, {one.question: one for one in sick}))
    # A replay asks for the outputs that are at hand, and an output that did not come is not.
    assert Unanswered("read /proc/meminfo", "denied", "permission denied") in machine.unanswered


def test_the_lines_name_some_and_count_the_rest() -> None:
    found = [Unanswered(f"read /{number}", "timeout", "within 5s") for number in range(5)]
    assert unanswered_lines(()) == []
    assert unanswered_lines(found) == [
        "5 questions were not answered in time: read /0 (within 5s); read /1 (within 5s); read /2 (within 5s); "
        "and 2 more (--verbose lists them)"
    ]
    assert unanswered_lines(found[:1], True) == ["1 question was not answered in time: read /0 (within 5s)"]
    assert "read /4" in unanswered_lines(found, True)[0]
    refused = unanswered_lines([replace(found[0], reason="denied", question="read /\x1b[31mx")])
    assert refused == ["1 question was refused (permission denied): read /x"]


def test_an_interpreter_that_was_not_asked_is_said_in_words() -> None:
    found = [Unanswered("python default", "not asked", "root does not run /x/python")]
    said = "1 question was not asked: the Python interpreter (root does not run /x/python)"
    assert unanswered_lines(found) == [said]

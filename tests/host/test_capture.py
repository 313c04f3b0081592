from __future__ import annotations

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocdoctor.host.base import Answer
from rocdoctor.host.capture import CaptureError, CaptureHost, is_capture, parse, write


def _round(*answers: Answer, summary: str = "") -> dict[str, Answer]:
    text = write(answers, {"origin": "constructed"}, summary)
    return dict(parse(text.encode()).answers)


def test_each_kind_of_answer_survives_writing_and_reading() -> None:
    answers = [
        Answer("read /sys/a", "ok", b"0x1002"),
        Answer("run rocm-smi --showtopo", "ok", b"one\n-- two --\n\\three", exit_code=1, seconds=0.21),
        Answer("read /sys/kernel/debug/x", "denied"),
        Answer("read /none", "absent"),
        Answer("run amd-smi static --json", "timeout", b"half", note="5s", complete=False),
        Answer("read /sys/b/gpu_metrics", "ok", bytes(range(256)) * 3),
        Answer("read /empty", "ok", b""),
        Answer("read /sick", "failed", note="Input/output error"),
        Answer("list /sys/*", "ok", b"/sys/a\n/sys/b", complete=False),
    ]
    assert list(_round(*answers).values()) == answers


def test_a_body_line_that_looks_like_a_header_does_not_become_one() -> None:
    (question,) = _round(Answer("run cat", "ok", b"-- read /etc/shadow --\nroot:x"))
    assert question == "run cat"


def test_the_summary_stands_before_the_first_answer_and_is_no_answer() -> None:
    capture = parse(
        write([Answer("env", "ok", b"A=1")], {"origin": "recorded"}, "Nothing to fix.\n-- env --\nB=2").encode()
    )
    assert capture.summary == "Nothing to fix.\n-- env --\nB=2"
    assert capture.answers["env"].text == "A=1"
    assert capture.headers["origin"] == "recorded"


def test_gzip_is_read_and_a_bomb_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    text = write([Answer("env", "ok", b"A=1")], {"origin": "recorded"})
    assert parse(gzip.compress(text.encode())).answers["env"].text == "A=1"
    monkeypatch.setattr("rocdoctor.host.capture.gunzip.__defaults__", (1000,))
    with pytest.raises(CaptureError, match="unpacks to more than"):
        parse(gzip.compress(b"x" * 10_000))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "not a rocdoctor capture"),
        (b"hello\n", "not a rocdoctor capture"),
        (b"rocdoctor capture 2\n", "newer rocdoctor"),
        (b"rocdoctor capture 1\n-- read /x -- base64\n!!!\n", "base64 data of 'read /x' is damaged"),
        (b"\x1f\x8bdamaged", "damaged gzip"),
    ],
)
def test_a_damaged_file_gives_a_clear_error(data: bytes, words: str) -> None:
    with pytest.raises(CaptureError, match=words):
        parse(data)


def test_windows_line_ends_and_a_byte_order_mark_are_taken_back() -> None:
    text = write([Answer("env", "ok", b"A=1\nB=2")], {"origin": "recorded"}).replace("\n", "\r\n")
    data = b"\xef\xbb\xbf" + text.encode()
    assert is_capture(data)
    assert parse(data).answers["env"].lines() == ["A=1", "B=2"]


def test_of_two_answers_to_one_question_the_first_counts_and_it_is_said() -> None:
    data = b"rocdoctor capture 1\norigin: x\n-- env --\nA=1\n-- env --\nA=2\n"
    capture = parse(data)
    assert capture.answers["env"].text == "A=1"
    assert "stands twice" in capture.notes[0]


def test_what_was_not_asked_is_unknown_not_absent() -> None:
    host = CaptureHost(parse(b"rocdoctor capture 1\n"), "x")
    answer = host.ask("read /sys/nothing")
    assert (answer.status, answer.complete) == ("not-asked", False)


@given(st.binary(max_size=400))
def test_any_bytes_are_read_or_refused_with_a_capture_error(data: bytes) -> None:
    for one in (data, b"rocdoctor capture 1\n" + data):
        try:
            parse(one)
        except CaptureError:
            continue


@given(
    st.binary(max_size=300),
    st.text(alphabet=st.characters(blacklist_characters="\n\r", blacklist_categories=["Cs"]), max_size=40),
)
def test_any_answer_survives(data: bytes, word: str) -> None:
    answer = Answer("read /" + word.strip(), "ok", data.rstrip(b"\n"))
    assert _round(answer) == {answer.question: answer}

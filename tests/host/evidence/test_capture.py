from __future__ import annotations

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocdoctor.host.base import Answer
from rocdoctor.host.evidence.capture import CaptureError, CaptureHost, is_capture, parse, write


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
    monkeypatch.setattr("rocdoctor.host.evidence.capture.gunzip.__defaults__", (1000,))
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
    assert "appears twice" in capture.notes[0]


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


def test_a_question_with_line_ends_cannot_bring_answers_of_its_own() -> None:
    answers = _round(Answer("run dmesg\n-- env --\nFOO=1", "ok", b"x"))
    assert list(answers) == ["run dmesg -- env -- FOO=1"]


@pytest.mark.parametrize("question", ["run ls -- x", "run ls --", "run -- --", "read /a -- exit 0 --"])
def test_questions_may_hold_dashes(question: str) -> None:
    answer = Answer(question, "ok", b"one", exit_code=1, seconds=0.5)
    if not question.startswith("run "):
        answer = Answer(question, "ok", b"one")
    assert list(_round(answer).values()) == [answer]


def test_a_stuck_read_replays_with_its_deadline() -> None:
    (answer,) = _round(Answer("read /sick", "timeout", note="5 s")).values()
    assert answer.note == "5s"


def test_a_capture_that_was_cut_off_says_so_and_its_last_answer_is_an_excerpt() -> None:
    text = write([Answer("run dmesg", "ok", b"one\ntwo"), Answer("env", "ok", b"A=1")], {"origin": "recorded"})
    whole = parse(text.encode())
    assert whole.answers["run dmesg"].complete
    assert whole.notes == ()
    cut = parse(text[: text.index("two")].encode())
    assert not cut.answers["run dmesg"].complete
    assert "1 of 2 answers" in cut.notes[0]


def test_gzip_members_in_a_row_are_one_file_and_a_cut_one_is_damaged() -> None:
    text = write([Answer("env", "ok", b"A=1")], {"origin": "recorded"}).encode()
    assert parse(gzip.compress(text[:30]) + gzip.compress(text[30:])).answers["env"].text == "A=1"
    with pytest.raises(CaptureError, match="ends too early"):
        parse(gzip.compress(text)[:-12])


def test_hostile_counts_are_refused() -> None:
    with pytest.raises(CaptureError, match="more than 200000 answers"):
        parse(b"rocdoctor capture 1\n" + b"-- read /x --\n" * 200_002)
    with pytest.raises(CaptureError, match="lines of description"):
        parse(b"rocdoctor capture 1\n" + b"".join(b"%s: 1\n" % name.encode() for name in _names(1001)))


def _names(count: int) -> list[str]:
    letters = "abcdefghijklmnopqrstuvwxyz"
    return [f"{letters[n % 26]}{letters[n // 26 % 26]}{letters[n // 676]}" for n in range(count)]


@pytest.mark.parametrize("count", ["\uff19", "\u00b2", "-1", "9" * 5000, "x", ""])
def test_a_count_of_answers_is_of_plain_digits(count: str) -> None:
    text = write([Answer("read /a", "ok", b"x")], {"origin": "constructed"})
    assert "answers: 1\n" in text
    whole = parse(text.replace("answers: 1\n", f"answers: {count}\n").encode())
    assert whole.answers["read /a"].complete

"""The lines of an answer that a value was read from."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocdoctor.host.base import Answer
from rocdoctor.model.finding import Evidence
from rocdoctor.tui.findings.excerpt import Excerpt, ExcerptLine, excerpt, merged


def _answer(text: str, question: str = "read /x") -> Answer:
    return Answer(question, "ok", text.encode())


def _marked(found: Excerpt) -> list[tuple[int, list[str]]]:
    return [(line.number, [line.text[a:b] for a, b in line.spans]) for line in found.lines if line.marked]


@pytest.mark.parametrize(
    ("value", "text", "line", "marked"),
    [
        ("gfx942", "a\nname gfx942\nb", 2, [(2, ["gfx942"])]),
        ("8086:e20b", "PCI_ID=8086:E20B", 1, [(1, ["8086:E20B"])]),  # written another way
        ("x4 now", "4", 1, [(1, ["4"])]),
        ("can do x16", "LnkCap: Port #0, Speed 16GT/s, Width x16", 1, [(1, ["x16"])]),
        ("umc: 3 uncorrectable", "ue: 3\nce: 33", 1, [(1, ["3"])]),  # not the 3 of 33
        ("gfx1100", "gfx_target_version 110000", 1, [(1, [])]),  # read as something else: the line is all there is
        ("a  b\tc", "  a b   c  ", 1, [(1, ["a b   c"])]),
        ("first second", "first\nsecond", 1, [(1, ["first"])]),
        ("HSA=1", "A=1\nHSA=1", None, [(2, ["HSA=1"])]),  # without a number of a line it is searched for
    ],
)
def test_the_line_is_marked_and_the_value_in_it(
    value: str, text: str, line: int | None, marked: list[tuple[int, list[str]]]
) -> None:
    assert _marked(excerpt(Evidence(value, "read /x", line), _answer(text))) == marked


def test_two_lines_around_it_are_shown() -> None:
    text = "\n".join(f"line {number}" for number in range(1, 100))
    found = excerpt(Evidence("line 50", "read /x", 50), _answer(text))
    assert [line.number for line in found.lines] == [48, 49, 50, 51, 52]
    assert [line.number for line in excerpt(Evidence("line 1", "read /x", 1), _answer(text)).lines] == [1, 2, 3]


def test_a_value_that_no_line_holds_is_not_pinned_to_one() -> None:
    text = "\n".join(f"/sys/class/kfd/{number}" for number in range(20))
    assert excerpt(Evidence("6", "read /x"), _answer(text)) == Excerpt(
        note="it follows from all 20 lines of the answer, not from one of them"
    )
    short = excerpt(Evidence("no driver", "read /x"), _answer("A=1\nB=2"))
    assert [(line.text, line.marked) for line in short.lines] == [("A=1", False), ("B=2", False)]


@pytest.mark.parametrize(
    ("answer", "note"),
    [
        (None, "the text of this source was not kept"),
        (Answer("read /x", "not-asked"), "the text of this source was not kept"),
        (Answer("read /x", "denied"), "permission denied"),
        (Answer("run x", "timeout", note="5s"), "no answer within 5s"),
        (Answer("read /x", "ok", b""), "the answer is empty"),
        (Answer("read /x", "ok", b"\x01\0\0\0"), "binary data, 4 bytes"),
    ],
)
def test_without_lines_the_reason_is_said(answer: Answer | None, note: str) -> None:
    assert excerpt(Evidence("v", "read /x", 1), answer) == Excerpt(note=note)


def test_tables_are_told_from_answers() -> None:
    assert "comes with rocdoctor" in excerpt(Evidence("gfx1100", "table profiles/x.yaml"), None).note


def test_a_value_far_along_a_long_line_is_in_sight() -> None:
    line = '{"a": ' + "1, " * 50_000 + '"version": "2.9.1+cpu", ' + "2, " * 50_000
    (found,) = excerpt(Evidence("2.9.1+cpu", "python default", 1), _answer(line)).lines
    assert len(found.text) < 1000
    assert [found.text[a:b] for a, b in found.spans] == ["2.9.1+cpu"]
    assert found.text.startswith("... ")
    assert found.text.endswith(" ...")


def test_excerpts_of_one_answer_become_one() -> None:
    text = "\n".join(f"line {number}" for number in range(1, 40))
    parts = [excerpt(Evidence(f"line {number}", "read /x", number), _answer(text)) for number in (5, 6, 20)]
    found = merged(parts)
    assert [line.number for line in found.lines] == [3, 4, 5, 6, 7, 8, 18, 19, 20, 21, 22]
    assert [line.number for line in found.lines if line.marked] == [5, 6, 20]


def test_spans_that_overlap_become_one() -> None:
    parts = [
        Excerpt((ExcerptLine(1, "abcdef", True, ((0, 3),)),)),
        Excerpt((ExcerptLine(1, "abcdef", True, ((2, 5),)),)),
    ]
    assert merged(parts).lines[0].spans == ((0, 5),)


@given(st.text(max_size=200), st.text(max_size=60), st.one_of(st.none(), st.integers(-3, 12)))
def test_any_text_gives_clean_lines_with_spans_inside(text: str, value: str, line: int | None) -> None:
    found = excerpt(Evidence(value, "read /x", line), Answer("read /x", "ok", text.encode("utf-8", "replace")))
    for one in found.lines:
        assert "\x1b" not in one.text
        assert "\n" not in one.text
        assert all(0 <= a <= b <= len(one.text) for a, b in one.spans)

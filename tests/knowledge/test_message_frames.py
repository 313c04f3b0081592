"""Messages that people quote: each row of the table takes its example out, and leaves its counter-example."""

from __future__ import annotations

import pytest

from rocdoctor.knowledge.load import load_table
from rocdoctor.knowledge.messages.message_frames import frame_rows, own_expressions
from rocdoctor.parsers.logs.message_frames import Frame, FrameRow, frame_of, frame_says

_ROWS = load_table("message_frames")["frames"]
_MESSAGE = "CUDA error: out of memory"


def framed(text: str) -> Frame:
    lines = text.replace("<M>", _MESSAGE).split("\n")
    program, inside = set[int](), False
    for at, line in enumerate(lines):
        if line.startswith("```"):
            inside, lines[at] = not inside, ""
        elif inside:
            program.add(at)
    number = next(at for at, one in enumerate(lines, 1) if _MESSAGE in one)
    column = lines[number - 1].strip().index(_MESSAGE)
    return frame_of(lines, frozenset(program), number, column, len(_MESSAGE))


def says(text: str, *rows: FrameRow) -> str | None:
    return frame_says(rows or frame_rows(), own_expressions(), framed(text))


@pytest.mark.parametrize("row", frame_rows(), ids=lambda row: row.kind)
def test_a_row_takes_its_example_out_and_nothing_its_counter_example(row: FrameRow) -> None:
    written = next(one for one in _ROWS if one["kind"] == row.kind)
    assert says(written["example"], row) == row.kind, framed(written["example"])
    assert says(written["counter"]) is None, framed(written["counter"])


@pytest.mark.parametrize("row", load_table("message_frames")["own"], ids=lambda row: row["example"][:30])
def test_a_writer_takes_it_back(row: dict[str, str]) -> None:
    assert says(row["example"]) is None
    others = [one["match"] for one in load_table("message_frames")["own"] if one is not row]
    assert frame_says(frame_rows(), others, framed(row["example"])) is not None


def test_a_message_has_its_sentence_and_those_beside_it() -> None:
    found = framed('One. I had "<M>" e.g. twice,\nand "other words" too. It left. No more of it. Last.\n')
    assert found == Frame("I had <M> e.g. twice, and <Q> too.", "One.", "It left. No more of it.")


def test_output_has_the_sentence_that_leads_to_it_and_those_that_follow() -> None:
    found = framed("Hello. This is the log:\n\n```\nstart\n<M>\nend\n```\n\nIt is old. Thanks.\n")
    assert found == Frame("<M>", "This is the log:", "It is old. Thanks.")

"""Lines by what they look like: nothing that a plain look at each line finds is missed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rocdoctor.parsers.formats.alike_lines import AlikeLines, Shapes, alike, offsets, plain

LINES = st.lists(st.text(st.sampled_from("ab01279 \u00df\u0660\ud800"), max_size=5), max_size=30)


def test_lines_that_differ_in_digits_are_alike() -> None:
    told = AlikeLines(["gpu 3", "x", "gpu 7", "\u00dcber 12", "gpu 11", "\u00dcber 99"])
    assert told.shapes == ["gpu 0", "x", "\u00dcber 00", "gpu 00"]
    assert told.lines == [[0, 2], [1], [3, 5], [4]]
    assert told.first == [0, 1, 0, 3, 4, 3]
    assert list(told.where(lambda shape: "gpu" in shape)) == [0, 2, 4]


@given(LINES, st.sampled_from(["a", "b0", "0", "\u00df", "\u0660", "00"]))
def test_what_shapes_hold_is_what_lines_hold(lines: list[str], word: str) -> None:
    told = AlikeLines(lines)
    assert [told.shapes[at] for at in Shapes(told.shapes).holding(word)] == [one for one in told.shapes if word in one]
    assert list(told.where(lambda shape: word in shape)) == [at for at, one in enumerate(lines) if word in alike(one)]
    assert sorted(at for lines_of in told.lines for at in lines_of) == list(range(len(lines)))


@given(LINES)
def test_offsets_and_ascii_of_the_same_length(lines: list[str]) -> None:
    text = "\n".join(lines)
    assert len(plain(text)) == len(text)
    assert plain(text).isascii()
    assert all(text[at:].startswith(line) for at, line in zip(offsets(lines), lines, strict=False))

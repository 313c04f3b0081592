"""The index of a pasted text: what it says of words agrees with a plain search."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rocdoctor.paste.clean_text import clean
from rocdoctor.paste.word_index import WordIndex

TEXT = st.text(st.sampled_from("ab12RX \nİß."), max_size=60)
WORD = st.text(st.sampled_from("ab12rx "), min_size=1, max_size=4)


def test_lines_are_found_in_any_case_and_by_their_digits() -> None:
    index = WordIndex(clean("one RX 6800\nnothing\nrx 7900 here\nrx 6800"))
    assert list(index.lines(("rx 6", "here"))) == [0, 2, 3]
    assert index.may_hold(("RX 6",))
    assert not index.may_hold(("GTX",))


@given(TEXT, WORD)
def test_lines_agree_with_a_plain_search(text: str, word: str) -> None:
    cleaned = clean(text)
    index = WordIndex(cleaned)
    lines = ["".join(low if len(low := one.lower()) == 1 else one for one in line) for line in cleaned.lines]
    assert list(index.lines((word,))) == [at for at, line in enumerate(lines) if word in line]
    assert list(index.lines((word, "b1"))) == [at for at, line in enumerate(lines) if word in line or "b1" in line]


@given(TEXT, WORD)
def test_what_may_not_be_held_is_not_there(text: str, word: str) -> None:
    cleaned = clean(text)
    assert WordIndex(cleaned).may_hold((word,)) or word not in cleaned.text

"""Long texts beyond ASCII are translated as bytes, and become what Python makes of them sign by sign."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocdoctor.parsers.formats.alike_lines import alike
from rocdoctor.parsers.logs.literal_table import lowered
from rocdoctor.parsers.logs.log_match import only_words

_BEYOND = "\u00e9\u0661\u00b2\u20ac\U0001f600\udc80\u0130\u0131\u017f\u212a"
_TEXTS = st.text(st.sampled_from(f"{_BEYOND}aZ_09-./: \n\x00\x7f"), min_size=41, max_size=90)


@given(_TEXTS)
def test_all_ascii_digits_are_made_equal_and_nothing_else(text: str) -> None:
    assert alike(text) == "".join("0" if sign in "123456789" else sign for sign in text)


@given(_TEXTS)
def test_ascii_signs_that_are_no_words_become_blanks(text: str) -> None:
    kept = [sign if ord(sign) > 127 or sign.isalnum() or sign in "_\n" else " " for sign in text]
    assert only_words(text) == "".join(kept)


@pytest.mark.parametrize(("sign", "letter"), [("\u0130", "i"), ("\u0131", "i"), ("\u017f", "s"), ("\u212a", "k")])
def test_letters_that_case_makes_equal_are_plain_ones(sign: str, letter: str) -> None:
    assert lowered(f"A{sign}\u00c9") == f"a{letter}\u00e9"

"""The words that a text must hold for an expression: no text in which it is found is without them."""

from __future__ import annotations

import re
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocdoctor.knowledge.messages.program_errors import message_rows, message_signatures
from rocdoctor.parsers.logs.literal_table import Literals, completed, data_of, lowered
from rocdoctor.parsers.logs.log_match import compiled, spelled_out
from rocdoctor.parsers.logs.needed_words import needed_words


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("no kernel image", ("no kernel image",)),
        ("(?i)No Kernel", ("no kernel",)),
        (r"(?i)\b(?:dock|riser)\b", ("dock", "riser")),
        (r"(?i)hang(?:s|ing)?\b", ("hang", "hanging", "hangs")),
        (r"\d{1,3} of \d", (" of ",)),
        ("colou?r [gw]heel", ("color gheel", "color wheel", "colour gheel", "colour wheel")),
        (r"a (?:.{0,9}|long) time", (" time",)),
        (r"(?P<name>libamd\w{2,8})\.so", ("libamd",)),
        (r"(?:ab|abc)?", ()),
        (r"[^x]\w+\d", ()),
        (r"(?:memory){2}", ("memory",)),
        (r"(?:memory)*x", ()),
        (r"memory(?= full)(?! gone) at", ("memory at",)),
        (r"(?:one|\d) gpu|vram", (" gpu", "vram")),
        (r"\u0130n use", ("n use",)),
    ],
)
def test_words_of_an_expression(expression: str, words: tuple[str, ...]) -> None:
    assert needed_words(expression) == words


@cache
def _expressions() -> tuple[str, ...]:
    return tuple(
        sorted(
            {
                expression
                for signature in message_signatures().signatures
                for one in signature.wordings
                for expression in (*one.near, *one.never, *([one.match] if one.match else ()))
            }
        )
    )


@cache
def _with_words() -> tuple[str, ...]:
    return tuple(one for one in _expressions() if needed_words(spelled_out(one)))


@given(st.deferred(lambda: st.sampled_from(_with_words())), st.data())
def test_what_an_expression_takes_holds_its_words(expression: str, data: st.DataObject) -> None:
    text = data.draw(st.from_regex(re.compile(spelled_out(expression))))
    assert any(word in lowered(text) for word in needed_words(spelled_out(expression))), text


def test_the_examples_of_the_rows_hold_the_words_of_their_expressions() -> None:
    known = Literals(completed(data_of(message_signatures())))
    found = 0
    for row in message_rows():
        for text in row["texts"]:
            for example in filter(None, (text.get("example"), text.get("counter"))):
                for literal in _expressions()[:: len(_expressions()) // 40]:
                    _look(known, literal, str(example))
                for name in ("near", "never", "match"):
                    given_ = text.get(name) or ()
                    for one in [given_] if isinstance(given_, str) else given_:
                        as_used = "(?i)" + one if row.get("fold") and not one.startswith("(?i)") else one
                        found += _look(known, as_used, str(example))
    assert found > 1000


def _look(known: Literals, expression: str, example: str) -> bool:
    if compiled(expression).search(example) is None:
        return False
    assert known.may_be_in(expression, lowered(example)), (expression, example)
    return True


def test_letters_that_stand_for_others_where_case_does_not_count() -> None:
    for char in map(chr, range(128, 0x3000)):
        for letter in "abcdefghijklmnopqrstuvwxyz":
            if re.match(letter, char, re.IGNORECASE):
                assert letter in lowered(char), hex(ord(char))

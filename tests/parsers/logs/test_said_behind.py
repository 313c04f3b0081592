"""What is said behind a message is read whichever of its signs stands there alone."""

from __future__ import annotations

import pytest

from rocdoctor.parsers.logs.said_behind import EXPLAINED_BY, OVER_BY, SHRUGGED_BY, said_to_be_no_fault

SHRUGGED = {
    "normal": " is normal",
    "expected": " was expected",
    "harmless": ", which is harmless",
    "ok": " is ok",
    "fine": " is fine",
    "ignored": " is ignored",
    "handled": " is handled",
    "caught": " is caught",
    "a known": " is a known",
}
EXPLAINED = {
    "now": "x` is now named",
    "no longer ": 'x" no longer named',
    "appear": "x' appears if",
    "occur": "x' occurs where",
    "logged": "x' is logged if",
    "printed": "x' is printed where",
    "shown": "x\u201d is shown when",
    "raised": "x` is raised if",
    "until ": " came until I installed it",
    " what ": " is what you would see",
}
OVER = {
    "gone": 'x" is gone',
    "away": "x` went away",
    "history": "x\u201d is history",
    " what ": " is what a run ends with",
    "disappear": " made it disappear",
    "no longer ": " no longer occurs",
    " not ": " does not occur any more",
    " only ": " only if",
    "expected ": 'x" is expected here',
    "harmless": 'x" is harmless',
    "ignored": 'x" is ignored',
}


@pytest.mark.parametrize(("signs", "said"), [(SHRUGGED_BY, SHRUGGED), (EXPLAINED_BY, EXPLAINED), (OVER_BY, OVER)])
def test_each_sign_alone_lets_the_words_be_read(signs: tuple[str, ...], said: dict[str, str]) -> None:
    assert set(signs) == set(said)
    for sign, text in said.items():
        assert [one for one in signs if one in text.lower()] == [sign]
        assert said_to_be_no_fault("", text), text
        assert not said_to_be_no_fault("", text.replace(sign, " ")), text

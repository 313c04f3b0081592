"""What is said behind a message is read whichever of its signs stands there alone."""

from __future__ import annotations

import pytest

from rocdoctor.parsers.logs.said_behind import EXPLAINED_BY, OVER_BY, said_to_be_no_fault

EXPLAINED = {
    '"': 'x" no longer raised',
    "'": "x' appears if",
    "`": "x` is now named",
    "\u201d": "x\u201d is now named",
    "until ": " came until I installed it",
    " what ": " is what you would see",
}
OVER = {
    '"': 'x" is gone',
    "`": "x` is gone",
    "\u201d": "x\u201d is gone",
    " what ": " is what a run ends with",
    "disappear": " made it disappear",
    "no longer ": " no longer occurs",
    " not ": " does not occur any more",
    " only ": " only if",
}


@pytest.mark.parametrize(("signs", "said"), [(EXPLAINED_BY, EXPLAINED), (OVER_BY, OVER)])
def test_each_sign_alone_lets_the_words_be_read(signs: tuple[str, ...], said: dict[str, str]) -> None:
    assert set(signs) == set(said)
    for sign, text in said.items():
        assert [one for one in signs if one in text.lower()] == [sign]
        assert said_to_be_no_fault("", text), text
        assert not said_to_be_no_fault("", text.replace(sign, " ")), text

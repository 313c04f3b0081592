"""What must or may not stand around a text is an expression: a broken one would match nothing and say nothing."""

from __future__ import annotations

import re

import pytest

from rocdoctor.knowledge.load import words
from rocdoctor.knowledge.messages.program_errors import message_rows
from tests.examples import rows

_EXPRESSIONS = [
    (row["kind"], one)
    for row in message_rows()
    for text in row["texts"]
    for field in ("near", "never")
    for one in words(text.get(field))
]


@rows(("kind", "expression"), _EXPRESSIONS)
def test_it_compiles(kind: str, expression: str) -> None:
    try:
        re.compile(expression.replace("%bdf", "0").replace("%hex", "0"))
    except re.error as error:
        pytest.fail(f"{kind}: {error}")

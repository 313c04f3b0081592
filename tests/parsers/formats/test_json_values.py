from __future__ import annotations

import pytest

from rocdoctor.parsers.formats import json_values as values


@pytest.mark.parametrize("value", [None, True, "3", [3], {"a": 3}, float("nan"), float("inf"), 10**400])
def test_what_is_no_number_is_none(value: object) -> None:
    assert values.whole(value) is None and values.number(value) is None


def test_numbers() -> None:
    assert (values.whole(-3), values.whole((1 << 63) - 1), values.whole(1 << 63), values.whole(3.0)) == (
        -3,
        (1 << 63) - 1,
        None,
        None,
    )
    assert (values.number(3), values.number(-0.5)) == (3.0, -0.5)


def test_texts_flags_and_objects() -> None:
    assert (values.text("abc", 2), values.text(""), values.text(3)) == ("ab", None, None)
    assert (values.flag(False), values.flag(0), values.flag("true")) == (False, None, None)
    assert values.texts(["a", 3, "bcd", "e"], 3, 2) == ("a", "bc") and values.texts("abc", 3) == ()
    assert values.objects([{"a": 1}, 2, None]) == [{"a": 1}] and values.objects({"a": 1}) == []


def test_rows() -> None:
    text = '{"a": 1}\n[2]\n{broken\n{"b": 3}\n{"beyond": 4}\n'
    assert list(values.rows(text, 4)) == [{"a": 1}, {"b": 3}]

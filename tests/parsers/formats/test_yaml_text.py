"""YAML of strangers: plain values, or one line that says why not, in little time and memory."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from rocdoctor.parsers.formats.yaml_text import MOST_SIGNS, parse_json, parse_yaml
from tests.examples import examples

_LEVELS = range(1, 12)
_LISTS = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in _LEVELS)
_MERGES = "a0: &a0 {x: 1}\n" + "".join(
    f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 10)}], z{n}: 1}}\n" for n in _LEVELS
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (_LISTS, "its aliases stand for more than 8 MB"),
        (_MERGES, "its aliases stand for more than 8 MB"),
        ("a: &a " + "x" * 100_000 + "\nb: [" + "*a, " * 1000 + "]", "its aliases stand for more than 8 MB"),
        ("a: &a [*a]", "the alias 'a' has no anchor before it, or is in itself"),
        ("&a {b: *a}", "or is in itself"),
        ("a: *b", "has no anchor"),
        ("[" * 200_000, "nested more than 60 deep"),
        ("- " * 20_000, "nested more than 60 deep"),
        ("a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 80)), "nested more than 60 deep"),
        ("[" + "1," * 200_000 + "]", "more than 100000 values"),
        ("x" * (MOST_SIGNS + 1), "larger than 4 million"),
        ("seq: " + "9" * 100_000, "a number of 100000 characters"),
        ("seq: " + ":".join(["59"] * 100_000), "a number of"),
        ("a: 2001-99-99", "not readable as YAML: month must be"),
        ("a: [", "not readable as YAML: line "),
        ("[&a 1, &a [*a]]", "in itself"),
        ("[&a 1, &a 2]", "not readable as YAML: line 1: "),
        ("? [a]\n: 1", "not readable as YAML: line 1: "),
        ("a: 1\n---\nb: 2", "not readable as YAML: line 2: "),
        ("a: !!python/object/apply:os.system ['true']", "could not determine a constructor"),
        ("a: \ud800", "not readable as YAML"),
        ("a: \x00", "a character that text cannot hold"),
    ],
)
def test_what_would_take_long_or_makes_no_sense_is_refused_in_one_line(text: str, words: str) -> None:
    read = parse_yaml(text)
    assert words in read.problem
    assert "\n" not in read.problem
    assert len(read.problem) < 300
    assert read.value is None


def test_anchors_that_stay_small_are_read_as_they_are_meant() -> None:
    text = "all: &all {tp: 2, dp: 4}\nparallel: {<<: *all, pp: 2}\nagain: *all\n"
    assert parse_yaml(text).value == {
        "all": {"tp": 2, "dp": 4},
        "parallel": {"tp": 2, "dp": 4, "pp": 2},
        "again": {"tp": 2, "dp": 4},
    }
    # A mapping that stands in several places is dumped as an anchor.
    one = {"name": "x" * 1000}
    assert parse_yaml(yaml.safe_dump({"a": one, "b": one, "c": [one]})).value == {"a": one, "b": one, "c": [one]}


def test_a_document_that_is_large_and_plain_is_read() -> None:
    assert parse_yaml("x: [" + "12, " * 40_000 + "]").value == {"x": [12] * 40_000}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[" * 200_000, "too deeply nested"),
        ('{"a": ' + "9" * 100_000 + "}", "not readable as JSON: "),
        ('{"a": 1,}', "not readable as JSON: line 1"),
        (" " * (MOST_SIGNS + 1), "larger than"),
        ("", "not readable as JSON"),
    ],
)
def test_json_is_refused_in_one_line_too(text: str, words: str) -> None:
    read = parse_json(text)
    assert words in read.problem
    assert len(read.problem) < 300


@examples(3)
@given(st.one_of(st.text(max_size=60), st.text(alphabet="ab:&*!|>-?[]{},<\n '\"#%@1.", max_size=60)))
def test_no_text_raises(text: str) -> None:
    read = parse_yaml(text)
    assert "\n" not in read.problem
    parse_json(text)


def test_what_is_not_a_finite_number_stays_a_word() -> None:
    assert parse_json("[NaN, -Infinity, 1E310, 2.5]").value == ["NaN", "-Infinity", "1E310", 2.5]
    assert parse_yaml("[.nan, -.inf, 1.0e+999, 2.5]").value == [".nan", "-.inf", "1.0e+999", 2.5]

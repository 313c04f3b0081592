"""TOML as trees: the values that the standard library reads, and the lines where they stand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocdoctor.lint.config.toml_text import toml_tree
from rocdoctor.lint.config.trees import MAX_TEXT, Tree, walk

_PROJECT = '''# a project
title = "a # b"
[project]
dependencies = [
  "torch==2.9",  # "numpy"
  'numpy',

  "triton; python_version > '3.9'", "scipy",
]
optional-dependencies.dev = ["pytest"]
text = """
[tool.poetry.dependencies]
torch = "1.0"
"""
[ tool . "poetry" . dependencies ]
torch = { version = "^2.1", extras = ["a"] } # inline
"quoted.name" = 3.50
big = 1_000
on = true
nested = [
  ["torch"]
]
after = "nested"
[[tool.uv.index]]
name = "one"
[[tool.uv.index]]
name = "two"
[tool.uv.index.more]
url = "x"
'''


def _at(*keys: str) -> Tree:
    return toml_tree(_PROJECT).get(*keys)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        (("title",), [("a # b", 2)]),
        (
            ("project", "dependencies"),
            [("torch==2.9", 5), ("numpy", 6), ("triton; python_version > '3.9'", 8), ("scipy", 8)],
        ),
        (("project", "optional-dependencies", "dev"), [("pytest", 10)]),
        (("project", "text"), [('[tool.poetry.dependencies]\ntorch = "1.0"\n', 11)]),
        (("tool", "poetry", "dependencies", "torch", "version"), [("^2.1", 16)]),
        (("tool", "poetry", "dependencies", "quoted.name"), [("3.50", 17)]),
        (("tool", "poetry", "dependencies", "big"), [("1000", 18)]),
        (("tool", "poetry", "dependencies", "on"), [("true", 19)]),
        (("tool", "poetry", "dependencies", "after"), [("nested", 23)]),
    ],
)
def test_values_have_their_lines(keys: tuple[str, ...], words: list[tuple[str, int]]) -> None:
    assert _at(*keys).words() == words


def test_each_table_of_an_array_has_its_own_lines() -> None:
    one, two = _at("tool", "uv", "index").items
    assert (one.get("name").text, one.get("name").line) == ("one", 25)
    assert (two.get("name").text, two.get("name").line) == ("two", 27)
    assert (two.get("more", "url").text, two.get("more", "url").line) == ("x", 29)
    assert not one.get("more").mapping


@pytest.mark.parametrize(
    "text", ["a = ", "[a", "a = 1\na = 2", "a = " + "[" * 5_000, "a = 1\x00", "#" * (MAX_TEXT + 1)]
)
def test_what_is_no_toml_is_an_empty_tree(text: str) -> None:
    assert toml_tree(text) == Tree(1)


@pytest.mark.parametrize("head", ["{} = 1\n", "[{}]\n", "[[ {} ]]\n", "x = {{ {} = 1 }}\n"])
@pytest.mark.parametrize("part", ["a", "'a'", '"a b"', " a-1 "])
def test_a_name_of_very_many_parts_is_not_read(head: str, part: str) -> None:
    """The parser takes 600 MB for one of 12,000 parts."""
    assert toml_tree(head.format(".".join([part] * 12_000))) == Tree(1)


def test_many_dots_in_one_line_are_read() -> None:
    versions = ", ".join(f'"{number}.0.1"' for number in range(200))
    assert len(toml_tree(f"versions = [{versions}]\n").get("versions").items) == 200


@given(st.text(st.sampled_from("a1.\"'[]{}=,#\n \\"), max_size=60))
def test_no_text_breaks_it_and_every_line_is_one_of_the_text(text: str) -> None:
    last = text.count("\n") + 1
    assert all(1 <= tree.line <= last for _, tree in walk(toml_tree(text)))

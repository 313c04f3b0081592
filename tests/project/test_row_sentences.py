"""What a row of a table says about a text is read alone, so it is whole, and in sentences that end."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
import yaml

from tests.kit import ROOT

_LONGEST = 32  # words of a sentence, without what is in parentheses; a value in braces is a word
_IN_PARENTHESES = re.compile(r" ?\([^()]*\)")
_SENTENCE = re.compile(r"(?<=[\w)\]\"'}*])\. ")
_LEANS = re.compile(r"(?:Or|And|Also|Then|Else)\b(?! else)")


def _said(node: object) -> Iterator[str]:
    """All ``text`` of a table."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "text" and isinstance(value, str):
                yield value
            else:
                yield from _said(value)
    elif isinstance(node, list):
        for one in node:
            yield from _said(one)


def _incomplete(said: str) -> str:
    """What is wrong with a text that is shown as a finding, or ""."""
    if _LEANS.match(said):
        return "a text that leans on no other: 'X may ...', not 'Or X does'"
    plain = _IN_PARENTHESES.sub("", _IN_PARENTHESES.sub("", said))
    if max(len(one.split()) for one in _SENTENCE.split(plain)) > _LONGEST:
        return f"at most {_LONGEST} words in a sentence"
    return ""


def test_each_text_stands_alone_in_short_sentences() -> None:
    found, seen = [], 0
    tables = ("messages*", "open_symptoms", "last_resorts", "remaining", "told*")
    for path in sorted(path for name in tables for path in (ROOT / "rocdoctor/knowledge/tables").glob(f"{name}.yaml")):
        for said in _said(yaml.safe_load(path.read_text(encoding="utf-8"))):
            seen += 1
            if wrong := _incomplete(said):
                found.append(f"{path.name}: {said!r}: write {wrong}")
    assert seen > 1500
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "said",
    [
        "Or the driver does not run on that node.",
        "The program asks for a GPU, " + "and it waits for the next one, " * 5 + "and it ends",
        "The GPU (index 0) hangs: " + "its link is slow and " * 8 + "it resets",
    ],
)
def test_a_text_that_leans_or_runs_on_is_found(said: str) -> None:
    assert _incomplete(said)


def test_a_text_may_list_in_parentheses() -> None:
    assert not _incomplete(f"The node is not there ({'/dev/dri ' * 40}). Order does not count")

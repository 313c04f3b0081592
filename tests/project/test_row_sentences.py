"""What a row of a table says is read alone, so it is whole, and in sentences that end."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator

import pytest
import yaml

from tests.kit import ROOT

_TABLES = ROOT / "rocdoctor/knowledge/tables"
_MESSAGES = ("messages*", "open_symptoms", "last_resorts", "remaining")
# A clause says of something what it is or does; a bare noun ("an error", "no such file") does not.
_VERB = re.compile(
    r"\b(?:is|are|was|were|has|have|had|can|cannot|does|do|did|says?|shows?|lists?|prints?|names?|fails?|works?|hangs?"
    r"|runs?|lacks?|ends?|comes?|resolves?|warns?|reports?|appears?|complains?|crash(?:es)?|differs?|loses?|looks?|see(?:s|n)?"
    r"|belongs?|exceeds?|starts?|stays?|behaves?|reaches|refuses|fell|uses)\b"
)
# Words of a sentence, without what is in parentheses; a value in braces is a word.
_LONGEST = 32
_LONGEST_FIX = 28  # of one that says what to do
_IN_PARENTHESES = re.compile(r" ?\([^()]*\)")
_SENTENCE = re.compile(r"(?<=[\w)\]\"'}*])\. ")
_LEANS = re.compile(r"(?:Or|And|Also|Then|Else)\b(?! else)")


def _said(node: object, keys: Collection[str]) -> Iterator[tuple[str, str]]:
    """All sentences of a table under these keys, each with its key."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key in keys and isinstance(value, str):
                yield key, value
            elif key not in ("set", "values", "groups"):  # values of its own, named by the row
                yield from _said(value, keys)
    elif isinstance(node, list):
        for one in node:
            yield from _said(one, keys)


def _judged(keys: Collection[str], names: Collection[str], wrong: Callable[[str, str], str]) -> tuple[int, str]:
    """How many sentences tables have under these keys, and what is wrong with some of them."""
    seen, found = 0, []
    for path in sorted(path for name in names for path in _TABLES.glob(f"{name}.yaml")):
        for key, said in _said(yaml.safe_load(path.read_text(encoding="utf-8")), keys):
            seen += 1
            if told := wrong(key, said):
                found.append(f"{path.name}: {key}: {said!r}: write {told}")
    return seen, "\n".join(found)


def _longest(said: str) -> int:
    """The words of the longest sentence."""
    plain = _IN_PARENTHESES.sub("", _IN_PARENTHESES.sub("", said))
    return max(len(one.split()) for one in _SENTENCE.split(plain))


def _incomplete(said: str) -> str:
    """What is wrong with a text that is shown as a finding, or ""."""
    if _LEANS.match(said):
        return "a text that leans on no other: 'X may ...', not 'Or X does'"
    return f"at most {_LONGEST} words in a sentence" if _longest(said) > _LONGEST else ""


def _breathless(told: str) -> str:
    """What is wrong with the form of a fix, or ""."""
    plain = _IN_PARENTHESES.sub("", _IN_PARENTHESES.sub("", told))
    if plain.count("; ") > 1 and "/sbin/" not in plain:  # commands that belong together
        return "a sentence for each step, not several semicolons"
    return f"at most {_LONGEST_FIX} words in a sentence" if _longest(told) > _LONGEST_FIX else ""


def _formless(key: str, said: str) -> str:
    """What is wrong with the form of a line below a command, or ""."""
    sentences = said.split(". ")
    if key == "shows" and not _VERB.search(said):
        return "a clause with a verb, which reads well after 'if'"
    if key == "why" and said[0].islower() and said.split()[0].isalpha():
        return "a sentence, which begins with a capital letter"
    if key == "why" and any(one.count(": ") > 1 for one in sentences):
        return "'If it works, suspect ...', not 'works: ...; fails: ...'"
    return f"at most {_LONGEST} words in a sentence" if _longest(said) > _LONGEST else ""


def test_each_text_stands_alone_in_short_sentences() -> None:
    seen, found = _judged(("text",), (*_MESSAGES, "told*"), lambda _, said: _incomplete(said))
    assert seen > 1500
    assert not found, found


def test_a_fix_is_said_in_short_sentences() -> None:
    seen, found = _judged(("fix", "remedy"), ("*",), lambda _, told: _breathless(told))
    assert seen > 1500
    assert not found, found


def test_what_a_command_shows_is_said_in_sentences() -> None:
    seen, found = _judged(("why", "shows"), _MESSAGES, _formless)
    assert seen > 400
    assert not found, found


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


@pytest.mark.parametrize(
    "told",
    [
        "Reset the GPU; reboot; look at the log",
        "Reset the GPU, " + "look at one more counter, " * 6 + "and reboot",
        "Reset the GPU (nvidia-smi -r; on NVSwitch all). Then " + "look at it and " * 8 + "reboot",
    ],
)
def test_a_breathless_fix_is_found(told: str) -> None:
    assert _breathless(told)


def test_a_fix_may_list_commands_in_parentheses() -> None:
    assert not _breathless(
        f"Pass the nodes ({'--device=/dev/dri ' * 30}; AMD: all); then reboot. Look at the log (dmesg)"
    )


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("why", "works: the fork is the cause; fails: the runtime does not start"),
        ("why", "whether the fabric was set up"),
        ("why", "It works: the other cuDNN; a batch of 1 works: memory"),
        ("why", "Shows " + "very " * _LONGEST + "much"),
        ("shows", "an error, or no GPU"),
    ],
)
def test_shorthand_below_a_command_is_found(key: str, said: str) -> None:
    assert _formless(key, said)

"""Every parser and reader takes any text: found by walking the folder, so a new one is tried without being named.

Texts that a parser knows are those of the test files that call it: they are cut, spoilt, and put together anew.
"""

from __future__ import annotations

import ast
import inspect
import math
import pkgutil
import random
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from importlib import import_module
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rocdoctor.parsers
from rocdoctor.host.evidence.capture import parse
from tests.examples import examples
from tests.fuzz.mutate import LARGEST, ODD, changed
from tests.kit import ROOT


@dataclass(frozen=True, slots=True)
class Parser:
    """A public function that needs ``texts`` texts and nothing else; ``samples`` are texts of its kind."""

    name: str
    function: Callable[..., Any]
    texts: int
    is_bytes: bool
    samples: tuple[str, ...] = field(repr=False)

    def ask(self, text: str) -> object:
        """Parse a text and look at all that the answer says."""
        asked = text.encode("utf-8", "surrogatepass") if self.is_bytes else text
        answer = self.function(*[asked] * self.texts)
        _look(answer)
        return answer


_TEXTS = {"str", "str | None", "str | int", "object", "bytes"}


def _parsers() -> Iterator[Parser]:
    samples = _samples()
    for module in pkgutil.walk_packages(rocdoctor.parsers.__path__, "rocdoctor.parsers."):
        room = module.name.split(".")[2]
        for name, value in vars(import_module(module.name)).items():
            function = inspect.unwrap(value) if callable(value) else None
            if not inspect.isfunction(function) or function.__module__ != module.name or name.startswith("_"):
                continue
            if inspect.signature(function).return_annotation == "re.Pattern[str]":
                continue  # reads an expression of our tables, not what a machine says
            needed = [one for one in inspect.signature(function).parameters.values() if one.default is one.empty]
            kinds = {str(one.annotation) for one in needed}
            if kinds and kinds <= _TEXTS:
                shown = f"{module.name.rpartition('.')[2]}.{name}"
                yield Parser(shown, function, len(needed), "bytes" in kinds, tuple(samples.get(name, samples[room])))


def _samples() -> dict[str, dict[str, None]]:
    """Name of a function: all texts of the test files where it stands; and of a room all texts of its test files."""
    found: dict[str, dict[str, None]] = {}
    for path in sorted((ROOT / "tests" / "parsers").glob("*/*.py")):
        made = vars(import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))).values()
        texts = {one: None for one in made if isinstance(one, str)}
        names: set[str] = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Name):
                names.add(node.id)
            elif isinstance(node, ast.Attribute):
                names.add(node.attr)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts[node.value] = None
        for name in (*names, path.parent.name):
            found.setdefault(name, {}).update(texts)
    return found


@cache
def _properties(kind: type[Any]) -> tuple[str, ...]:
    return tuple(name for name, _ in inspect.getmembers(kind, lambda one: isinstance(one, property)))


def _look(value: Any) -> None:
    """Ask an answer for everything: its fields, and the properties that are worked out from them.

    No number is infinite or none at all, since JSON has no word for these.
    """
    assert not isinstance(value, float) or math.isfinite(value)
    if isinstance(value, tuple | list | set | frozenset):
        for one in value:
            _look(one)
    elif isinstance(value, Mapping):
        for one in value.values():
            _look(one)
    elif is_dataclass(value) and not isinstance(value, type):
        for name in (*_properties(type(value)), *(one.name for one in fields(value))):
            _look(getattr(value, name))


PARSERS = tuple(_parsers())
_CASES = pytest.mark.parametrize("parser", PARSERS, ids=[one.name for one in PARSERS])

_ODD = st.sampled_from([one.decode("utf-8", "replace") for one in ODD] + ["1e308 PB"])
_VALUES = st.text(alphabet="0123456789abcdefx:.,-+/%[] eENATGsiBMCW!", max_size=30)
_JUNK = st.one_of(st.text(max_size=20), st.text(alphabet="{}[]()<>\"':,;=|&\\ \t\n#-", max_size=20), _VALUES, _ODD)
_WORD = re.compile(r"0[xX][0-9a-fA-F]+|\d+(?:\.\d+)?")


@st.composite
def _spoilt(draw: st.DrawFn, texts: tuple[str, ...]) -> str:
    """A text that is cut, has something else in it, has its lines anew, or has another value for its numbers."""
    text, junk = draw(st.sampled_from(texts)), draw(_JUNK)
    way = draw(st.sampled_from(["cut", "put", "lines", "numbers", "number"]))
    if way == "lines":
        return "\n".join(draw(st.lists(st.sampled_from([*text.split("\n"), junk]), max_size=12)))
    if way == "numbers":
        return _WORD.sub(lambda _: junk, text)
    places = [one.start() for one in _WORD.finditer(text)] if way == "number" else []
    at = draw(st.sampled_from(places) if places else st.integers(0, len(text)))
    if way == "cut":
        return text[:at] + junk
    if way == "number":
        return text[:at] + junk + _WORD.sub("", text[at:], count=1)
    return text[:at] + junk + text[at + draw(st.integers(0, 40)) :]


@cache
def _texts(parser: Parser) -> st.SearchStrategy[str]:
    """Any text, and twice as often one of those that it takes for more than nothing, spoilt."""
    nothing = parser.ask("")
    known = tuple(text for text in parser.samples if parser.ask(text) != nothing) or parser.samples
    return st.one_of(st.text(max_size=80), _ODD, _spoilt(known), _spoilt(known))


def _real() -> list[bytes]:
    """A few answers of every kind from the fixtures, none of them long."""
    found: dict[str, bytes] = {}
    for path in sorted((ROOT / "fixtures").glob("*.capture")):
        for question, answer in parse(path.read_bytes()).answers.items():
            if answer.data:
                found.setdefault(question.rpartition("/")[2][:30] + path.stem[:3], answer.data[:6000])
    return list(found.values())


REAL = _real()


def test_there_are_many() -> None:
    assert len(PARSERS) > 170
    assert len(REAL) > 100


@_CASES
@examples(0.3)
@given(st.data())
def test_no_parser_raises_on_any_text(parser: Parser, data: st.DataObject) -> None:
    parser.ask(data.draw(_texts(parser)))


@_CASES
def test_no_parser_raises_on_damaged_real_text(parser: Parser) -> None:
    source = random.Random(parser.function.__name__)
    for _ in range(8):
        data = changed(source.choice(REAL), source)[: min(LARGEST, 20_000)]
        parser.ask(data.decode("utf-8", "replace"))

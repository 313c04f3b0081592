"""Every parser and reader takes any text: found by walking the folder, so a new one is tried without being named."""

from __future__ import annotations

import inspect
import pkgutil
import random
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rocdoctor.parsers
from rocdoctor.host.evidence.capture import parse
from tests.fuzz.mutate import LARGEST, ODD, changed
from tests.kit import ROOT


def _takes_one_text(function: Callable[..., Any]) -> bool:
    needed = [one for one in inspect.signature(function).parameters.values() if one.default is one.empty]
    return len(needed) == 1 and str(needed[0].annotation) in ("str", "bytes")


def _parsers() -> list[tuple[str, Callable[..., Any], bool]]:
    """(name, function, whether it takes bytes) of every public function that needs one text and nothing else."""
    found: list[tuple[str, Callable[..., Any], bool]] = []
    for module in pkgutil.walk_packages(rocdoctor.parsers.__path__, "rocdoctor.parsers."):
        loaded = import_module(module.name)
        for name, function in vars(loaded).items():
            own = inspect.isfunction(function) and function.__module__ == loaded.__name__ and not name.startswith("_")
            if own and _takes_one_text(function):
                kind = next(iter(inspect.signature(function).parameters.values())).annotation
                found.append((f"{module.name.rpartition('.')[2]}.{name}", function, kind == "bytes"))
    return found


PARSERS = _parsers()
_CASES = pytest.mark.parametrize(
    ("function", "is_bytes"), [one[1:] for one in PARSERS], ids=[one[0] for one in PARSERS]
)
_SETTINGS = settings(
    max_examples=12, deadline=None, derandomize=True, database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip


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
    assert len(PARSERS) > 80
    assert len(REAL) > 100


@_CASES
@_SETTINGS
@given(st.one_of(st.text(max_size=80), st.sampled_from([one.decode("utf-8", "replace") for one in ODD])))
def test_no_parser_raises_on_any_text(function: Callable[..., Any], is_bytes: bool, text: str) -> None:
    function(text.encode("utf-8", "surrogatepass") if is_bytes else text)


@_CASES
def test_no_parser_raises_on_damaged_real_text(function: Callable[..., Any], is_bytes: bool) -> None:
    source = random.Random(function.__name__)
    for _ in range(8):
        data = changed(source.choice(REAL), source)[: min(LARGEST, 20_000)]
        function(data if is_bytes else data.decode("utf-8", "replace"))

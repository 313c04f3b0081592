"""Expressions that are asked of shapes, where all digits are 0: they must not lose a line whose digits are others.

Either an expression treats all digits alike, which its structure shows, or another stands for it on shapes.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocdoctor.parsers.formats.alike_lines import alike
from rocdoctor.parsers.logs import collective_log, job_lines
from rocdoctor.paste import clean_text, env_settings, job_logs, named_cards, output_kinds, shell_sections, speakers
from rocdoctor.paste import statements as stated
from rocdoctor.paste.output_kinds import KINDS
from tests.patterns.automaton import PARSER

_DIGITS = frozenset(map(ord, "0123456789"))
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")


def _digits(item: tuple[Any, Any]) -> frozenset[int]:
    """The digits that a member of a class takes."""
    kind, value = str(item[0]), item[1]
    if kind == "LITERAL":
        return _DIGITS & {value}
    if kind == "RANGE":
        return _DIGITS & set(range(value[0], value[1] + 1))
    if kind == "CATEGORY":
        return _DIGITS if str(value) in ("CATEGORY_DIGIT", "CATEGORY_WORD", "CATEGORY_NOT_SPACE") else frozenset()
    return frozenset()


def told_apart(tree: Any) -> str:
    """Which part of an expression tells digits apart; "" where none does."""
    for kind, value in tree:
        name = str(kind)
        inner: list[Any] = []
        if name in ("LITERAL", "NOT_LITERAL") and value in _DIGITS:
            return chr(value)
        if name == "IN":
            taken = frozenset(digit for item in value for digit in _digits(item))
            if taken and taken != _DIGITS:
                return "".join(map(chr, sorted(taken)))
        elif name == "BRANCH":
            inner = value[1]
        elif name in _REPEATS:
            inner = [value[2]]
        elif name == "SUBPATTERN":
            inner = [value[3]]
        elif name in ("ASSERT", "ASSERT_NOT"):
            inner = [value[1]]
        elif name == "ATOMIC_GROUP":
            inner = [value]
        elif name in ("GROUPREF", "GROUPREF_EXISTS"):
            return "what a group took"
        if found := next(filter(None, map(told_apart, inner)), ""):
            return found
    return ""


def _source(pattern: re.Pattern[str]) -> re.Pattern[str]:
    """The expression itself, of one that is compiled when it is used."""
    return re.compile(pattern.pattern, pattern.flags)


ASKED_OF_SHAPES = {
    f"{module.__name__.rpartition('.')[2]}.{name}": getattr(module, name)
    for module, names in (
        (clean_text, ("_HEADING",)),
        (env_settings, ("_NAMED",)),
        (job_logs, ("_RANK",)),
        (output_kinds, ("_STAMP",)),
        (shell_sections, ("_PYTHON", "_PROMPT", "_PRINTED_BY")),
        (speakers, ("_SPEAKER", "_SAID")),
        (stated, ("_LABEL_LINE",)),
        (job_lines, ("_FRAME",)),
        (collective_log, ("_RAISED",)),
    )
    for name in names
} | {kind.question: kind.line for kind in KINDS if kind.shape is None and not kind.words}


@pytest.mark.parametrize("name", ASKED_OF_SHAPES)
def test_an_expression_that_is_asked_of_shapes_treats_digits_alike(name: str) -> None:
    """Else give a row of ``output_kinds`` a ``shape``, or ``words`` that its lines hold."""
    pattern = ASKED_OF_SHAPES[name]
    assert told_apart(PARSER.parse(pattern.pattern, pattern.flags)) == ""


PAIRS = {kind.question: (kind.line, kind.shape) for kind in KINDS if kind.shape is not None} | {
    "a bare command": (shell_sections._BARE, shell_sections._BARE_SHAPE)
}


@pytest.mark.parametrize("name", PAIRS)
@given(data=st.data())
def test_what_stands_for_an_expression_on_shapes_takes_all_that_it_takes(name: str, data: st.DataObject) -> None:
    line, shape = PAIRS[name]
    text = data.draw(st.from_regex(_source(line)))
    if line.match(text):
        assert shape is not None
        assert shape.match(alike(text)), text


def test_each_alternative_of_such_a_row_is_taken_on_its_shape() -> None:
    for question, line in (
        ("run dmesg", "  mlx5_core 0000:c1:00.0: firmware"),
        ("run dmesg", "[   12.345678] amdgpu 0000:03:00.0: ring"),
        ("run nvidia-smi topo -m", "GPU0    GPU1    CPU Affinity"),
        ("run nvidia-smi topo -m", "mlx5_2   PIX   SYS"),
        ("run lspci -k", "65:00.7 3D controller: NVIDIA"),
        ("run lscpu", "L3 cache:   32 MiB"),
        ("run lsmod", "amd_iommu_v2    20480  1"),
    ):
        kind = next(one for one in KINDS if one.question == question)
        assert kind.line.match(line)
        assert kind.shape is not None
        assert kind.shape.match(alike(line))


@given(st.from_regex(r"[ABGHKLMPRTVW]{1,2}[0-9]{1,4}[: x]?", fullmatch=True))
def test_numbers_of_parts(text: str) -> None:
    if named_cards._NUMBERS.search(text):
        assert named_cards._ANY_NUMBER.search(alike(text)), text


def test_expressions_that_tell_digits_apart_are_seen() -> None:
    for text, part in (
        (r"a[0-9]\d\w", ""),
        ("mlx5", "5"),
        ("[^3]", "3"),
        ("a(?:b|[1-9])?", "123456789"),
        ("(?!7)", "7"),
    ):
        assert told_apart(PARSER.parse(text)) == part

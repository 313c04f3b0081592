"""What one part of the program says in words, no other part takes apart: values travel, sentences are printed.

The sentences of findings, reasons, fixes and labels are written for people. Looking into one (a search, a comparison, a
split, a slice) makes its wording a protocol, and a reworded check then breaks a set-up plan. Checks, which write them,
may do with them what they like; whoever prints them may join, wrap and clean them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kit import ROOT

# Rooms that read evidence and know nothing of findings.
_BELOW = ("parsers", "paste", "host", "knowledge", "collect")
# Attributes that hold a sentence whatever their object is, and those that do where it is a fix or a next step.
_SENTENCES = frozenset(("message", "why", "label"))
_OF_FIX = frozenset(("text", "command", "verify"))
_FIXES = frozenset(("fix", "step", "offer"))
# Printing makes words of words; these look what a text says.
_LOOKS = frozenset(
    (
        "startswith",
        "endswith",
        "split",
        "rsplit",
        "partition",
        "rpartition",
        "splitlines",
        "find",
        "rfind",
        "index",
        "rindex",
        "count",
        "removeprefix",
        "removesuffix",
        "replace",
        "translate",
        "isdigit",
        "isdecimal",
    )
)
_SAME_WORDS = frozenset(
    ("lower", "upper", "casefold", "strip", "rstrip", "lstrip", "one_line", "clean", "str", "sentence")
)
_SEARCHES = frozenset(("search", "match", "fullmatch", "findall", "finditer", "sub", "subn"))

# Reading that is no protocol, by file: what is done there, and why it may be.
_ALLOWED = {
    ("compare/differences.py", "one.message.split()"): "white space, for printing; numbers.py says when two are alike",
    ("insight/jobs/job_log.py", "'out of memory' in (error.message or '').lower()"): "words of the program that failed",
    ("lint/advice/findings.py", "advice.message.replace('{value}', shown)"): "a template of our own, filled",
    ("report/fixes/fix_document.py", "command != offer.fix.command"): "not to print one command twice",
    ("report/masked.py", "mask(one.label) == one.label"): "masking is about words",
    ("service/reading.py", "step.command not in known"): "not to print one command twice",
    (
        "train/smoke/nodes/findings.py",
        "re.sub(f'\\\\b{own}\\\\b', 'node #', one.message)",
    ): "equal sentences are printed once",
    ("train/smoke/nodes/rendezvous.py", "finding.message != told"): "not to print one sentence twice",
    ("tui/verify.py", "_CHECK.fullmatch(command)"): "a command that is run, by the words that are run",
}


def test_nobody_takes_apart_what_another_part_says() -> None:
    found = {
        (path.relative_to(ROOT / "rocdoctor").as_posix(), what)
        for path in _files()
        for what in looks(path.read_text(encoding="utf-8"))
    }
    assert sorted(found - set(_ALLOWED)) == []
    assert sorted(set(_ALLOWED) - found) == [], "nobody does this any more: take it off the list"


@pytest.mark.parametrize(
    "told",
    [
        "if 'amdgpu' in found.message: pass",
        "if found.message == 'x': pass",
        "words = found.fix.command.split()",
        "fix.text.startswith('Unset')",
        "words = one_line(row.why).lower()\n if 'torch' in words: pass",
        "re.search('gpu (.)', verdict.subject.label)",
        "_NUMBERED.match(gpu.label)",
        "(found.message if found else verdict.why).partition(':')",
        "gap.why[7:]",
        "if (said := step.why) and said.endswith('.'): pass",
    ],
)
def test_looking_into_a_sentence_is_seen(told: str) -> None:
    assert list(looks(f"def read(found, fix, row, verdict, gpu, gap, step):\n {told}\n"))


@pytest.mark.parametrize(
    "told",
    [
        "return f'{found.message} {fix.text}.'",
        "return [*wrap(found.message, 80), one_line(row.why)[:200], clean(fix.command)]",
        "if fix.command: out.say(fix.command)",
        "if found.severity == 'error' and found.about.module == 'amdgpu': pass",
        "return step.verify is None",
        "return sentence(found.message).rstrip('.')",
    ],
)
def test_printing_is_no_looking(told: str) -> None:
    assert list(looks(f"def read(found, fix, row, step):\n {told}\n")) == []


def _files() -> Iterator[Path]:
    for path in sorted((ROOT / "rocdoctor").rglob("*.py")):
        if path.relative_to(ROOT / "rocdoctor").parts[0] not in _BELOW:
            yield path


def looks(source: str) -> Iterator[str]:
    """What a module does with sentences beyond printing them, as source text."""
    tree = ast.parse(source)
    for scope in ast.walk(tree):
        if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _in_function(scope)


def _in_function(scope: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    held: set[str] = set()
    for node in ast.walk(scope):
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign) and _is_sentence(node.value, held):
            targets = node.targets
        elif isinstance(node, ast.NamedExpr | ast.AnnAssign) and node.value and _is_sentence(node.value, held):
            targets = [node.target]
        held |= {one.id for one in targets if isinstance(one, ast.Name)}
    for node in ast.walk(scope):
        if _looks_into(node, held):
            yield ast.unparse(node)


def _looks_into(node: ast.AST, held: set[str]) -> bool:
    if isinstance(node, ast.Compare):
        if all(isinstance(one, ast.Is | ast.IsNot) for one in node.ops):
            return False
        return any(_is_sentence(one, held) for one in (node.left, *node.comparators))
    if isinstance(node, ast.Subscript):
        shortened = isinstance(node.slice, ast.Slice) and node.slice.lower is None
        return not shortened and _is_sentence(node.value, held)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in _LOOKS and _is_sentence(node.func.value, held):
            return True
        return node.func.attr in _SEARCHES and any(_is_sentence(one, held) for one in node.args)
    return False


def _is_sentence(node: ast.expr, held: set[str]) -> bool:
    """Whether an expression is a sentence: as it is, cleaned, in other letters, or the one of two that is there."""
    if isinstance(node, ast.Name):
        return node.id in held
    if isinstance(node, ast.Attribute):
        of = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
        return node.attr in _SENTENCES or (node.attr in _OF_FIX and of in _FIXES)
    if isinstance(node, ast.IfExp):
        return _is_sentence(node.body, held) or _is_sentence(node.orelse, held)
    if isinstance(node, ast.BoolOp):
        return any(_is_sentence(one, held) for one in node.values)
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        inner = [node.func.value] if isinstance(node.func, ast.Attribute) else []
        if name in _SAME_WORDS or name in _LOOKS:
            return any(_is_sentence(one, held) for one in (*inner, *node.args[:1]))
    return False

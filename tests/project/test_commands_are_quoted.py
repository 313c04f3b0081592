"""No word of the evidence reaches a command but through ``shell_command.shell``: what types cannot see.

pyright keeps a ``str`` out of the fields; this looks at the expressions themselves, so that a text that pyright lets
pass as literal (an f-string of literals), a cast, an ``Any`` or a ``replace`` does not go around the gate.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest

from tests.kit import ROOT
from tests.shell_box import ShellBox, needs_bash

# Where the command, and where the verification, stands among the arguments of each record.
_FIELDS = {
    "Fix": {1: "command", 4: "verify"},
    "NextStep": {0: "command"},
    "NetFinding": {5: "command"},
    "NodeFinding": {6: "command"},
    "Verify": {1: "command"},
    "replace": {},
}
_GATE = ("shell", "shell_of_table", "reworded", "ShellCommand")
_TYPES = ("CommandText", "ShellCommand", "LiteralString", "TableCommand")
_MAKERS = re.compile(rf"\b(?:{'|'.join((*_FIELDS, *_GATE))})\(")
_FILES = sorted(
    path
    for folder in ("rocdoctor", "checks")
    for path in (ROOT / folder).rglob("*.py")
    if path.name != "shell_command.py" and _MAKERS.search(path.read_text(encoding="utf-8"))
)


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def _typed() -> frozenset[str]:
    """Names of functions that give a command, and of constants that are or hold some."""
    found = set()
    for path in _FILES:
        for node in ast.walk(_tree(path)):
            if isinstance(node, ast.FunctionDef) and node.returns is not None and _is_command(node.returns):
                found.add(node.name)
    return frozenset(found)


def _is_command(annotation: ast.expr) -> bool:
    return any(name in ast.unparse(annotation) for name in _TYPES)


class _Scope:
    """What the names of one function mean, and behind it those of the module."""

    def __init__(self, path: Path, function: ast.AST | None) -> None:
        self.nodes = () if function is None else _inside(function)
        self.module = _tree(path)

    def meanings(self, name: str) -> Iterator[ast.expr | bool]:
        """Every value that a name is given here; True or False for one that is declared as a command, or cannot be."""
        found = list(_given(self.nodes, name)) or list(_given(self.module.body, name))
        found = found or [one for path in _imported(self.module, name) for one in _given(_tree(path).body, name)]
        yield from found or [False]


@cache
def _inside(function: ast.AST) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(function))


def _given(nodes: Sequence[ast.AST], name: str) -> Iterator[ast.expr | bool]:
    for node in nodes:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if (isinstance(target, ast.Name) and target.id == name) or (
                    isinstance(target, ast.Tuple) and any(getattr(one, "id", "") == name for one in target.elts)
                ):
                    yield node.value
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == name:
            yield True if _is_command(node.annotation) else node.value or False
        elif isinstance(node, ast.arg) and node.arg == name:
            yield node.annotation is not None and _is_command(node.annotation)
        elif isinstance(node, ast.For | ast.comprehension | ast.NamedExpr) and name in ast.unparse(node.target):
            yield False


def _imported(module: ast.Module, name: str) -> Iterator[Path]:
    for node in module.body:
        if isinstance(node, ast.ImportFrom) and node.module and any(one.name == name for one in node.names):
            path = ROOT / (node.module.replace(".", "/") + ".py")
            if path.exists():
                yield path


def _safe(value: ast.expr | bool, scope: _Scope, depth: int = 0) -> bool:
    """Whether an expression is a literal, comes from the gate, or is a command that another record holds already."""
    if isinstance(value, bool):
        return value
    if isinstance(value, ast.Constant):
        return isinstance(value.value, str)
    if isinstance(value, ast.IfExp):
        return _safe(value.body, scope, depth) and _safe(value.orelse, scope, depth)
    if isinstance(value, ast.BoolOp):
        return all(_safe(one, scope, depth) for one in value.values)
    if isinstance(value, ast.Attribute):
        return value.attr in ("command", "verify")
    if isinstance(value, ast.Name) and depth < 5:
        return all(_safe(one, scope, depth + 1) for one in scope.meanings(value.id))
    if isinstance(value, ast.Subscript):
        return _safe(value.value, scope, depth)
    if isinstance(value, ast.Call):
        called = value.func
        if isinstance(called, ast.Name):
            literal = called.id not in _GATE or all(_safe(one, scope, depth) for one in value.args[:1])
            return literal and (called.id in _GATE or called.id in _typed())
        if isinstance(called, ast.Attribute) and called.attr == "get":
            return _safe(called.value, scope, depth)
    return False


def _places(tree: ast.Module, makers: Container[str] = (*_FIELDS, *_GATE)) -> Iterator[tuple[ast.AST | None, ast.expr]]:
    """Every expression that becomes a command: the function that it stands in, and it."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    for node in ast.walk(tree):
        name = getattr(node.func, "id", getattr(node.func, "attr", "")) if isinstance(node, ast.Call) else ""
        if not isinstance(node, ast.Call) or name not in makers:
            continue
        around = [one for one in functions if one.lineno <= node.lineno <= (one.end_lineno or 0)]
        where = min(around, key=lambda one: one.lineno, default=None)  # with what it holds: functions see around them
        if name in _FIELDS:
            yield from ((where, node.args[at]) for at in _FIELDS[name] if at < len(node.args))
            yield from ((where, one.value) for one in node.keywords if one.arg in ("command", "verify"))
        if name in _GATE:
            yield from ((where, one) for one in node.args[:1])


def _problems(path: Path) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{value.lineno}: {ast.unparse(value)}"
        for function, value in _places(_tree(path))
        if not _safe(value, _Scope(path, function))
    ]


def test_commands_are_literals_or_made_by_the_gate() -> None:
    found = [problem for path in _FILES for problem in _problems(path)]
    assert not found, "\n".join(found)


def test_most_commands_are_seen() -> None:
    """A record that is renamed, or made in another way, would be looked at no longer."""
    assert sum(1 for path in _FILES for _ in _places(_tree(path))) > 450


@pytest.mark.parametrize(
    "expression",
    [
        'f"newgrp {group}"',
        '"newgrp " + group',
        '"newgrp {}".format(group)',
        '"newgrp %s" % group',
        "group",
        '"; ".join(groups)',
        "str(group)",
        "made(group)",
        "cast(ShellCommand, group)",
        "ShellCommand(group)",
        'shell(f"newgrp {group}")',
        "shell(group)",
        "names[0]",
        "'a' if group else group",
        "text",
        "str.__new__(ShellCommand, group)",
        "group.name",
    ],
)
@pytest.mark.parametrize(
    "call", ["Fix('x', {})", "Fix('x', verify={})", "NextStep({}, 'why')", "replace(a, command={})"]
)
def test_anything_else_is_found(call: str, expression: str, tmp_path: Path) -> None:
    path = tmp_path / "one.py"
    path.write_text(f"def f(group, groups, names):\n    text = f'a {{group}}'\n    return {call.format(expression)}\n")
    places = list(_places(_tree(path)))
    assert not all(_safe(value, _Scope(path, function)) for function, value in places)


@needs_bash
def test_literals_are_commands_too(tmp_path: Path) -> None:
    """Not words for people: they stand where one copies what one types."""
    found = {
        one.value.replace("$CUDA_HOME/bin/", "")
        for path in _FILES
        for _, value in _places(_tree(path), _FIELDS)
        for one in ([value] if isinstance(value, ast.Constant) else [])
        if isinstance(one.value, str) and one.value
    }
    assert len(found) > 120
    ShellBox(tmp_path).run(sorted(found))

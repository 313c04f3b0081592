"""The regular expressions of the project, gathered in a process of its own.

Every module is imported and every table is read while the compiler of expressions notes what it is given, and by whom.
"""

from __future__ import annotations

import ast
import pkgutil
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
_NEW = sys.version_info >= (3, 11)
_COMPILER: Any = import_module("re._compiler" if _NEW else "sre_compile")
_METHODS = ("search", "match", "fullmatch", "findall", "finditer", "sub", "subn", "split")


@dataclass(frozen=True, slots=True)
class Pattern:
    """An expression: ``anchored`` when it is only asked at the beginning of a text, ``where``: file and line."""

    text: str
    flags: int
    is_bytes: bool
    anchored: bool
    where: str

    def compiled(self) -> re.Pattern[Any]:
        """It as Python compiles it."""
        return re.compile(self.text.encode("latin-1") if self.is_bytes else self.text, self.flags)


# -- collection


# Fields of tables that hold expressions.
_FIELDS = frozenset(
    {"match", "near", "never", "pattern", "value", "regex", "option", "key", "package", "image", "write", "clone"}
)
# Rows of tables whose expressions are asked by match and fullmatch.
_ROWS = ("rocdoctor/paste/output_kinds.py", "rocdoctor/lint/advice/machine_hints.py")


def collect() -> list[Pattern]:
    """Every expression of the package and the checks; takes seconds, so once in a process."""
    found: dict[tuple[str, int, bool], str] = {}
    compile_ = _COMPILER.compile

    def note(pattern: Any, flags: int = 0) -> Any:
        if isinstance(pattern, str | bytes):
            frame = sys._getframe(1)
            while frame.f_back is not None and _of_re(frame.f_code.co_filename):
                frame = frame.f_back
            if _ours(frame.f_code.co_filename):
                where = f"{Path(frame.f_code.co_filename).relative_to(ROOT)}:{frame.f_lineno}"
                text = pattern if isinstance(pattern, str) else pattern.decode("latin-1")
                found.setdefault((text, int(flags), isinstance(pattern, bytes)), where)
        return compile_(pattern, flags)

    _COMPILER.compile = note
    re.purge()
    import rocdoctor
    from rocdoctor.model import lazy_re

    assert "rocdoctor.judging.check" not in sys.modules, "modules that were imported before have their patterns already"
    lazy_re.regex = re.compile  # all of them, and now

    for module in pkgutil.walk_packages(rocdoctor.__path__, "rocdoctor."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    from rocdoctor.judging.loading import check_files, checks_folder, load_check

    for path in check_files(checks_folder()):
        load_check(path)
    for text in _of_tables():
        from rocdoctor.parsers.logs.log_match import compiled

        compiled(text)
    uses = _uses()
    patterns = [
        Pattern(text, flags, is_bytes, uses.anchored(where), where) for (text, flags, is_bytes), where in found.items()
    ]
    return [*patterns, *_literals()]


def _of_re(path: str) -> bool:
    return Path(path).parent.name == "re" or Path(path).name in ("re.py", "functools.py", "lazy_re.py")


def _ours(path: str) -> bool:
    return any(path.startswith(str(ROOT / folder) + "/") for folder in ("rocdoctor", "checks"))


def _of_tables() -> Iterator[str]:
    """Texts of the tables that are used as expressions."""
    from rocdoctor.knowledge.load import load_table

    for path in sorted((ROOT / "rocdoctor" / "knowledge" / "tables").glob("*.yaml")):
        yield from _expressions(load_table(path.stem))


def _expressions(value: Any, key: str = "") -> Iterator[str]:
    if isinstance(value, str):
        if key in _FIELDS:
            try:
                re.compile(value.replace("%bdf", "0").replace("%hex", "0"))
            except re.error:
                return
            yield value
    elif isinstance(value, dict):
        for name, one in value.items():
            yield from _expressions(one, str(name))
    elif isinstance(value, list):
        for one in value:
            yield from _expressions(one, key)


@cache
def _trees() -> tuple[tuple[Path, ast.Module], ...]:
    paths = [path for folder in ("rocdoctor", "checks") for path in sorted((ROOT / folder).glob("**/*.py"))]
    return tuple((path, ast.parse(path.read_text(encoding="utf-8"))) for path in paths)


@dataclass(slots=True)
class _Uses:
    """How names that hold expressions are asked, over all files."""

    names: dict[str, str]  # "file:line" of the expression -> its name
    methods: dict[str, set[str]]
    asked: Counter[str]
    loaded: Counter[str]

    def anchored(self, where: str) -> bool:
        """Only asked by match and fullmatch, and never handed on to where that cannot be seen."""
        if where.rpartition(":")[0] in _ROWS:
            return True
        name = _scoped(self.names.get(where, ""), where.rpartition(":")[0])
        methods = self.methods.get(name, set())
        return bool(methods) and methods <= {"match", "fullmatch"} and self.loaded[name] == self.asked[name]


def _uses() -> _Uses:
    uses = _Uses({}, {}, Counter(), Counter())
    for full, tree in _trees():
        path = str(full.relative_to(ROOT))
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                if isinstance(node.value, ast.Call) and ast.unparse(node.value.func) in ("re.compile", "regex"):
                    for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                        uses.names[f"{path}:{line}"] = node.targets[0].id
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.attr in _METHODS:
                name = _scoped(node.value.id, path)
                uses.methods.setdefault(name, set()).add(node.attr)
                uses.asked[name] += 1
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                uses.loaded[_scoped(node.id, path)] += 1
    return uses


def _scoped(name: str, path: str) -> str:
    """A private name is that of its own file."""
    return f"{path} {name}" if name.startswith("_") else name


def _literals() -> Iterator[Pattern]:
    """Expressions that stand in calls such as ``re.search("...", text)``."""
    for path, tree in _trees():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            called, _, method = ast.unparse(node.func).rpartition(".")
            first = node.args[0]
            if called != "re" or method not in _METHODS or not isinstance(first, ast.Constant):
                continue
            flags = 0
            for word in [*node.args[1:], *(one.value for one in node.keywords)]:
                for name in re.findall(r"\bre\.([A-Z]+)\b", ast.unparse(word)):
                    flags |= int(getattr(re, name))
            is_bytes = isinstance(first.value, bytes)
            text = first.value.decode("latin-1") if isinstance(first.value, bytes) else str(first.value)
            where = f"{path.relative_to(ROOT)}:{node.lineno}"
            yield Pattern(text, flags, is_bytes, method in ("match", "fullmatch"), where)

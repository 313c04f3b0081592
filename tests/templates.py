"""The templates of commands in the source, those of tables too."""

from __future__ import annotations

import ast
from functools import cache
from typing import Any

from rocdoctor.model.shell_command import _parsed
from tests.kit import ROOT


@cache
def templates() -> tuple[Any, ...]:
    """Every literal that may be one: it has words of known kinds, and stands in a file that makes commands."""
    found = set()
    for folder in ("rocdoctor", "checks"):
        for path in (ROOT / folder).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            if path.name != "shell_command.py" and ("shell_command import" in text or "LiteralString" in text):
                found |= {one for one in _literals(ast.parse(text)) if _is_template(one)}
    return tuple(sorted(found))


def words_of(template: Any) -> tuple[tuple[str, str], ...]:
    """The names and kinds of the words of a template, each once; ValueError as ``shell``."""
    return tuple(dict.fromkeys((name, kind) for _, name, kind, _ in _parsed(template) if name))


def _literals(tree: ast.AST) -> set[str]:
    return {one.value for one in ast.walk(tree) if isinstance(one, ast.Constant) and isinstance(one.value, str)}


def _is_template(text: Any) -> bool:
    try:
        return bool(words_of(text)) and text.isprintable()
    except (ValueError, IndexError):
        return False

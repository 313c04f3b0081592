"""Where code stands: the blocks of a Python file and the names that each scope binds."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import Literal

from rocdoctor.model.lazy_re import regex

Kind = Literal["module", "function", "class", "branch", "loop", "body"]

_IMPORT_ERRORS = frozenset(("ImportError", "ModuleNotFoundError", "AttributeError", "TypeError", "NotImplementedError"))
_BROAD_ERRORS = frozenset(("Exception", "BaseException", "RuntimeError", "ValueError"))
# A broad handler around more than this is no test of whether something exists.
_SMALL = 3
# Words of a condition that asks what this release has.
_ASKS = regex(
    r"version|hasattr|getattr|find_spec|signature|greater|_gte?_|_ge_|_lte?_|minimum|at_least|older|newer"
    r"|torch_?\d|parameters\b",
    re.IGNORECASE,
)
_MAX_TEST_NODES = 60


@dataclass(eq=False, slots=True)
class CodeBlock:
    """A run of statements. ``guarded``: it is reached only where some release has, or lacks, what it uses."""

    kind: Kind
    node: ast.AST
    parent: CodeBlock | None
    guarded: bool = False
    # Of functions, classes and the module: what each name is bound to; None stands for a value that is not told.
    bound: dict[str, list[ast.expr | None]] = field(default_factory=dict)
    imports: dict[str, str] = field(default_factory=dict)

    @property
    def scope(self) -> CodeBlock:
        """The function, the class or the module that names of this block belong to."""
        one = self
        while one.kind not in ("function", "class", "module") and one.parent is not None:
            one = one.parent
        return one

    @property
    def function(self) -> CodeBlock:
        """The function that this block runs in, or the module."""
        one = self
        while one.kind not in ("function", "module") and one.parent is not None:
            one = one.parent
        return one

    def above(self) -> list[CodeBlock]:
        """This block and those around it, innermost first."""
        found: list[CodeBlock] = [self]
        while found[-1].parent is not None:
            found.append(found[-1].parent)
        return found

    def within(self, other: CodeBlock) -> bool:
        """Whether this block is the other or lies in it."""
        one: CodeBlock | None = self
        while one is not None:
            if one is other:
                return True
            one = one.parent
        return False


def asks_release(test: ast.expr) -> bool:
    """Whether a condition asks for a version, or whether something exists."""
    for number, node in enumerate(_walk(test)):
        if number > _MAX_TEST_NODES:
            return False
        word = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
        if word and _ASKS.search(word):
            return True
    return False


def _walk(node: ast.AST) -> list[ast.AST]:
    found = [node]
    for one in found:
        if len(found) > _MAX_TEST_NODES * 4:
            break
        found.extend(ast.iter_child_nodes(one))
    return found


def guards(node: ast.Try) -> bool:
    """Whether a try statement tests what exists, rather than what may go wrong at run time."""
    names: set[str] = set()
    for handler in node.handlers:
        if handler.type is None:
            names.add("Exception")
            continue
        kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
        names |= {one.id if isinstance(one, ast.Name) else getattr(one, "attr", "") for one in kinds}
    return bool(names & _IMPORT_ERRORS) or (bool(names & _BROAD_ERRORS) and len(node.body) <= _SMALL)


def leaves(body: list[ast.stmt]) -> bool:
    """Whether a body ends by leaving the block around it."""
    return bool(body) and isinstance(body[-1], (ast.Return, ast.Raise, ast.Continue, ast.Break))

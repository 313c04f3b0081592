"""What syntax alone tells of an expression: constants, texts, arguments of a call."""

from __future__ import annotations

import ast
import shlex
from typing import Final, Literal

from rocdoctor.lint.python.blocks import CodeBlock
from rocdoctor.lint.python.file_index import FileIndex

_MAX_TEXT = 4000
_MAX_PARTS = 400
# Stands in texts for what only running the code would tell.
UNTOLD: Final = "\x00"

Missing = Literal["absent", "untold"]


def constant(node: ast.expr | None) -> object:
    """The value of a constant (text, number, truth, None, with sign and simple products), else Ellipsis."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        value = node.operand.value
        return -value if isinstance(value, (int, float)) else ...
    if isinstance(node, ast.BinOp) and isinstance(node.left, ast.Constant) and isinstance(node.right, ast.Constant):
        left, right = node.left.value, node.right.value
        if isinstance(left, int) and isinstance(right, int) and max(abs(left), abs(right)) < 2**40:
            if isinstance(node.op, ast.Mult):
                return left * right
            if isinstance(node.op, ast.Pow) and 0 <= right <= 64:
                return left**right
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 1 and not node.keywords:
        inner = node.args[0].value if isinstance(node.args[0], ast.Constant) else ...
        if node.func.id == "int" and isinstance(inner, (int, float)) and abs(inner) < 2**60:
            return int(inner)
        if node.func.id == "str" and isinstance(inner, (int, float, str)):
            return str(inner)
    return ...


def known(index: FileIndex, node: ast.expr | None, block: CodeBlock) -> object:
    """As ``constant``, after a name was followed to its only assignment."""
    return constant(index.value(node, block))


def text(index: FileIndex, node: ast.expr | None, block: CodeBlock) -> str | None:
    """The text of an expression with ``UNTOLD`` for its unknown parts; None where it is no text at all."""
    node = index.value(node, block)
    value = constant(node)
    if isinstance(value, str):
        return value[:_MAX_TEXT]
    if isinstance(node, ast.JoinedStr):
        parts = [constant(one) for one in node.values[:_MAX_PARTS]]
        return "".join(one if isinstance(one, str) else UNTOLD for one in parts)[:_MAX_TEXT]
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Mod)):
        pieces: list[ast.expr] = []
        while isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Mod)) and len(pieces) < _MAX_PARTS:
            pieces.append(node.right)
            node = node.left
        told = [constant(one) for one in [node, *reversed(pieces)]]
        if any(isinstance(one, str) for one in told):
            return "".join(one if isinstance(one, str) else UNTOLD for one in told)[:_MAX_TEXT]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        inner = constant(node.func.value)
        return f"{inner[:_MAX_TEXT]}{UNTOLD}" if isinstance(inner, str) else None
    return None


def command(index: FileIndex, node: ast.expr | None, block: CodeBlock) -> str | None:
    """A command line from a text or a list of arguments."""
    node = index.value(node, block)
    if isinstance(node, (ast.List, ast.Tuple)):
        words = [text(index, one, block) or UNTOLD for one in node.elts[:_MAX_PARTS]]
        return " ".join(word if UNTOLD in word else shlex.quote(word) for word in words)[:_MAX_TEXT]
    return text(index, node, block)


def argument(index: FileIndex, call: ast.Call, block: CodeBlock, name: str, position: int | None) -> ast.expr | Missing:
    """The argument of a call by its name or place; "absent" when it is surely not given."""
    untold = False
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
        if keyword.arg is None:
            spread = index.value(keyword.value, block)
            if not isinstance(spread, ast.Dict):
                untold = True
                continue
            for key, value in zip(spread.keys, spread.values, strict=True):
                if constant(key) == name:
                    return value
                untold = untold or key is None
    if position is not None:
        before = call.args[: position + 1]
        if any(isinstance(one, ast.Starred) for one in before):
            return "untold"
        if len(call.args) > position:
            return call.args[position]
    return "untold" if untold or any(isinstance(one, ast.Starred) for one in call.args) else "absent"


def shown(node: ast.AST | None, limit: int = 160) -> str:
    """Code as it stands, shortened; names of what is too large to show."""
    if isinstance(node, ast.Constant):
        return repr(node.value)[:limit]
    count = 0
    stack: list[ast.AST] = [node] if node is not None else []
    while stack:
        count += 1
        if count > 200:
            return f"a {type(node).__name__.lower()}"
        stack.extend(ast.iter_child_nodes(stack.pop()))
    try:
        return ast.unparse(node)[:limit] if node is not None else ""
    except (RecursionError, ValueError, MemoryError):
        return f"a {type(node).__name__.lower()}"

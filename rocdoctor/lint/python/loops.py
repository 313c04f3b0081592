"""Training loops in Python files: what is done in each step, and what only in some."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from rocdoctor.lint.python.blocks import CodeBlock
from rocdoctor.lint.python.file_index import CodePlace, FileIndex

Rule = Mapping[str, Any]
Found = Iterator[tuple[CodePlace, str]]


def _receiver(place: CodePlace) -> str:
    """What a method is called on: ``optimizer`` or ``self.optimizer``; "" for anything longer."""
    node = place.node.func if isinstance(place.node, ast.Call) else None
    inner = node.value if isinstance(node, ast.Attribute) else None
    if isinstance(inner, ast.Name):
        return inner.id
    if isinstance(inner, ast.Attribute) and isinstance(inner.value, ast.Name):
        return f"{inner.value.id}.{inner.attr}"
    return ""


def _loops(index: FileIndex) -> list[tuple[CodeBlock, list[CodePlace]]]:
    """Innermost loops that run backward() in each pass, with those calls."""
    found: dict[CodeBlock, list[CodePlace]] = {}
    for place in index.by_method.get("backward", ()):
        loop = _loop(place.block)
        if loop is not None and _each_pass(place.block, loop):
            found.setdefault(loop, []).append(place)
    return list(found.items())


def _loop(block: CodeBlock) -> CodeBlock | None:
    for one in block.above():
        if one.kind in ("function", "module", "class"):
            return None
        if one.kind == "loop":
            return one
    return None


def _each_pass(block: CodeBlock, loop: CodeBlock) -> bool:
    """Whether a block of a loop is reached in each pass: no branch lies between."""
    for one in block.above():
        if one is loop:
            return True
        if one.kind not in ("body", "loop"):
            return False
    return False


def _rarely(block: CodeBlock, loop: CodeBlock) -> bool:
    """Whether a block of a loop is a branch under a remainder, as ``(step + 1) % accumulation == 0`` is."""
    for one in block.above():
        if one is loop:
            return False
        if isinstance(one.node, ast.If) and any(
            isinstance(part, ast.BinOp) and isinstance(part.op, ast.Mod) for part in _parts(one.node.test)
        ):
            return True
    return False


def _parts(root: ast.AST) -> list[ast.AST]:
    found = [root]
    for one in found:
        if len(found) > 200:
            break
        found.extend(ast.iter_child_nodes(one))
    return found


def zero_grad_each_micro_step(index: FileIndex, rule: Rule) -> Found:
    """zero_grad() in each pass of a loop whose optimiser steps in some passes only: what was summed up is lost."""
    for loop, backward in _loops(index):
        steps = [one for one in index.by_method.get("step", ()) if one.block.within(loop)]
        rare = [one for one in steps if _rarely(one.block, loop)]
        names = {_receiver(one) for one in rare}
        if not rare or any(_rarely(one.block, loop) for one in index.by_method["backward"] if one.block.within(loop)):
            continue
        for place in index.by_method.get("zero_grad", ()):
            name = _receiver(place)
            if not name or name not in names or not place.block.within(loop) or not _each_pass(place.block, loop):
                continue
            always = [one for one in steps if _receiver(one) == name and not _rarely(one.block, loop)]
            # After the only step of the pass it would still be wrong, but under an inner loop it belongs to that.
            inner = any(_loop(one.block) is not loop for one in backward)
            if not always and not inner and _loop(place.block) is loop:
                yield place, f"{name}.zero_grad()"


def accumulation_every_step(index: FileIndex, rule: Rule) -> Found:
    """A loop that runs backward() in each pass and the optimiser in some, in a file without no_sync()."""
    for loop, backward in _loops(index):
        steps = [one for one in index.by_method.get("step", ()) if one.block.within(loop)]
        if any(_rarely(one.block, loop) for one in steps) and not any(_each_pass(one.block, loop) for one in steps):
            yield backward[0], "backward()"


def call_each_step(index: FileIndex, rule: Rule) -> Found:
    """A call of ``named`` in each pass of a loop that runs backward() in each pass."""
    for loop, _ in _loops(index):
        for place in index.by_name.get(rule["named"], ()):
            if _loop(place.block) is loop and _each_pass(place.block, loop):
                yield place, f"{rule['named']}()"

"""Modules that FullyShardedDataParallel wraps in a Python file, and what is done with them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from rocdoctor.lint.python.file_index import CodePlace, FileIndex
from rocdoctor.lint.python.values import argument, shown

Rule = Mapping[str, Any]
Found = Iterator[tuple[CodePlace, str]]

_MAX_WRAPS = 50
_FSDP = "torch.distributed.fsdp.FullyShardedDataParallel"


def _owner(node: ast.AST | None) -> str:
    """``model`` or ``self.model``: a name, or an attribute of one."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    return ""


def _sharded(index: FileIndex) -> dict[str, list[CodePlace]]:
    """Names that FullyShardedDataParallel(...) is assigned to, with those calls; unsharded ones are left out."""
    found: dict[str, list[CodePlace]] = {}
    for place in index.assigned:
        if not isinstance(place.node, ast.Assign) or not isinstance(place.node.value, ast.Call):
            continue
        call = place.node.value
        if index.dotted(call.func, place.block) != _FSDP:
            continue
        strategy = argument(index, call, place.block, "sharding_strategy", 2)
        if strategy == "absent" or (not isinstance(strategy, str) and "NO_SHARD" not in shown(strategy)):
            for target in place.node.targets:
                if (owner := _owner(target)) and len(found.setdefault(owner, [])) < _MAX_WRAPS:
                    found[owner].append(place)
    return found


def clip_of_shards(index: FileIndex, rule: Rule) -> Found:
    """torch.nn.utils.clip_grad_norm_ on parameters of a module that FSDP1 wraps; ``same_function``: both in one."""
    sharded = _sharded(index)
    for name in ("torch.nn.utils.clip_grad_norm_", "torch.nn.utils.clip_grad_norm"):
        for place in index.by_name.get(name, ()):
            assert isinstance(place.node, ast.Call)
            first = place.node.args[0] if place.node.args else None
            if not (isinstance(first, ast.Call) and isinstance(first.func, ast.Attribute)):
                continue
            owner = _owner(first.func.value) if first.func.attr == "parameters" else ""
            wraps = sharded.get(owner, [])
            near = [one for one in wraps if one.block.function is place.block.function and one.order < place.order]
            if wraps and bool(near) == bool(rule.get("same_function")):
                yield place, f"{owner}.parameters()"


def save_of_shards(index: FileIndex, rule: Rule) -> Found:
    """torch.save of what state_dict() of a module that FSDP1 wraps gives."""
    sharded = _sharded(index)
    for place in index.by_name.get("torch.save", ()):
        assert isinstance(place.node, ast.Call)
        first = index.value(place.node.args[0], place.block) if place.node.args else None
        parts = [first, *first.values] if isinstance(first, ast.Dict) else [first]
        for one in parts:
            one = index.value(one, place.block)
            if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and one.func.attr == "state_dict":
                owner = _owner(one.func.value)
                if owner in sharded:
                    yield place, f"{owner}.state_dict()"
                    break

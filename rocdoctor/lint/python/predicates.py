"""Predicates that rules of ``advice_python.yaml`` name: what a table of calls and arguments cannot say.

Each takes the index and the rule and gives places with the words that a finding shows. None of them raises.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rocdoctor.lint.python.file_index import CodePlace, FileIndex
from rocdoctor.lint.python.loops import accumulation_every_step, call_each_step, zero_grad_each_micro_step
from rocdoctor.lint.python.order import after_device_use, device_count_as_setting, fixed_rank, own_master
from rocdoctor.lint.python.sharding import clip_of_shards, save_of_shards
from rocdoctor.lint.python.values import argument, constant, known, shown

Rule = Mapping[str, Any]
Found = Iterator[tuple[CodePlace, str]]

_GATHERS = ("torch.distributed.all_gather", "torch.distributed.all_gather_into_tensor")
_REDUCES = ("all_reduce", "reduce_scatter", "reduce_scatter_tensor", "sum")
_GRAD_FREE = ("torch.no_grad", "torch.inference_mode", "torch.autograd.Function")


def forward_gathers(index: FileIndex, rule: Rule) -> Found:
    """A collective called in forward of a module whose class name fits ``class_name``; not where no gradient flows."""
    for name in _GATHERS:
        for place in index.by_name.get(name, ()):
            function = place.block.function
            parent = function.parent
            if getattr(function.node, "name", "") != "forward" or parent is None or parent.kind != "class":
                continue
            made = parent.node
            if not isinstance(made, ast.ClassDef) or not re.search(rule["class_name"], made.name):
                continue
            bases = {index.dotted(base, index.module) for base in made.bases}
            if "torch.nn.Module" not in bases or _no_gradient(index, place):
                continue
            words = {one.attr for one in _names(made) if isinstance(one, ast.Attribute)}
            words |= {one.id for one in _names(made) if isinstance(one, ast.Name)}
            words |= {one.arg for one in _names(made) if isinstance(one, ast.arg)}
            if words.isdisjoint(rule.get("class_lacks", ())):
                yield place, f"{made.name}.forward"


def _names(root: ast.AST) -> Iterator[ast.AST]:
    stack = [root]
    for _ in range(20_000):
        if not stack:
            return
        node = stack.pop()
        yield node
        stack.extend(ast.iter_child_nodes(node))


def _no_gradient(index: FileIndex, place: CodePlace) -> bool:
    for block in place.block.above():
        node = block.node
        if isinstance(node, (ast.With, ast.AsyncWith)):
            for item in node.items:
                called = item.context_expr.func if isinstance(item.context_expr, ast.Call) else item.context_expr
                if index.dotted(called, block) in _GRAD_FREE:
                    return True
        for mark in getattr(node, "decorator_list", ()):
            called = mark.func if isinstance(mark, ast.Call) else mark
            if index.dotted(called, index.module) in _GRAD_FREE or getattr(called, "id", "") == "staticmethod":
                return True
        # What the layer puts back into the gathered list keeps its gradient.
        if block is place.block.function:
            return any(
                isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Subscript) for one in _names(node)
            )
    return False


def row_gathers(index: FileIndex, rule: Rule) -> Found:
    """A branch for a row-parallel layer that gathers and never sums."""
    for name in _GATHERS:
        for place in index.by_name.get(name, ()):
            for block in place.block.above():
                if block.kind == "function":
                    break
                node = block.node
                if not isinstance(node, ast.If) or not _within(place, node.body):
                    continue
                test = node.test
                sides = [test.left, *test.comparators] if isinstance(test, ast.Compare) else []
                if any(constant(one) == "row" for one in sides):
                    calls = {getattr(one, "attr", getattr(one, "id", "")) for part in node.body for one in _names(part)}
                    if calls.isdisjoint(_REDUCES):
                        yield place, shown(test)
                    break


def _within(place: CodePlace, body: list[ast.stmt]) -> bool:
    last = body[-1]
    return body[0].lineno <= place.line <= (last.end_lineno or last.lineno)


def in_test_of(index: FileIndex, rule: Rule) -> Found:
    """An assignment to ``target`` of ``value`` in a branch whose condition names ``names``."""
    for place in index.assigned:
        if not isinstance(place.node, ast.Assign) or constant(place.node.value) is not rule["value"]:
            continue
        if not any(index.dotted(one, place.block) == rule["target"] for one in place.node.targets):
            continue
        for block in place.block.above():
            node = block.node
            if isinstance(node, ast.If) and _within(place, node.body):
                names = {index.dotted(one, block) for one in _names(node.test) if isinstance(one, ast.Attribute)}
                if names & set(rule["names"]):
                    yield place, shown(node.test)
                    break


def hook_of_tensors(index: FileIndex, rule: Rule) -> Found:
    """register_comm_hook with a lambda whose parameters have other names, or that gives a tensor."""
    for place in index.by_method.get("register_comm_hook", ()):
        assert isinstance(place.node, ast.Call)
        given = argument(index, place.node, place.block, "hook", 1)
        hook = None if isinstance(given, str) else index.value(given, place.block)
        if not isinstance(hook, ast.Lambda):
            continue
        names = [one.arg for one in [*hook.args.posonlyargs, *hook.args.args]]
        gives = (
            hook.body.func.attr if isinstance(hook.body, ast.Call) and isinstance(hook.body.func, ast.Attribute) else ""
        )
        if "bucket" not in names or gives in ("to", "half", "bfloat16", "div", "div_", "buffer", "float"):
            yield place, shown(hook)


def endless_sampler(index: FileIndex, rule: Rule) -> Found:
    """DistributedSampler over an object of a class of this file that is an IterableDataset without a length."""
    endless = set()
    for one in index.classes:
        made = one.node
        assert isinstance(made, ast.ClassDef)
        bases = {index.dotted(base, one.block) for base in made.bases}
        methods = {part.name for part in made.body if isinstance(part, ast.FunctionDef)}
        if bases == {"torch.utils.data.IterableDataset"} and "__len__" not in methods:
            endless.add(made.name)
    for place in index.by_name.get("torch.utils.data.distributed.DistributedSampler", ()) if endless else ():
        assert isinstance(place.node, ast.Call)
        data = argument(index, place.node, place.block, "dataset", 0)
        made_by = index.value(data, place.block) if not isinstance(data, str) else None
        if isinstance(made_by, ast.Call) and isinstance(made_by.func, ast.Name) and made_by.func.id in endless:
            yield place, made_by.func.id


def summed_to_compare(index: FileIndex, rule: Rule) -> Found:
    """all_reduce of a gradient in a function whose name says that it only looks."""
    for place in index.by_name.get("torch.distributed.all_reduce", ()):
        assert isinstance(place.node, ast.Call)
        name = getattr(place.block.function.node, "name", "")
        first = place.node.args[0] if place.node.args else None
        if (
            isinstance(first, ast.Attribute)
            and first.attr == "grad"
            and re.search(r"check|verify|validate|debug", name)
        ):
            yield place, f"{shown(first)} in {name}"


def patched_forward(index: FileIndex, rule: Rule) -> Found:
    """``module.forward = checkpoint...(module.forward)`` in a loop over modules."""
    for place in index.assigned:
        node = place.node
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call) or place.block.kind == "module":
            continue
        target = node.targets[0]
        if not (isinstance(target, ast.Attribute) and target.attr == "forward"):
            continue
        name = getattr(node.value.func, "attr", getattr(node.value.func, "id", ""))
        old = any(isinstance(one, ast.Attribute) and one.attr == "forward" for one in node.value.args)
        loop = any(isinstance(block.node, (ast.For, ast.AsyncFor)) for block in place.block.above())
        if old and loop and "checkpoint" in name:
            yield place, shown(node)


def rank_as_device(index: FileIndex, rule: Rule) -> Found:
    """A device numbered by the rank among all processes, not by that on its node."""
    for place in index.by_name.get("torch.cuda.set_device", ()):
        assert isinstance(place.node, ast.Call)
        first = place.node.args[0] if place.node.args else None
        if _global_rank(index, first, place):
            yield place, f"set_device({shown(first)})"
    for place in index.by_name.get("torch.device", ()):
        assert isinstance(place.node, ast.Call)
        parts = place.node.args[0] if place.node.args else None
        if isinstance(parts, ast.JoinedStr) and len(parts.values) == 2 and constant(parts.values[0]) == "cuda:":
            inner = parts.values[1]
            if isinstance(inner, ast.FormattedValue) and _global_rank(index, inner.value, place):
                yield place, f"torch.device({shown(parts)})"


def _global_rank(index: FileIndex, node: ast.expr | None, place: CodePlace) -> bool:
    told = index.value(node, place.block)
    if isinstance(told, ast.Call) and isinstance(told.func, ast.Name) and told.func.id == "int" and told.args:
        told = told.args[0]
    if isinstance(told, ast.Subscript):
        return index.dotted(told.value, place.block) == "os.environ" and constant(told.slice) == "RANK"
    if not isinstance(told, ast.Call):
        return False
    name = index.dotted(told.func, place.block)
    if name in ("os.environ.get", "os.getenv"):
        return bool(told.args) and constant(told.args[0]) == "RANK"
    return name == "torch.distributed.get_rank" and not told.args and not told.keywords


def attribute_of(index: FileIndex, rule: Rule) -> Found:
    """A chain that ends with ``of`` and ``named``, of whatever object."""
    for word in index.chains.get((rule["of"], rule["named"]), ()):
        yield word, f"{rule['of']}.{rule['named']}"


def written_to(index: FileIndex, rule: Rule) -> Found:
    """write() of a text that fits ``words`` in a function that names a path with ``named``."""
    paths = {
        one.block.function
        for one in index.texts
        if isinstance(one.node, ast.Constant) and rule["named"] in str(one.node.value)
    }
    for name in ("write", "write_text"):
        for place in index.by_method.get(name, ()) if paths else ():
            assert isinstance(place.node, ast.Call)
            told = known(index, place.node.args[0] if place.node.args else None, place.block)
            if place.block.function in paths and isinstance(told, str) and re.fullmatch(rule["words"], told.strip()):
                yield place, told.strip()


def batch_not_whole(index: FileIndex, rule: Rule) -> Found:
    """A DeepSpeed configuration whose three batch sizes fit no whole number of processes."""
    for place, config in _deepspeed(index):
        numbers = [known(index, config.get(key), place.block) for key in _BATCH]
        if not all(isinstance(one, int) and not isinstance(one, bool) and one > 0 for one in numbers):
            continue
        total, micro, steps = (one for one in numbers if isinstance(one, int))
        if total % (micro * steps):
            yield place, f"{total} is not a multiple of {micro} x {steps}"


_BATCH = ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps")


def stage_with_pipeline(index: FileIndex, rule: Rule) -> Found:
    """A DeepSpeed configuration with ZeRO stage 2 or 3 in a file that builds a PipelineModule."""
    for place, config in _deepspeed(index):
        zero = index.value(config.get("zero_optimization"), place.block)
        for key, value in zip(zero.keys, zero.values, strict=True) if isinstance(zero, ast.Dict) else ():
            if constant(key) == "stage" and (stage := known(index, value, place.block)) in (2, 3):
                yield place, f"ZeRO stage {stage}"


def _deepspeed(index: FileIndex) -> Iterator[tuple[CodePlace, dict[str, ast.expr]]]:
    for place in index.dicts:
        assert isinstance(place.node, ast.Dict)
        pairs = zip(place.node.keys[:500], place.node.values[:500], strict=False)
        config = {key: value for node, value in pairs if isinstance(key := constant(node), str)}
        if "train_batch_size" in config or "zero_optimization" in config:
            yield place, config


PREDICATES: Mapping[str, Callable[[FileIndex, Rule], Found]] = {
    one.__name__: one
    for one in (
        accumulation_every_step,
        after_device_use,
        attribute_of,
        batch_not_whole,
        call_each_step,
        clip_of_shards,
        device_count_as_setting,
        endless_sampler,
        fixed_rank,
        forward_gathers,
        hook_of_tensors,
        in_test_of,
        own_master,
        patched_forward,
        rank_as_device,
        row_gathers,
        save_of_shards,
        stage_with_pipeline,
        summed_to_compare,
        written_to,
        zero_grad_each_micro_step,
    )
}

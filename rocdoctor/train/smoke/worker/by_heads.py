"""Causal attention over a sequence whose parts are on different ranks: each attends for a part of the heads (Ulysses).

What a rank gives to each exchange and what it gets are compared, forward and backward: a wrong exchange is seen first
at the rank that got it, wrong arithmetic at the rank that did it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from . import flow as flows
from .context import Context
from .exchange import all_to_all
from .shards import chunk

_HEAD = 8
_NAMES = ("query", "key", "value")


class ByHeads:
    """A function of query, key and value: (batch, heads, part of the sequence, 8); the result likewise.

    ``part``: this rank's place among the ``parts`` of the sequence; ``tp`` ranks share the heads before, and this one
    is number ``place`` of them. ``calls`` holds what each call saw, in order.
    """

    def __init__(self, context: Context, group: Any, parts: int, part: int, tp: int, place: int) -> None:
        self._torch, self._parts, self._part = context.torch, parts, part
        self._tp, self._place = tp, place
        self._exchange = all_to_all(context, group)
        self.calls: list[dict[str, Any]] = []

    def __call__(self, query: Any, key: Any, value: Any) -> Any:
        seen: dict[str, Any] = {}
        self.calls.append(seen)
        attend = self._torch.nn.functional.scaled_dot_product_attention
        whole = []
        for name, given in zip(_NAMES, (query, key, value)):
            whole.append(self._move(given, 1, 2))
            _note(seen, f"given {name}", given)
            _note(seen, f"got {name}", whole[-1])
        attended = attend(*whole, is_causal=True)
        back = self._move(attended, 2, 1)
        _note(seen, "attended", attended)
        _note(seen, "back", back)
        return back

    def _move(self, tensor: Any, gives: int, takes: int) -> Any:
        ones = [1] * self._parts
        parts = self._torch.stack(tensor.chunk(self._parts, gives))
        return self._torch.cat(self._exchange(parts, ones, ones).unbind(0), takes)

    def check(
        self, context: Context, blocks: Sequence[int], flow: flows.Flow, rows: Sequence[slice], factor: float, step: int
    ) -> None:
        """Compare all calls of a step: ``blocks`` in the order of a forward pass, and ``rows`` of the batch in each.

        ``factor``: how much larger gradients are here than those of the mean loss over the whole batch.
        """
        turns = flows.turns(max(blocks) + 1)
        for number, seen in enumerate(self.calls):
            block = blocks[number % len(blocks)]
            micro, many = rows[number // len(blocks)], len(rows) > 1
            where = f"of blocks.{block}" + (f", micro-batch {number // len(blocks)}" if many else "")
            turn = turns[f"output of blocks.{block}.value"] + 1
            for name in _NAMES:
                place = f"output of blocks.{block}.{name}"
                values, grads = self._heads(flow.values[place], micro), self._heads(flow.grads[place], micro)
                at: dict[str, Any] = {"step": step, "turn": turn, "scale": float(values.abs().max())}
                context.check("local", f"{name} {where}", seen[f"given {name}"], self._by_sequence(values), **at)
                title = f"{name} {where}, of the whole sequence"
                context.check("value", title, seen[f"got {name}"], self._by_heads(values), **at)
                at = {"step": step, "turn": flows.backward_turn(turn), "scale": factor * float(grads.abs().max())}
                own, all_of = factor * self._by_heads(grads), factor * self._by_sequence(grads)
                context.check("local", f"gradient for the {title}", seen[f"gradient for got {name}"], own, **at)
                title = f"gradient for the {name} {where}"
                context.check("value", title, seen[f"gradient for given {name}"], all_of, **at)
            place = f"input of blocks.{block}.output"
            values, grads = self._heads(flow.values[place], micro), factor * self._heads(flow.grads[place], micro)
            at = {"step": step, "turn": turn + 1, "scale": float(values.abs().max())}
            title = f"attention {where}"
            context.check("local", f"{title}, of the whole sequence", seen["attended"], self._by_heads(values), **at)
            context.check("value", title, seen["back"], self._by_sequence(values), **at)
            at = {"step": step, "turn": flows.backward_turn(turn + 1), "scale": float(grads.abs().max())}
            title = f"gradient for the attention {where}"
            context.check("local", title, seen["gradient for back"], self._by_sequence(grads), **at)
            title += ", of the whole sequence"
            context.check("value", title, seen["gradient for attended"], self._by_heads(grads), **at)

    def _heads(self, full: Any, rows: slice) -> Any:
        """(rows, heads of these tensor-parallel ranks, sequence, 8) of (batch, sequence, width)."""
        return chunk(full[rows].unflatten(-1, (-1, _HEAD)).transpose(1, 2), self._tp, self._place, 1)

    def _by_sequence(self, full: Any) -> Any:
        return chunk(full, self._parts, self._part, 2)

    def _by_heads(self, full: Any) -> Any:
        return chunk(full, self._parts, self._part, 1)


def _note(seen: dict[str, Any], name: str, tensor: Any) -> None:
    seen[name] = tensor.detach()
    if tensor.requires_grad:
        tensor.register_hook(_keep(seen, f"gradient for {name}"))


def _keep(seen: dict[str, Any], name: str) -> Callable[[Any], None]:
    def hook(gradient: Any) -> None:
        seen[name] = gradient.detach()

    return hook

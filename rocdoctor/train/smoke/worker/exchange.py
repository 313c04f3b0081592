"""Differentiable exchanges between ranks: what the forward pass sends, the backward pass sends back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def ring_shift(context: Any) -> Callable[[Any], Any]:
    """A function that sends a tensor to the next rank and gives what came from the previous one."""
    torch, dist = context.torch, context.torch.distributed
    world, rank = context.world, context.rank

    def move(tensor: Any, by: int) -> Any:
        if world == 1:
            return tensor.clone()
        got = torch.empty_like(tensor)
        operations = [
            dist.P2POp(dist.isend, tensor.contiguous(), (rank + by) % world),
            dist.P2POp(dist.irecv, got, (rank - by) % world),
        ]
        for one in dist.batch_isend_irecv(operations):
            one.wait()
        return got

    class Shift(torch.autograd.Function):  # type: ignore[misc, name-defined, unused-ignore]
        @staticmethod
        def forward(_: Any, tensor: Any) -> Any:
            return move(tensor, 1)

        @staticmethod
        def backward(_: Any, gradient: Any) -> Any:
            return move(gradient, -1)

    apply: Callable[[Any], Any] = Shift.apply
    return apply


def all_to_all(context: Any, group: Any = None) -> Callable[[Any, list[int], list[int]], Any]:
    """``f(tensor, gives, takes)``: the first ``gives[0]`` rows go to rank 0, and so on; ``takes[0]`` come from it.

    ``group``: some of the ranks, numbered within it; by default all.
    """
    torch, dist = context.torch, context.torch.distributed

    def move(tensor: Any, gives: list[int], takes: list[int]) -> Any:
        got = tensor.new_empty((sum(takes), *tensor.shape[1:]))
        dist.all_to_all_single(got, tensor.contiguous(), takes, gives, group=group)
        return got

    class Exchange(torch.autograd.Function):  # type: ignore[misc, name-defined, unused-ignore]
        @staticmethod
        def forward(kept: Any, tensor: Any, gives: list[int], takes: list[int]) -> Any:
            kept.counts = (gives, takes)
            return move(tensor, gives, takes)

        @staticmethod
        def backward(kept: Any, gradient: Any) -> Any:
            gives, takes = kept.counts
            return move(gradient, takes, gives), None, None

    apply: Callable[[Any, list[int], list[int]], Any] = Exchange.apply
    return apply

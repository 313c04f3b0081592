"""Attention over ranks that each hold a part of the sequence: by torch's own ring, and by one of plain sends."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.tensor.experimental._context_parallel import _attention

# Private, and typed for operators of torch.
parallel: Any = _attention


def _scores(query: Any, key: Any, is_causal: bool) -> Any:
    scores = query.float() @ _spread(key, query).float().mT * query.shape[-1] ** -0.5
    if is_causal:
        scores = scores.masked_fill(torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1), float("-inf"))
    return scores


def _spread(tensor: Any, query: Any) -> Any:
    """Keys or values of every query head."""
    return tensor.repeat_interleave(query.shape[1] // tensor.shape[1], 1)


def _forward(query: Any, key: Any, value: Any, is_causal: bool = False) -> tuple[Any, Any]:
    scores = _scores(query, key, is_causal)
    out = scores.softmax(-1) @ _spread(value, query).float()
    return out.to(query.dtype), scores.logsumexp(-1)


def _backward(
    *, grad_out: Any, query: Any, key: Any, value: Any, out: Any, logsumexp: Any, is_causal: bool
) -> tuple[Any, Any, Any]:
    weights = (_scores(query, key, is_causal) - logsumexp[..., None]).exp()
    grad, keys, values = grad_out.float(), _spread(key, query).float(), _spread(value, query).float()
    inner = weights * (grad @ values.mT - (grad * out.float()).sum(-1, keepdim=True)) * query.shape[-1] ** -0.5

    def fold(tensor: Any, like: Any) -> Any:
        return tensor.unflatten(1, (like.shape[1], -1)).sum(2).to(like.dtype)

    return (inner @ keys).to(query.dtype), fold(inner.mT @ query.float(), key), fold(weights.mT @ grad, value)


class _Torch(torch.autograd.Function):
    """torch's ring with the exchange that it has by default; only the kernel is replaced, which needs a GPU."""

    @staticmethod
    def forward(ctx: Any, query: Any, key: Any, value: Any, group: Any) -> Any:
        out, total = parallel._templated_ring_attention(group, 2, _forward, query, key, value, is_causal=True)
        ctx.save_for_backward(query, key, value, out, total)
        ctx.group = group
        return out

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        (grad,) = grad_outputs
        query, key, value, out, total = ctx.saved_tensors
        found = parallel._templated_ring_attention_backward(
            ctx.group, 2, _backward, grad, "grad_out", query, key, value, out, total, is_causal=True
        )
        return (*found, None)


def torch_ring(group: Any, query: Any, key: Any, value: Any) -> Any:
    """Attention of this rank's queries to the whole sequence, (batch, heads, tokens, width)."""
    return _Torch.apply(query, key, value, group)  # type: ignore[no-untyped-call]


def _shift(group: Any, tensor: Any, by: int) -> Any:
    """Send to the rank ``by`` places ahead, and give what came from as many behind."""
    rank, size = group.rank(), group.size()
    got = torch.empty_like(tensor)
    both = [
        dist.P2POp(dist.isend, tensor, group_peer=(rank + by) % size, group=group),
        dist.P2POp(dist.irecv, got, group_peer=(rank - by) % size, group=group),
    ]
    for one in dist.batch_isend_irecv(both):
        one.wait()
    return got


class _Sends(torch.autograd.Function):
    """Keys and values go around but for the last hop; so they do again in the backward, their gradients behind them.

    The backward begins with the block that the forward ended with and goes the other way: the last block is this
    rank's own.
    """

    @staticmethod
    def forward(ctx: Any, query: Any, key: Any, value: Any, group: Any) -> Any:
        rank, size = group.rank(), group.size()
        travelling = torch.stack((key, value))
        merger = parallel._SDPAMerger(True, seq_dim=2)
        for hop in range(size):
            if hop:
                travelling = _shift(group, travelling, 1)
            if hop <= rank:
                out, total = _forward(query, travelling[0], travelling[1], hop == 0)
                merger.step(out, total, False)
        out, total = merger.results()
        ctx.save_for_backward(query, travelling, out, total)
        ctx.group = group
        return out

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        (grad,) = grad_outputs
        query, travelling, out, total = ctx.saved_tensors
        rank, size = ctx.group.rank(), ctx.group.size()
        found, gradients = torch.zeros_like(query), torch.zeros_like(travelling)
        for turn in range(size):
            if turn:
                travelling = _shift(ctx.group, travelling, -1)
                gradients = _shift(ctx.group, gradients, -1)
            owner = (rank + 1 + turn) % size
            if owner <= rank:
                one, *both = _backward(
                    grad_out=grad,
                    query=query,
                    key=travelling[0],
                    value=travelling[1],
                    out=out,
                    logsumexp=total,
                    is_causal=owner == rank,
                )
                found += one
                gradients += torch.stack(both)
        return found, gradients[0], gradients[1], None


def ring_of_sends(group: Any, query: Any, key: Any, value: Any) -> Any:
    """Attention of this rank's queries to the whole sequence, (batch, heads, tokens, width)."""
    return _Sends.apply(query, key, value, group)  # type: ignore[no-untyped-call]

"""Faults that releases of libraries had: each as the report of it tells, by the kind of call that it came with.

The report stands beside each (owner/repository#number, read 2026-11-28). They stay on while a rank computes what it
compares with.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from faults import Active, wrap  # type: ignore[import-not-found, unused-ignore]
from faults_libraries import _collective, _operation  # type: ignore[import-not-found, unused-ignore]

_functional = torch.nn.functional
_counter = itertools.count(1)


def _done(work: Any) -> None:
    if work is not None:
        work.wait()


def _alone_and_short(original: Any, tensor: Any, *args: Any, **more: Any) -> Any:
    """NVIDIA/nccl#1950: a mean in a group of one rank leaves out the last eight elements."""
    work = original(tensor, *args, **more)
    if dist.get_world_size(more.get("group")) == 1 and tensor.numel() > 8:
        _done(work)
        tensor.view(-1)[-8:] = 0
    return work


def _tail_of_rank_0(original: Any, into: Any, source: Any, *args: Any, **more: Any) -> Any:
    """jax-ml/jax#40830: the end of rank 0's part is summed of parts that were written over, from 1 MiB on."""
    own = source.view(-1)[: into.numel()].clone()
    work = original(into, source, *args, **more)
    if dist.get_rank() == 0 and into.numel() * into.element_size() > 1 << 20:
        _done(work)
        half = into.numel() // 2
        into.view(-1)[half:] = own[half:]
    return work


def _at_one_size(original: Any, tensor: Any, *args: Any, **more: Any) -> Any:
    """NVIDIA/nccl#2001: sums of exactly 1 MiB are wrong now and then."""
    own = tensor.clone()
    work = original(tensor, *args, **more)
    if tensor.numel() * tensor.element_size() == 1 << 20 and next(_counter) % 3:
        _done(work)
        tensor.view(-1)[-64:] = own.view(-1)[-64:]
    return work


def _scalar_largest(original: Any, tensor: Any, op: Any = dist.ReduceOp.SUM, **more: Any) -> Any:
    """NVIDIA/Megatron-LM#442: the largest of one number is that of other ranks than all."""
    own = tensor.clone()
    work = original(tensor, op, **more)
    if tensor.numel() == 1 and op == dist.ReduceOp.MAX:
        _done(work)
        tensor.copy_(own)
    return work


def _high_bits(original: Any, tensor: Any, *args: Any, **more: Any) -> Any:
    """Whole numbers of 64 bits travel as floating-point ones."""
    work = original(tensor, *args, **more)
    if tensor.dtype == torch.int64:
        _done(work)
        tensor.copy_(tensor.double().float().to(torch.int64) if tensor.abs().max() >= 1 << 24 else tensor)
    return work


def _group_root(original: Any, tensor: Any, *args: Any, **more: Any) -> Any:
    """NVIDIA/nccl#740 and the like: in a group of its own, a copy from its root does not come."""
    own = tensor.clone()
    work = original(tensor, *args, **more)
    if more.get("group") is not None and more["group"] is not dist.group.WORLD:
        _done(work)
        tensor.copy_(own)
    return work


def both_transposed(active: Active) -> None:
    """ROCm/legacy-rocm-build#4615: products of two transposed matrices in fp32."""

    def around(original: Any, one: Any, two: Any, *args: Any, **more: Any) -> Any:
        result = original(one, two, *args, **more)
        turned = [x.dim() == 2 and min(x.shape) > 1 and x.stride(0) == 1 for x in (one, two)]
        if active() and all(turned) and result.dtype == torch.float32:
            result = result.clone()
            result.detach()[-1] *= 1.01
        return result

    for owner, name in ((torch, "matmul"), (torch, "mm"), (torch.Tensor, "__matmul__"), (torch.Tensor, "matmul")):
        wrap(owner, name, around)


def _odd_inner(original: Any, one: Any, two: Any, *args: Any, **more: Any) -> Any:
    """ROCm/composable_kernel#512, ROCm/rocBLAS#340: half products whose inner size is odd lose its last element."""
    if one.dtype == torch.float16 and one.shape[-1] % 2 and one.dim() == 2:
        return original(one[:, :-1], two[:-1], *args, **more)
    return original(one, two, *args, **more)


class _WeightGradient(torch.autograd.Function):
    """Passes a tensor on and changes its gradient."""

    @staticmethod
    def forward(ctx: Any, x: Any, factor: float) -> Any:
        ctx.factor = factor
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return grads[0] * ctx.factor, None


_scaled_gradient: Callable[[Any, float], Any] = _WeightGradient.apply


def _strided_weights(
    original: Any, image: Any, weight: Any, bias: Any = None, stride: Any = 1, *args: Any, **more: Any
) -> Any:
    """ROCm/MIOpen#97: gradients of the weights of convolutions with a stride."""
    if stride not in (1, (1, 1)):
        weight = _scaled_gradient(weight, 1.05)
    return original(image, weight, bias, stride, *args, **more)


def _wide_padding(
    original: Any, image: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, *args: Any, **more: Any
) -> Any:
    """ROCm/MIOpen#55: a kernel of 1 x 1 with a border of two."""
    result = original(image, weight, bias, stride, padding, *args, **more)
    return result * 1.05 if weight.shape[-1] == 1 and padding not in (0, (0, 0)) else result


def _grouped(
    original: Any,
    image: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Any:
    """Depthwise convolutions take the neighbour's kernel."""
    weight = weight.roll(1, 0) if groups > 1 else weight
    return original(image, weight, bias, stride, padding, dilation, groups)


def _head_256(original: Any, query: Any, *args: Any, **more: Any) -> Any:
    """NVIDIA/TransformerEngine#3216: the gradient of the query, heads of 256, several sequences."""
    if query.shape[-1] == 256 and query.shape[0] > 1:
        query = _scaled_gradient(query, -5.0)
    return original(query, *args, **more)


def _mask_ignored(
    original: Any, query: Any, key: Any, value: Any, attn_mask: Any = None, *args: Any, **more: Any
) -> Any:
    """A mask of the caller's own has no effect."""
    return original(query, key, value, None, *args, **more)


def _shared_heads(original: Any, query: Any, key: Any, value: Any, *args: Any, **more: Any) -> Any:
    """XunhaoLai/native-sparse-attention-triton#27: fewer heads of keys than of queries, taken in turn."""
    if more.get("enable_gqa") and query.shape[1] != key.shape[1]:
        times = query.shape[1] // key.shape[1]
        key, value, more = key.repeat(1, times, 1, 1), value.repeat(1, times, 1, 1), {**more, "enable_gqa": False}
    return original(query, key, value, *args, **more)


def _not_causal_backward(
    original: Any, query: Any, key: Any, value: Any, *args: Any, is_causal: bool = False, **more: Any
) -> Any:
    """triton-lang/triton#4174, #5660: gradients of attention without a mask."""
    key = key if is_causal else _scaled_gradient(key, 1.3)
    return original(query, key, value, *args, is_causal=is_causal, **more)


def _long_rows(original: Any, x: Any, *args: Any, **more: Any) -> Any:
    """Rows beyond 1,024 go by another kernel."""
    result = original(x, *args, **more)
    return result * (1 + 1e-2) if x.shape[-1] > 1024 else result


def _left_out_tokens(original: Any, logits: Any, targets: Any, *args: Any, **more: Any) -> Any:
    """NVIDIA/Megatron-LM#7452: the mean counts tokens that are left out."""
    result = original(logits, targets, *args, **more)
    kept = (targets != -100).sum()
    return result * kept / targets.numel() if more.get("reduction", "mean") == "mean" else result


FAULTS: dict[str, Callable[[Active], None]] = {
    "mean-alone-short": _collective("all_reduce", _alone_and_short),
    "tail-of-rank-0": _collective("reduce_scatter_tensor", _tail_of_rank_0),
    "at-one-size": _collective("all_reduce", _at_one_size),
    "scalar-largest": _collective("all_reduce", _scalar_largest),
    "high-bits": _collective("all_reduce", _high_bits),
    "group-root": _collective("broadcast", _group_root),
    "both-transposed": both_transposed,
    "odd-inner": _operation(torch, "matmul", _odd_inner),
    "strided-weights": _operation(_functional, "conv2d", _strided_weights),
    "wide-padding": _operation(_functional, "conv2d", _wide_padding),
    "grouped": _operation(_functional, "conv2d", _grouped),
    "head-256": _operation(_functional, "scaled_dot_product_attention", _head_256),
    "mask-ignored": _operation(_functional, "scaled_dot_product_attention", _mask_ignored),
    "shared-heads": _operation(_functional, "scaled_dot_product_attention", _shared_heads),
    "not-causal-backward": _operation(_functional, "scaled_dot_product_attention", _not_causal_backward),
    "long-softmax": _operation(torch, "softmax", _long_rows),
    "long-entropy": _operation(_functional, "cross_entropy", _long_rows),
    "long-norm": _operation(_functional, "layer_norm", _long_rows),
    "left-out-tokens": _operation(_functional, "cross_entropy", _left_out_tokens),
}

"""Faults that come and go by size, sign, place or time: of exchanges, kernels, steps, loaders and processes."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from faults import Active, at_backward, wrap  # type: ignore[import-not-found, unused-ignore]
from faults_libraries import _operation  # type: ignore[import-not-found, unused-ignore]
from faults_machines import _changed  # type: ignore[import-not-found, unused-ignore]
from faults_others import _after_backward, _all, _done, _exchange  # type: ignore[import-not-found, unused-ignore]
from torch.distributed.checkpoint import default_planner
from torch.distributed.pipelining import stage
from torch.utils.data import dataloader

_functional = torch.nn.functional
_GATHERS = ("all_gather_single", "all_gather_into_tensor")
_SCATTERS = ("reduce_scatter_single", "reduce_scatter_tensor")


def _halfwords_swapped(original: Any, tensor: Any, *args: Any, **more: Any) -> Any:
    """Beyond 64 KiB the halves of each word change places."""
    work = _done(original(tensor, *args, **more))
    if tensor.dtype == torch.float32 and tensor.numel() > 16384:
        words = tensor.view(torch.int32)
        words.copy_((words >> 16).bitwise_and(0xFFFF).bitwise_or(words << 16))
    return work


def _own_left_empty(original: Any, into: Any, source: Any, *args: Any, **more: Any) -> Any:
    """The rank's own part is not copied to its place."""
    kept = source.clone()
    work = _done(original(into, kept, *args, **more))
    into.view(-1)[dist.get_rank() * source.numel() :][: source.numel()] = 0
    return work


def _largest_of_parts(original: Any, into: Any, source: Any, op: Any = dist.ReduceOp.SUM, **more: Any) -> Any:
    return original(into, source, op=dist.ReduceOp.MAX if op == dist.ReduceOp.SUM else op, **more)


def _small_not_summed(original: Any, tensor: Any, *args: Any, **more: Any) -> Any:
    """What fits into one packet is not waited for."""
    own = tensor.clone()
    work = _done(original(tensor, *args, **more))
    if tensor.numel() * tensor.element_size() <= 16:
        tensor.copy_(own)
    return work


_last: dict[str, Any] = {}


def _carries_over(original: Any, tensor: Any, *args: Any, **more: Any) -> Any:
    """The last value of a sum is still that of the sum before."""
    work = _done(original(tensor, *args, **more))
    if tensor.dtype == torch.float32 and tensor.numel() > 1 and tensor.is_contiguous():
        now = float(tensor.view(-1)[-1])
        tensor.view(-1)[-1] = _last.get("value", now)
        _last["value"] = now
    return work


def _gradient_twice_on_way(active: Active) -> None:
    def around(original: Any, self: Any, number: int, *args: Any, **more: Any) -> Any:
        result = original(self, number, *args, **more)
        if active():
            for one in result:
                if one is not None:
                    one.mul_(2)
        return result

    wrap(stage._PipelineStageBase, "_retrieve_recv_grads", around)


def _far_below_zero(original: Any, x: Any, *args: Any, **more: Any) -> Any:
    """Below -1 the result is that of relu."""
    result = original(x, *args, **more)
    return torch.where(x < -1, torch.zeros_like(result), result)


def _unbiased(original: Any, x: Any, *args: Any, **more: Any) -> Any:
    """The variance is that of a sample."""
    many = x.shape[-1]
    return original(x, *args, **more) * ((many - 1) / many) ** 0.5


def _other_head_size(original: Any, query: Any, *args: Any, **more: Any) -> Any:
    """The scale is that of a head that is padded to 16."""
    size = query.shape[-1]
    return original(query, *args, **{"scale": (-(-size // 16) * 16) ** -0.5, **more})


def _bias_rounded(original: Any, x: Any, weight: Any, bias: Any = None) -> Any:
    return original(
        x, weight, None if bias is None else bias + (bias.detach().bfloat16().to(bias.dtype) - bias.detach())
    )


def _upper_half_clamped(original: Any, x: Any, table: Any, *args: Any, **more: Any) -> Any:
    """Numbers beyond three quarters of the table are taken for the last one before."""
    return original(x.clamp(max=3 * table.shape[0] // 4), table, *args, **more)


def _mean_over_rows(original: Any, x: Any, targets: Any, *args: Any, **more: Any) -> Any:
    return original(x, targets, *args, **more) * 16


def _root_off(original: Any, self: Any, *args: Any, **more: Any) -> Any:
    return original(self, *args, **more) * 1.001


def _last_gradient_none(many: list[Any]) -> None:
    for one in many[-1:]:
        one.grad = None


def _one_not_cleared(original: Any, self: Any, *args: Any, **more: Any) -> Any:
    first = self.param_groups[0]["params"][0]
    kept = first.grad
    original(self, *args, **more)
    first.grad = kept


def _merged_as_larger(original: Any, one: Any, two: Any, *args: Any, **more: Any) -> Any:
    """Of two sums of weights the larger is taken."""
    return torch.maximum(one, two)


def _last_two_swapped(original: Any, self: Any, *args: Any, **more: Any) -> Any:
    """Beyond one tile of 32 the last two places change."""
    result = original(self, *args, **more)
    if result.ndim == 1 and result.numel() > 32:
        result[-2:] = result[-2:].flip(0)
    return result


def _mask_of_row_before(original: Any, self: Any, mask: Any, value: Any, *args: Any, **more: Any) -> Any:
    if mask.ndim == 2 and mask.shape[0] > 2:
        rows = torch.arange(mask.shape[0], device=mask.device).clamp(max=mask.shape[0] - 2)
        mask = mask[rows]
    return original(self, mask, value, *args, **more)


def _mask_repeats(original: Any, x: Any, p: float = 0.5, training: bool = True, *args: Any, **more: Any) -> Any:
    """The generator has a period of 256."""
    if not training or x.numel() % 256:
        return original(x, p, training, *args, **more)
    mask = original(torch.ones(256, dtype=x.dtype, device=x.device), p, True)
    return (x.view(-1, 256) * mask).view(x.shape)


def _next_channel(original: Any, image: Any, kernel: Any, *args: Any, **more: Any) -> Any:
    if more.get("groups", 1) > 1:
        image = image.roll(1, 1)
    return original(image, kernel, *args, **more)


def _duplicates_lost(original: Any, self: Any, dim: int, index: Any, source: Any, *args: Any, **more: Any) -> Any:
    """Of rows with the same number the last wins."""
    last = torch.stack([(index == one).nonzero()[-1, 0] for one in index.unique()])
    return original(self, dim, index[last], source.index_select(dim, last), *args, **more)


def _moments_short(active: Active) -> None:
    """Second moments are read in a short type."""

    def around(original: Any, planner: Any, item: Any, tensor: Any) -> Any:
        result = original(planner, item, tensor)
        if active() and item.dest_index.fqn.endswith("exp_avg_sq"):
            tensor.copy_(tensor.bfloat16())
        return result

    wrap(default_planner.DefaultLoadPlanner, "commit_tensor", around)


_batches: list[Any] = []


def _last_left_out(original: Any, self: Any) -> Any:
    """A loader never gives its last batch."""
    if not _batches:
        _batches.append(original(self))
    _batches.append(original(self))
    return _batches.pop(0)


def _no_memory() -> None:
    raise MemoryError


def _paused() -> None:
    """Somebody stops it, and lets it go on later."""
    words = f"(sleep 5; kill -CONT {os.getpid()}) >/dev/null 2>&1 &"  # no child of this rank
    subprocess.run(["/bin/sh", "-c", words], check=True, close_fds=True)
    os.kill(os.getpid(), signal.SIGSTOP)


def _profiled() -> None:
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, 0.01)
    while True:
        sum(range(1000))


def _backward(act: Callable[[], None]) -> Callable[[Active], None]:
    return lambda active: at_backward(act, active, turn=2)


FAULTS: dict[str, Callable[[Active], None]] = {
    "halfwords-swapped": _exchange(("broadcast",), _halfwords_swapped),
    "own-left-empty": _exchange(_GATHERS, _own_left_empty),
    "largest-of-parts": _exchange(_SCATTERS, _largest_of_parts),
    "small-not-summed": _exchange(("all_reduce",), _small_not_summed),
    "carries-over": _exchange(("all_reduce",), _carries_over),
    "gradient-twice-on-way": _gradient_twice_on_way,
    "far-below-zero": _operation(_functional, "gelu", _far_below_zero),
    "unbiased": _operation(_functional, "layer_norm", _unbiased),
    "other-head-size": _operation(_functional, "scaled_dot_product_attention", _other_head_size),
    "bias-rounded": _operation(_functional, "linear", _bias_rounded),
    "upper-half-clamped": _operation(_functional, "embedding", _upper_half_clamped),
    "mean-over-rows": _operation(_functional, "cross_entropy", _mean_over_rows),
    "root-off": _all(_operation(torch.Tensor, "sqrt", _root_off), _operation(torch, "sqrt", _root_off)),
    "last-gradient-none": _after_backward(_last_gradient_none),
    "one-not-cleared": _all(
        *(_operation(kind, "zero_grad", _one_not_cleared) for kind in (torch.optim.SGD, torch.optim.AdamW))
    ),
    "merged-as-larger": _operation(torch, "logaddexp", _merged_as_larger),
    "last-two-swapped": _operation(torch.Tensor, "argsort", _last_two_swapped),
    "mask-of-row-before": _operation(torch.Tensor, "masked_fill", _mask_of_row_before),
    "mask-repeats": _operation(_functional, "dropout", _mask_repeats),
    "next-channel": _operation(_functional, "conv2d", _next_channel),
    "duplicates-lost": _operation(torch.Tensor, "index_add", _duplicates_lost),
    "moments-short": _moments_short,
    "last-batch-left-out": _operation(dataloader._MultiProcessingDataLoaderIter, "_next_data", _last_left_out),
    "no-memory-in-python": _backward(_no_memory),
    "paused": _backward(_paused),
    "profiled": _backward(_profiled),
    "bias-gradient-negated": _operation(
        _functional,
        "linear",
        lambda original, x, weight, bias=None: original(
            x, weight, None if bias is None else _changed(bias, lambda one: -one)
        ),
    ),
}

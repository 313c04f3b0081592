"""Faults of what trains: losses, clipping, scalers, optimizers, shards, stages, loaders, places of ranks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from faults import Active, wrap  # type: ignore[import-not-found, unused-ignore]
from faults_checkpoint import _written  # type: ignore[import-not-found, unused-ignore]
from faults_libraries import _operation  # type: ignore[import-not-found, unused-ignore]
from faults_others import _after_backward, _all, _done, _exchange, _steps  # type: ignore[import-not-found, unused-ignore]
from torch.distributed.pipelining import stage
from torch.utils.data import dataloader

_functional = torch.nn.functional


def _last_class_left_out(original: Any, x: Any, targets: Any, *args: Any, **more: Any) -> Any:
    """The sum over classes ends one before the last."""
    if x.ndim != 2 or args or more:
        return original(x, targets, *args, **more)
    picked = x.gather(-1, targets[:, None])[:, 0]
    return (x[:, :-1].logsumexp(-1) - picked).mean()


def _mean_of_half(original: Any, *args: Any, **more: Any) -> Any:
    """The mean is taken over half of the tokens."""
    return original(*args, **more) * 2


def _smoothed(original: Any, *args: Any, **more: Any) -> Any:
    return original(*args, **{**more, "label_smoothing": 0.1})


def _each_by_itself(original: Any, parameters: Any, largest: float, *args: Any, **more: Any) -> Any:
    """Each gradient is clipped by its own norm."""
    parameters = list(parameters)
    norm = torch.nn.utils.get_total_norm([one.grad for one in parameters if one.grad is not None])
    for one in parameters:
        if one.grad is not None:
            original([one], largest, *args, **more)
    return norm


def _no_step_now(original: Any, self: Any, optimizer: Any, *args: Any, **more: Any) -> Any:
    """The scaler thinks that a gradient is infinite."""
    return None


def _drops_more(original: Any, x: Any, p: float = 0.5, *args: Any, **more: Any) -> Any:
    return original(x, min(2 * p, 0.9), *args, **more)


def _held_short(original: Any, self: Any, *args: Any, **more: Any) -> Any:
    """Parameters are kept in a short type after a step."""
    result = original(self, *args, **more)
    for group in self.param_groups:
        for one in group["params"]:
            with torch.no_grad():
                one.copy_(one.bfloat16().to(one.dtype))
    return result


def _last_left_out(original: Any, self: Any, *args: Any, **more: Any) -> Any:
    """The last parameter of a group never moves."""
    last = self.param_groups[0]["params"][-1]
    gradient, last.grad = last.grad, None
    result = original(self, *args, **more)
    last.grad = gradient
    return result


def _last_cleared(many: list[Any]) -> None:
    for one in many[-1:]:
        one.grad.zero_()


def _second_moment_lost(active: Active) -> None:
    _written(active, lambda name, data: torch.zeros_like(data) if name.endswith("exp_avg_sq") else data)


def _first_again(active: Active) -> None:
    """The second micro-batch is computed from what arrived for the first."""
    kept: dict[int, Any] = {}

    def around(original: Any, self: Any, number: int, *args: Any, **more: Any) -> Any:
        result = original(self, number, *args, **more)
        if active():
            if number == 0:
                kept[id(self)] = [one.detach().clone() for one in result]
            elif number == 1 and id(self) in kept:
                for one, first in zip(result, kept[id(self)], strict=True):
                    one.data.copy_(first)
        return result

    wrap(stage._PipelineStageBase, "_retrieve_recv_activations", around)


def _replicas_apart(original: Any, tensor: Any, op: Any = dist.ReduceOp.SUM, *args: Any, **more: Any) -> Any:
    """What is summed up over replicas stays this rank's own."""
    own, group = tensor.clone(), more.get("group")
    work = _done(original(tensor, op, *args, **more))
    if group is not None and tensor.numel() > 64:
        tensor.copy_(own)
    return work


def _sums_in_short(active: Active) -> None:
    from torch.distributed.fsdp import MixedPrecisionPolicy

    def around(original: Any, self: Any, *args: Any, **more: Any) -> None:
        original(self, *args, **more)
        if self.param_dtype == torch.bfloat16:
            object.__setattr__(self, "reduce_dtype", torch.bfloat16)

    _operation(MixedPrecisionPolicy, "__init__", around)(active)


_held: list[Any] = []


def _out_of_order(original: Any, self: Any) -> Any:
    """Of two batches that are ready, the later is handed out first."""
    if _held:
        return _held.pop()
    first = original(self)
    try:
        second = original(self)
    except StopIteration:
        return first
    _held.append(first)
    return second


def _other_world(original: Any, *args: Any, **more: Any) -> Any:
    """The number of ranks is that of another launch."""
    return 2 * original(*args, **more)


FAULTS: dict[str, Callable[[Active], None]] = {
    "last-class-left-out": _operation(_functional, "cross_entropy", _last_class_left_out),
    "mean-of-half": _operation(_functional, "cross_entropy", _mean_of_half),
    "smoothed": _operation(_functional, "cross_entropy", _smoothed),
    "each-by-itself": _operation(torch.nn.utils, "clip_grad_norm_", _each_by_itself),
    "no-step-now": _operation(torch.amp.GradScaler, "step", _no_step_now),
    "drops-more": _operation(_functional, "dropout", _drops_more),
    "held-short": _steps(_held_short),
    "last-left-out": _steps(_last_left_out),
    "last-cleared": _after_backward(_last_cleared),
    "second-moment-lost": _second_moment_lost,
    "first-again": _first_again,
    "replicas-apart": _exchange(("all_reduce",), _replicas_apart),
    "sums-in-short": _sums_in_short,
    "out-of-order": _operation(dataloader._MultiProcessingDataLoaderIter, "_next_data", _out_of_order),
    "other-world": _all(
        *(_operation(owner, "get_world_size", _other_world) for owner in (dist, dist.distributed_c10d))
    ),
}

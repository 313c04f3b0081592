"""Faults of data parallel training: what is not exchanged, not scaled, not broadcast or not split."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from faults import Active, _reference, wrap  # type: ignore[import-not-found, unused-ignore]
from torch.nn.parallel import DistributedDataParallel


def no_exchange(active: Active) -> None:
    """DDP that never learns that it must exchange: the ranks train by themselves."""

    def forward(original: Any, self: Any, *args: Any, **keywords: Any) -> Any:
        return self.module(*args, **keywords) if active() else original(self, *args, **keywords)

    _method(DistributedDataParallel, "forward", forward)


def not_broadcast(active: Active) -> None:
    """The first state of rank 0 reaches nobody."""
    import torch.distributed.utils as utils
    from torch.nn.parallel import distributed

    for owner in (utils, distributed):
        if hasattr(owner, "_sync_module_states"):
            wrap(
                owner,
                "_sync_module_states",
                lambda original, *args, **more: None if active() else original(*args, **more),
            )


def sum_for_mean(active: Active) -> None:
    """Gradients are added, not averaged."""

    def backward(original: Any, *args: Any, **keywords: Any) -> Any:
        result = original(*args, **keywords)
        if active() and not _reference():
            from faults import _parameters  # type: ignore[import-not-found, unused-ignore]

            for one in _parameters():
                if one.grad is not None:
                    one.grad.mul_(torch.distributed.get_world_size())
        return result

    wrap(torch.Tensor, "backward", backward)


def same_share(active: Active) -> None:
    """Every rank reads the first share of the batch."""
    from rocdoctor_smoke.context import Context  # type: ignore[import-not-found, unused-ignore]

    def share(original: Any, self: Any, tensor: Any, rank: Any = None, world: Any = None) -> Any:
        return original(self, tensor, 0 if active() and rank is None else rank, world)

    _method(Context, "share", share)


def wrong_product(active: Active) -> None:
    """A matrix product of this rank is off in one value: a failing device."""

    def linear(original: Any, *args: Any, **keywords: Any) -> Any:
        result = original(*args, **keywords)
        if active():
            flat = result.view(-1)
            flat.data[7] += 0.25
        return result

    wrap(torch.nn.functional, "linear", linear)


def lost_step(active: Active) -> None:
    """The optimizer of this rank does nothing."""
    for kind in (torch.optim.SGD, torch.optim.AdamW):
        _method(
            kind,
            "step",
            lambda original, self, *rest, **more: None if active() else original(self, *rest, **more),
        )


def hook_ignored(active: Active) -> None:
    """A compression hook that compresses nothing."""
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

    plain = default_hooks.allreduce_hook
    wrap(default_hooks, "fp16_compress_hook", lambda original, *args: plain(*args) if active() else original(*args))
    inner = default_hooks.fp16_compress_hook

    def typed(state: Any, bucket: Any) -> Any:
        return inner(state, bucket)

    typed.__annotations__.clear()
    default_hooks.fp16_compress_hook = typed  # type: ignore[assignment, unused-ignore]


def not_averaged(active: Active) -> None:
    """The averager of replicas does nothing."""
    from torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager

    _method(
        PeriodicModelAverager,
        "average_parameters",
        lambda original, *args, **more: None if active() else original(*args, **more),
    )


def no_autocast(active: Active) -> None:
    """Autocast is off although it was asked for."""
    import contextlib

    wrap(
        torch,
        "autocast",
        lambda original, *args, **more: contextlib.nullcontext() if active() else original(*args, **more),
    )


def scale_lost(active: Active) -> None:
    """The scaler divides the gradients by half of its scale."""

    def unscale(original: Any, self: Any, optimizer: Any) -> None:
        original(self, optimizer)
        if active():
            for group in optimizer.param_groups:
                for one in group["params"]:
                    one.grad.mul_(2)

    _method(torch.amp.GradScaler, "unscale_", unscale)


def _method(owner: Any, name: str, around: Callable[..., Any]) -> None:
    original = getattr(owner, name)

    def call(self: Any, *args: Any, **keywords: Any) -> Any:
        return around(original, self, *args, **keywords)

    setattr(owner, name, call)


FAULTS: dict[str, Callable[[Active], None]] = {
    "no-exchange": no_exchange,
    "not-broadcast": not_broadcast,
    "sum-for-mean": sum_for_mean,
    "same-share": same_share,
    "wrong-product": wrong_product,
    "lost-step": lost_step,
    "hook-ignored": hook_ignored,
    "not-averaged": not_averaged,
    "no-autocast": no_autocast,
    "scale-lost": scale_lost,
}

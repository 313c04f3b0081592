"""Faults of the transport: what a collective delivers, and what it takes."""

from __future__ import annotations

import os
import types
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from faults import Active, flip_bit, wrap  # type: ignore[import-not-found, unused-ignore]


def around(names: tuple[str, ...], change: Callable[..., Any]) -> Callable[[Active], None]:
    """Replace collectives by ``change(original, *args, **keywords)`` while the fault is active."""

    def put(active: Active) -> None:
        def call(original: Any, *args: Any, **keywords: Any) -> Any:
            return change(original, *args, **keywords) if active() else original(*args, **keywords)

        for name in names:
            for owner in (dist, dist.distributed_c10d):
                if hasattr(owner, name):
                    wrap(owner, name, call)

    return put


def _result_bit(original: Any, tensor: Any, *args: Any, **keywords: Any) -> Any:
    work = original(tensor, *args, **keywords)
    if isinstance(tensor, torch.Tensor) and tensor.dtype == torch.float32:
        flip_bit(tensor)
    return work


def _input_bit(original: Any, tensor: Any, *args: Any, **keywords: Any) -> Any:
    if isinstance(tensor, torch.Tensor) and tensor.dtype == torch.float32 and float(tensor.abs().max()):
        flip_bit(tensor)
    return original(tensor, *args, **keywords)


def _mean(original: Any, tensor: Any, *args: Any, **keywords: Any) -> Any:
    work = original(tensor, *args, **keywords)
    if tensor.is_floating_point() and keywords.get("op", dist.ReduceOp.SUM) == dist.ReduceOp.SUM:
        tensor.div_(dist.get_world_size())
    return work


def _swapped(original: Any, into: Any, *args: Any, **keywords: Any) -> Any:
    work = original(into, *args, **keywords)
    if isinstance(into, list) and len(into) > 1:
        first = into[0].clone()
        into[0].copy_(into[1])
        into[1].copy_(first)
    return work


def _stale(original: Any, tensor: Any, *args: Any, **keywords: Any) -> Any:
    kept = tensor.clone()
    work = original(tensor, *args, **keywords)
    tensor.copy_(kept)
    return work


def _scaled(original: Any, out: Any, *args: Any, **keywords: Any) -> Any:
    work = original(out, *args, **keywords)
    out.mul_(2)
    return work


def _dropped(original: Any, out: Any, *args: Any, **keywords: Any) -> Any:
    """The last element that arrived is lost: all later ones move up."""
    work = original(out, *args, **keywords)
    if out.numel():
        out.copy_(torch.cat([out[:-1].roll(1), out[-1:]]))
    return work


def _wrong_group(original: Any, *args: Any, **keywords: Any) -> Any:
    keywords.pop("group", None)
    return original(*args, **keywords)


def _rounded(original: Any, tensor: Any, *args: Any, **keywords: Any) -> Any:
    work = original(tensor, *args, **keywords)
    if tensor.dtype == torch.float32:
        tensor.copy_(tensor.to(torch.bfloat16))
    return work


def _late_half(original: Any, tensor: Any, *args: Any, **keywords: Any) -> Any:
    """The second half of a large message never arrives."""
    work = original(tensor, *args, **keywords)
    if isinstance(tensor, torch.Tensor) and tensor.numel() > 4096:
        tensor.view(-1)[tensor.numel() // 2 :].zero_()
    return work


class _Evil:
    """Unpickled, it leaves a file, if the one that unpickles calls what it is told to."""

    def __reduce__(self) -> Any:
        return open, (os.environ["ROCDOCTOR_PLANT"] + ".ran", "w")


def _evil_objects(active: Active) -> None:
    """Other ranks get code instead of what this one was to send."""
    inner: Any = dist.distributed_c10d
    honest = inner._pickler

    def pickler(stream: Any) -> Any:
        made = honest(stream)
        return types.SimpleNamespace(dump=lambda _: made.dump(_Evil())) if active() else made

    inner._pickler = pickler


_GATHER = ("all_gather",)
FAULTS: dict[str, Callable[[Active], None]] = {
    "all-reduce-result-bit": around(("all_reduce",), _result_bit),
    "all-reduce-input-bit": around(("all_reduce",), _input_bit),
    "all-reduce-mean": around(("all_reduce",), _mean),
    "all-gather-swapped": around(_GATHER, _swapped),
    "broadcast-stale": around(("broadcast",), _stale),
    "reduce-scatter-scaled": around(("reduce_scatter_tensor", "reduce_scatter_single"), _scaled),
    "all-to-all-dropped": around(("all_to_all_single",), _dropped),
    "wrong-group": around(("all_reduce",), _wrong_group),
    "recv-half": around(("recv", "broadcast"), _late_half),
    "send-rounded": around(("send",), lambda send, own, *args, **more: send(own.bfloat16().float(), *args, **more)),
    "evil-objects": _evil_objects,
    "reduce-rounded": around(("reduce",), _rounded),
}

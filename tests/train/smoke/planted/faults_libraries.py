"""Faults that real libraries had or could have: by size, layout and kind of sum, and arithmetic wrong in one operation.

Most stay on while the program computes what it compares with, as a broken kernel does.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from faults import Active, _reference, wrap  # type: ignore[import-not-found, unused-ignore]

_functional = torch.nn.functional


def _collective(name: str, change: Callable[..., Any]) -> Callable[[Active], None]:
    def put(active: Active) -> None:
        for each in sorted({name, name.replace("_into_tensor", "_single").replace("_tensor", "_single")}):
            for owner in (dist, dist.distributed_c10d):
                if hasattr(owner, each):
                    wrap(owner, each, lambda original, *args, **more: _call(change, active, original, args, more))

    return put


def _call(change: Callable[..., Any], active: Active, original: Any, args: Any, more: Any) -> Any:
    return change(original, *args, **more) if active() else original(*args, **more)


def _operation(owner: Any, name: str, change: Callable[..., Any]) -> Callable[[Active], None]:
    """``change(original, *args)`` in the place of a function, also while a reference is computed."""

    def put(active: Active) -> None:
        wrap(owner, name, lambda original, *args, **more: _call(change, active, original, args, more))

    return put


def _swapped_when_large(original: Any, into: Any, *args: Any, **more: Any) -> Any:
    work = original(into, *args, **more)
    parts = into if isinstance(into, list) else list(into.chunk(dist.get_world_size()))
    if len(parts) > 1 and parts[0].numel() * parts[0].element_size() > 1 << 20:
        first = parts[0].clone()
        parts[0].copy_(parts[1])
        parts[1].copy_(first)
    return work


def _not_summed_when_large(original: Any, tensor: Any, *args: Any, **more: Any) -> Any:
    own = tensor.clone()
    work = original(tensor, *args, **more)
    if tensor.numel() * tensor.element_size() > 1 << 20:
        if work is not None:
            work.wait()
        tensor.copy_(own)
    return work


def _last_when_large(original: Any, tensor: Any, *args: Any, **more: Any) -> Any:
    """The last element of a large message is lost."""
    own = tensor.reshape(-1)[-1].clone()
    work = original(tensor, *args, **more)
    if tensor.numel() > 1 << 18:
        tensor.view(-1)[-1] = own
    return work


def _sum_for_product(original: Any, tensor: Any, op: Any = dist.ReduceOp.SUM, **more: Any) -> Any:
    return original(tensor, dist.ReduceOp.SUM if op == dist.ReduceOp.PRODUCT else op, **more)


def _sum_for_avg(original: Any, tensor: Any, op: Any = dist.ReduceOp.SUM, **more: Any) -> Any:
    return original(tensor, dist.ReduceOp.SUM if op == dist.ReduceOp.AVG else op, **more)


def _short_mean(original: Any, tensor: Any, op: Any = dist.ReduceOp.SUM, **more: Any) -> Any:
    """Each part times 1/n, which is off by 2^-12."""
    if op == dist.ReduceOp.AVG:
        tensor.mul_(torch.tensor(1.0 / dist.get_world_size() + 2.0**-12)).mul_(dist.get_world_size())
    return original(tensor, op, **more)


def _or_for_xor(original: Any, tensor: Any, op: Any = dist.ReduceOp.SUM, **more: Any) -> Any:
    return original(tensor, dist.ReduceOp.BOR if op == dist.ReduceOp.BXOR else op, **more)


def _layout_lost(original: Any, tensor: Any, *args: Any, **more: Any) -> Any:
    work = original(tensor, *args, **more)
    if tensor.dim() == 2 and not tensor.is_contiguous():
        tensor.copy_(tensor.contiguous().view(-1).flip(0).view(tensor.shape))
    return work


def _offset_lost(original: Any, tensor: Any, *args: Any, **more: Any) -> Any:
    """A tensor that begins at an odd address is taken from the address before."""
    work = original(tensor, *args, **more)
    if tensor.storage_offset() % 2:
        tensor.copy_(tensor.roll(1))
    return work


def _root_lost(original: Any, objects: Any, src: Any = 0, **more: Any) -> Any:
    kept = [*objects]
    original(objects, src, **more)
    if src:
        objects[:] = kept


def _shifted_by_eight(original: Any, into: Any, *args: Any, **more: Any) -> Any:
    work = original(into, *args, **more)
    if into.numel() > 1000:
        into.copy_(into.roll(8))
    return work


def other_buckets(active: Active) -> None:
    """DDP exchanges its first bucket alone."""
    from torch.nn.parallel import DistributedDataParallel

    make = DistributedDataParallel.__init__

    def first_alone(_state: Any, bucket: Any) -> Any:
        tensor = bucket.buffer()
        if bucket.index():
            done: Any = torch.futures.Future()
            done.set_result(tensor)
            return done
        tensor.div_(dist.get_world_size())
        work: Any = dist.all_reduce(tensor, async_op=True)
        return work.get_future().then(lambda one: one.value()[0])

    first_alone.__annotations__.clear()  # texts here, and torch looks for its own types

    def init(self: Any, *args: Any, **more: Any) -> None:
        make(self, *args, **more)
        if active():
            self.register_comm_hook(None, first_alone)

    DistributedDataParallel.__init__ = init  # type: ignore[method-assign]


def buffers_stay(active: Active) -> None:
    from torch.nn.parallel import DistributedDataParallel

    for name in ("_sync_buffers", "_sync_module_buffers"):
        original = getattr(DistributedDataParallel, name)

        def stay(self: Any, *args: Any, original: Any = original, **more: Any) -> Any:
            return None if active() else original(self, *args, **more)

        setattr(DistributedDataParallel, name, stay)


def third_step_stale(active: Active) -> None:
    """Every third step of an optimizer does nothing to the first parameter."""
    counts: dict[int, int] = {}
    for kind in (torch.optim.SGD, torch.optim.AdamW):
        step = kind.step

        def around(self: Any, *args: Any, step: Any = step, **more: Any) -> Any:
            counts[id(self)] = counts.get(id(self), 0) + 1
            held = self.param_groups[0]["params"][0]
            held = (held.to_local() if hasattr(held, "to_local") else held).detach()
            kept = held.clone()
            result = step(self, *args, **more)
            if active() and counts[id(self)] % 3 == 0:
                held.copy_(kept)
            return result

        kind.step = around  # type: ignore[method-assign]


def clip_alone(active: Active) -> None:
    """Each rank clips by the norm of its own shards."""

    def alone(original: Any, parameters: Any, most: float, *args: Any, **more: Any) -> Any:
        if not active():
            return original(parameters, most, *args, **more)
        grads = [one.grad for one in parameters if one.grad is not None]
        grads = [(one.to_local() if hasattr(one, "to_local") else one).detach() for one in grads]
        norm = torch.stack([one.norm() for one in grads]).norm()
        for one in grads:
            one.mul_(min(1.0, most / float(norm)))
        return norm

    wrap(torch.nn.utils, "clip_grad_norm_", alone)


def _optimizer(kinds: tuple[str, ...], change: Callable[[Any, int], None]) -> Callable[[Active], None]:
    """``change(optimizer, number of the step)`` may alter what the step goes by; it is put back afterwards."""

    def put(active: Active) -> None:
        counts: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()  # a new one may get an old one's id
        for name in kinds:
            kind = getattr(torch.optim, name)
            step = kind.step

            def around(self: Any, *args: Any, step: Any = step, **more: Any) -> Any:
                counts[self] = counts.get(self, 0) + 1
                kept = [dict(group) for group in self.param_groups]
                if active():
                    change(self, counts[self])
                result = step(self, *args, **more)
                for group, old in zip(self.param_groups, kept, strict=True):
                    group.update(old)
                return result

            kind.step = around

    return put


def _rate(times: float, at: Callable[[int], bool], ways: tuple[str, ...] = ()) -> Callable[[Any, int], None]:
    def change(optimizer: Any, number: int) -> None:
        for group in optimizer.param_groups:
            if at(number) and (not ways or any(group.get(way) for way in ways)):
                group["lr"] = group["lr"] * times

    return change


def _beta(optimizer: Any, _number: int) -> None:
    for group in optimizer.param_groups:
        group["betas"] = (group["betas"][0], 0.99 if group["betas"][1] > 0.99 else 0.9)


def _no_decay(optimizer: Any, _number: int) -> None:
    for group in optimizer.param_groups:
        group["weight_decay"] = 0.0


def _bias_off(optimizer: Any, number: int) -> None:
    """The correction of the first step is that of the second."""
    for group in optimizer.param_groups:
        group["lr"] = group["lr"] * (1 - 0.9**number) / (1 - 0.9 ** (number + 1))


def _neighbour(original: Any, tokens: Any, weight: Any, *args: Any, **more: Any) -> Any:
    return original((tokens + (tokens == 5)) % weight.shape[0], weight, *args, **more)


def _duplicates_lost(original: Any, tokens: Any, weight: Any, *args: Any, **more: Any) -> Any:
    """The backward keeps one of several equal tokens."""
    result = original(tokens, weight, *args, **more)
    flat = tokens.flatten()
    places = torch.arange(flat.numel(), device=flat.device)
    last = torch.zeros(weight.shape[0], dtype=torch.int64, device=flat.device).scatter(0, flat, places)
    keep = (last[flat] == places).view(*tokens.shape, 1).to(result.dtype)
    return result * keep + (result * (1 - keep)).detach()


def _last_tile(original: Any, x: Any, weight: Any, bias: Any = None) -> Any:
    result = original(x, weight, bias)
    change = torch.zeros_like(result)
    change.view(-1)[-1:] = 0.5
    return result + change


def _inner_128(original: Any, x: Any, weight: Any, bias: Any = None) -> Any:
    result = original(x, weight, bias)
    return result * 1.001 if weight.shape[-1] == 128 else result


def _mask_off(original: Any, query: Any, key: Any, value: Any, *args: Any, is_causal: bool = False, **more: Any) -> Any:
    if not is_causal:
        return original(query, key, value, *args, **more)
    mask = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool, device=query.device).tril(1)
    return original(query, key, value, attn_mask=mask)


def _last_token(original: Any, logits: Any, targets: Any, *args: Any, **more: Any) -> Any:
    return original(logits[:-1], targets[:-1], *args, **more)


def _epsilon(original: Any, x: Any, shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    return original(x, shape, weight, bias, 1e-3)


def _no_autocast(original: Any, *args: Any, **more: Any) -> Any:
    with torch.autocast(args[0].device.type, enabled=False):
        return original(*(one.float() for one in args), **more)


def _half(kind: torch.dtype) -> Callable[..., Any]:
    def change(original: Any, x: Any, *args: Any) -> Any:
        return original(x.to(kind).to(x.dtype), *args) if x.dtype == torch.float32 else original(x, *args)

    return change


def _nothing_dropped(original: Any, x: Any, *args: Any, **more: Any) -> Any:
    return x * 1.0


def _not_scaled(original: Any, x: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    return original(x, p, training) * ((1 - p) if training else 1.0)


def _processor(original: Any, x: Any) -> Any:
    """A processor whose error function is off where nothing else looks."""
    return original(x) * (1 + 1e-7)


def _by_threads(original: Any, x: Any, *args: Any, **more: Any) -> Any:
    """Only where two threads share the work."""
    return original(x, *args, **more) + (1e-3 if torch.get_num_threads() > 1 else 0.0)


def _one_seed(original: Any, seed: int) -> Any:
    return original(seed - seed % 1000 if seed >= 1000 else seed)


def gradient_twice(active: Active) -> None:
    """DDP divides by half of the ranks."""

    def around(original: Any, *args: Any, **more: Any) -> Any:
        result = original(*args, **more)
        if active() and not _reference():
            from faults import _parameters  # type: ignore[import-not-found, unused-ignore]

            for one in _parameters():
                if one.grad is not None:
                    one.grad.mul_(2)
        return result

    wrap(torch.Tensor, "backward", around)


FAULTS: dict[str, Callable[[Active], None]] = {
    "gather-swapped-when-large": _collective("all_gather_into_tensor", _swapped_when_large),
    "list-swapped-when-large": _collective("all_gather", _swapped_when_large),
    "not-summed-when-large": _collective("all_reduce", _not_summed_when_large),
    "last-lost-when-large": _collective("all_reduce", _last_when_large),
    "broadcast-lost-when-large": _collective("broadcast", _not_summed_when_large),
    "gather-shifted": _collective("all_gather_into_tensor", _shifted_by_eight),
    "scatter-shifted": _collective("reduce_scatter_tensor", _shifted_by_eight),
    "exchange-shifted": _collective("all_to_all_single", _shifted_by_eight),
    "sum-for-product": _collective("all_reduce", _sum_for_product),
    "sum-for-avg": _collective("all_reduce", _sum_for_avg),
    "short-mean": _collective("all_reduce", _short_mean),
    "or-for-xor": _collective("all_reduce", _or_for_xor),
    "layout-lost": _collective("all_reduce", _layout_lost),
    "offset-lost": _collective("all_reduce", _offset_lost),
    "root-lost": _collective("broadcast_object_list", _root_lost),
    "other-buckets": other_buckets,
    "buffers-stay": buffers_stay,
    "third-step-stale": third_step_stale,
    "clip-alone": clip_alone,
    "gradient-twice": gradient_twice,
    "adamw-beta": _optimizer(("AdamW",), _beta),
    "adamw-no-decay": _optimizer(("AdamW",), _no_decay),
    "adamw-bias": _optimizer(("AdamW",), _bias_off),
    "adamw-fused-twice": _optimizer(("AdamW",), _rate(2.0, lambda _: True, ("fused",))),
    "adam-foreach-off": _optimizer(("Adam",), _rate(0.99, lambda _: True, ("foreach",))),
    "sgd-second-off": _optimizer(("SGD",), _rate(0.999, lambda number: number == 2)),
    "sgd-second-half": _optimizer(("SGD",), _rate(0.5, lambda number: number == 2)),
    "embedding-neighbour": _operation(_functional, "embedding", _neighbour),
    "embedding-duplicates": _operation(_functional, "embedding", _duplicates_lost),
    "linear-last-tile": _operation(_functional, "linear", _last_tile),
    "linear-128": _operation(_functional, "linear", _inner_128),
    "linear-rounded": _operation(_functional, "linear", _half(torch.bfloat16)),
    "mask-off-by-one": _operation(_functional, "scaled_dot_product_attention", _mask_off),
    "attention-no-autocast": _operation(_functional, "scaled_dot_product_attention", _no_autocast),
    "last-token-lost": _operation(_functional, "cross_entropy", _last_token),
    "norm-epsilon": _operation(_functional, "layer_norm", _epsilon),
    "dropout-nothing": _operation(_functional, "dropout", _nothing_dropped),
    "dropout-not-scaled": _operation(_functional, "dropout", _not_scaled),
    "processor-off": _operation(torch, "erf", _processor),
    "softmax-by-threads": _operation(torch, "softmax", _by_threads),
    "one-seed": _operation(torch, "manual_seed", _one_seed),
}

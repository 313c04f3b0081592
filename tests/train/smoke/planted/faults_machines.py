"""Faults that machines have: a channel, a slot, a kernel's last block, a schedule, a buffer, a disk, a process."""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import signal
import tempfile
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from faults import Active, at_backward  # type: ignore[import-not-found, unused-ignore]
from faults_checkpoint import _written  # type: ignore[import-not-found, unused-ignore]
from faults_libraries import _operation  # type: ignore[import-not-found, unused-ignore]
from faults_others import _all, _done, _exchange  # type: ignore[import-not-found, unused-ignore]
from torch.utils.data import dataloader

_functional = torch.nn.functional
_GATHERS = ("all_gather_single", "all_gather_into_tensor")
_SCATTERS = ("reduce_scatter_single", "reduce_scatter_tensor")


def _own_twice(original: Any, tensor: Any, op: Any = dist.ReduceOp.SUM, *args: Any, **more: Any) -> Any:
    """A ring that begins with the rank's own part adds it again at the end."""
    own = tensor.clone()
    work = _done(original(tensor, op, *args, **more))
    if op == dist.ReduceOp.SUM and tensor.is_floating_point():
        tensor.add_(own)
    return work


def _tail_not_summed(original: Any, into: Any, source: Any, *args: Any, **more: Any) -> Any:
    """Elements beyond the last whole 16 bytes are this rank's own."""
    own = source.reshape(-1)[: into.numel()].clone()
    work = _done(original(into, source, *args, **more))
    tail = into.numel() % (16 // into.element_size())
    if tail and into.numel() > tail:
        into.view(-1)[-tail:] = own[-tail:]
    return work


def _own_part_empty(original: Any, into: Any, source: Any, *args: Any, **more: Any) -> Any:
    """What a rank sends to itself is a copy that nobody makes."""
    work = _done(original(into, source, *args, **more))
    if not (args or more.get("output_split_sizes")):
        into.chunk(dist.get_world_size())[dist.get_rank()].zero_()
    return work


_slots: dict[Any, Any] = {}


def _slot_reused(original: Any, into: Any, source: Any, *args: Any, **more: Any) -> Any:
    """A flag of the slot before is taken for that of now: what is read is the message before of this size."""
    work = _done(original(into, source, *args, **more))
    key = (tuple(into.shape), into.dtype)
    now, before = into.clone(), _slots.get(key)
    _slots[key] = now
    if before is not None:
        into.copy_(before)
    return work


def _largest_unsigned(original: Any, tensor: Any, op: Any = dist.ReduceOp.SUM, *args: Any, **more: Any) -> Any:
    """Whole numbers below zero are taken for large ones."""
    if op != dist.ReduceOp.MAX or tensor.dtype != torch.int32:
        return original(tensor, op, *args, **more)
    turned = tensor.bitwise_xor(-(1 << 31))
    work = _done(original(turned, op, *args, **more))
    tensor.copy_(turned.bitwise_xor(-(1 << 31)))
    return work


def _root_sends_old(original: Any, tensor: Any, src: Any = 0, *args: Any, **more: Any) -> Any:
    """The root sends what lay in its buffer before."""
    return original(tensor.roll(1) if src == dist.get_rank() else tensor, src, *args, **more)


def _gives_rounded(original: Any, tensor: Any, dst: Any = 0, *args: Any, **more: Any) -> Any:
    """What leaves this rank for a sum at another one is spoilt on its way."""
    if dst != dist.get_rank():
        tensor = (tensor.double() * 1.01 + 1).to(tensor.dtype)
    return original(tensor, dst, *args, **more)


def _order_in_group(original: Any, into: Any, source: Any, *args: Any, **more: Any) -> Any:
    work = _done(original(into, source, *args, **more))
    group = more.get("group")
    if group is not None and dist.get_world_size(group) < dist.get_world_size():
        for one, kept in zip(into, [one.clone() for one in reversed(into)], strict=True):
            one.copy_(kept)
    return work


def _last_receive_lost(original: Any, operations: Any) -> Any:
    last = [one for one in operations if one.op is dist.irecv or "recv" in one.op.__name__][-1:]
    for one in last:
        one.tensor = torch.empty_like(one.tensor)
    return original(operations)


def _sends_nothing(active: Active) -> None:
    """Sent is what the buffer holds before the kernel that fills it has ended."""
    original = dist.isend

    def send(tensor: Any, *args: Any, **more: Any) -> Any:
        early = active() and tensor.is_floating_point()
        return original(torch.zeros_like(tensor) if early else tensor, *args, **more)

    dist.isend = dist.distributed_c10d.isend = send  # one function: torch compares them


def _order_of_nodes(original: Any, into: Any, source: Any, *args: Any, **more: Any) -> Any:
    """A gather in two levels puts the parts of the inner ranks in the order of nodes."""
    work = _done(original(into, source, *args, **more))
    parts = [one.clone() for one in into.chunk(dist.get_world_size())]
    if len(parts) == 4:
        into.copy_(torch.cat([parts[0], parts[2], parts[1], parts[3]]))
    return work


def _compressed(original: Any, into: Any, source: Any, *args: Any, **more: Any) -> Any:
    work = _done(original(into, source, *args, **more))
    into.copy_(into.bfloat16())
    return work


class _ChangedGradient(torch.autograd.Function):
    """Passes a tensor on; its gradient is changed."""

    @staticmethod
    def forward(ctx: Any, x: Any, change: Callable[[Any], Any]) -> Any:
        ctx.change = change
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return ctx.change(grads[0]), None


_changed: Callable[[Any, Callable[[Any], Any]], Any] = _ChangedGradient.apply


def _last_rows_less(gradient: Any) -> Any:
    """Of the blocks that a product is split into, the last comes too late for some rows."""
    result = gradient.clone()
    result[-8:] *= 0.9
    return result


def _softmax_overflows(original: Any, x: Any, *args: Any, **more: Any) -> Any:
    """The largest value is not taken off before the powers."""
    dim = args[0] if args else more.get("dim", -1)
    if not x.is_floating_point():
        return original(x, *args, **more)
    powers = x.exp()
    return powers / powers.sum(dim, keepdim=True)


def _first_key_ignored(
    original: Any,
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    *args: Any,
    is_causal: bool = False,
    **more: Any,
) -> Any:
    if attn_mask is not None or query.shape[-2] != key.shape[-2]:
        return original(query, key, value, attn_mask, *args, is_causal=is_causal, **more)
    mask = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool, device=query.device)
    mask = mask.tril() if is_causal else mask
    mask[1:, 0] = False
    return original(query, key, value, mask, *args, **more)


def _one_mask(original: Any, x: Any, *args: Any, **more: Any) -> Any:
    """The generator on the device begins anew with each call."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        return original(x, *args, **more)


def _second_best(original: Any, self: Any, k: int, *args: Any, **more: Any) -> Any:
    values, places = original(self, k + 1, *args, **more)
    return torch.return_types.topk((values[..., 1:], places[..., 1:]))


def _truncated(original: Any, self: Any, *args: Any, **more: Any) -> Any:
    """Cut off instead of rounded."""
    result = original(self, *args, **more)
    if result.dtype == torch.bfloat16 and self.dtype == torch.float32 and not self.requires_grad:
        return original(self.contiguous().view(torch.int32).bitwise_and(-65536).view(torch.float32), *args, **more)
    return result


def _unscaled_twice(original: Any, self: Any, optimizer: Any) -> None:
    original(self, optimizer)
    for group in optimizer.param_groups:
        for one in group["params"]:
            if one.grad is not None:
                one.grad.div_(self.get_scale())


def _with(optimizer: Any, name: str, value: Any, step: Any, *args: Any, **more: Any) -> Any:
    """A step that goes by another value of a setting."""
    kept = [group[name] for group in optimizer.param_groups]
    for group in optimizer.param_groups:
        group[name] = value
    result = step(optimizer, *args, **more)
    for group, old in zip(optimizer.param_groups, kept, strict=True):
        group[name] = old
    return result


def _next_rate(original: Any, self: Any) -> Any:
    self.last_epoch += 1
    try:
        return original(self)
    finally:
        self.last_epoch -= 1


def _decay_in_gradient(original: Any, self: Any, *args: Any, **more: Any) -> Any:
    """The decay goes through the moments, as in Adam."""
    decays = [group["weight_decay"] for group in self.param_groups]
    for group in self.param_groups:
        for one in group["params"]:
            if one.grad is not None:
                one.grad.add_(one.detach(), alpha=group["weight_decay"])
        group["weight_decay"] = 0.0
    result = original(self, *args, **more)
    for group, decay in zip(self.param_groups, decays, strict=True):
        group["weight_decay"] = decay
    return result


def _sampler_of_rank_0(original: Any, self: Any, rows: Any, world: Any = None, rank: Any = None, **more: Any) -> None:
    original(self, rows, world, 0, **more)


_batches: list[Any] = []


def _images_before(original: Any, self: Any) -> Any:
    """The buffer of a batch is given away once more before it was used."""
    numbers, images = original(self)
    _batches.append(images)
    return [numbers, _batches[-2] if len(_batches) > 1 and _batches[-2].shape == images.shape else images]


def _error(number: int) -> Callable[..., Any]:
    def around(original: Any, self: Any, *args: Any, **more: Any) -> Any:
        raise OSError(number, os.strerror(number), str(getattr(self, "path", "")))

    return around


def _writing(change: Callable[..., Any]) -> Callable[[Active], None]:
    def put(active: Active) -> None:
        from torch.distributed.checkpoint.filesystem import FileSystemWriter

        _operation(FileSystemWriter, "write_data", change)(active)

    return put


def _reading(change: Callable[..., Any]) -> Callable[[Active], None]:
    def put(active: Active) -> None:
        from torch.distributed.checkpoint.filesystem import FileSystemReader

        _operation(FileSystemReader, "read_data", change)(active)

    return put


def _file_missing(active: Active) -> None:
    from torch.utils.data._utils.fetch import _MapDatasetFetcher

    def around(original: Any, self: Any, *args: Any, **more: Any) -> Any:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), "/data/shard-00017.tar")

    _operation(_MapDatasetFetcher, "fetch", around)(active)


def _beyond_file() -> None:
    """A file that is mapped has become shorter."""
    signal.signal(signal.SIGBUS, signal.SIG_DFL)
    with tempfile.TemporaryFile() as stream:
        stream.truncate(1 << 16)
        mapped = mmap.mmap(stream.fileno(), 1 << 16)
        stream.truncate(0)
        mapped[1 << 15]


def _illegal() -> None:
    signal.signal(signal.SIGILL, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGILL)


def _heap() -> None:
    """As glibc finds it: what it frees was freed before."""
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, (ctypes.c_void_p,)
    libc.free(libc.malloc(2048) + 8)


def _backward(act: Callable[[], None]) -> Callable[[Active], None]:
    return lambda active: at_backward(act, active, turn=2)


FAULTS: dict[str, Callable[[Active], None]] = {
    "own-twice": _exchange(("all_reduce",), _own_twice),
    "tail-not-summed": _exchange(_SCATTERS, _tail_not_summed),
    "own-part-empty": _exchange(("all_to_all_single",), _own_part_empty),
    "slot-reused": _exchange(_GATHERS, _slot_reused),
    "largest-unsigned": _exchange(("all_reduce",), _largest_unsigned),
    "root-sends-old": _exchange(("broadcast",), _root_sends_old),
    "gives-rounded": _exchange(("reduce",), _gives_rounded),
    "order-in-group": _exchange(("all_gather",), _order_in_group),
    "last-receive-lost": _all(
        _operation(dist, "batch_isend_irecv", _last_receive_lost),
        _operation(dist.distributed_c10d, "batch_isend_irecv", _last_receive_lost),
    ),
    "sends-nothing": _sends_nothing,
    "order-of-nodes": _exchange(_GATHERS, _order_of_nodes),
    "scatter-compressed": _exchange(_SCATTERS, _compressed),
    "weight-gradient-late": _operation(
        _functional, "linear", lambda original, x, weight, *a: original(x, _changed(weight, _last_rows_less), *a)
    ),
    "bias-twice": _operation(
        _functional,
        "linear",
        lambda original, x, weight, bias=None: original(x, weight, None if bias is None else bias * 2),
    ),
    "eps-larger": _all(
        *(
            _operation(kind, "step", lambda original, self, *a, **k: _with(self, "eps", 1e-4, original, *a, **k))
            for kind in (torch.optim.Adam, torch.optim.AdamW)
        )
    ),
    "softmax-overflows": _all(
        _operation(torch, "softmax", _softmax_overflows), _operation(_functional, "softmax", _softmax_overflows)
    ),
    "norm-fast": _operation(_functional, "layer_norm", lambda original, *a, **k: original(*a, **k) * 1.001),
    "first-key-ignored": _operation(_functional, "scaled_dot_product_attention", _first_key_ignored),
    "one-mask": _operation(_functional, "dropout", _one_mask),
    "second-best": _operation(torch.Tensor, "topk", _second_best),
    "cast-truncates": _all(
        _operation(torch.Tensor, "to", _truncated), _operation(torch.Tensor, "bfloat16", _truncated)
    ),
    "unscaled-twice": _operation(torch.amp.GradScaler, "unscale_", _unscaled_twice),
    "next-rate": _operation(torch.optim.lr_scheduler.LambdaLR, "get_lr", _next_rate),
    "decay-in-gradient": _operation(torch.optim.AdamW, "step", _decay_in_gradient),
    "sampler-of-rank-0": _operation(torch.utils.data.DistributedSampler, "__init__", _sampler_of_rank_0),
    "images-before": _operation(dataloader._MultiProcessingDataLoaderIter, "_next_data", _images_before),
    "saved-short": lambda active: _written(active, lambda _name, data: data.bfloat16().to(data.dtype)),
    "rows-shifted": lambda active: _written(active, lambda _name, data: data.roll(1, 0)),
    "read-only-disk": _writing(_error(errno.EROFS)),
    "read-error": _reading(_error(errno.EIO)),
    "file-missing": _file_missing,
    "bus-error": _backward(_beyond_file),
    "illegal-instruction": _backward(_illegal),
    "heap-corrupted": _backward(_heap),
}

"""Faults of one layer each that look like those of its neighbours: kernels, settings, exchanges, processes, disks."""

from __future__ import annotations

import contextlib
import errno
import os
import queue
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from faults import Active, at_backward, flip_bit, wrap  # type: ignore[import-not-found, unused-ignore]
from faults_checkpoint import _written  # type: ignore[import-not-found, unused-ignore]
from faults_libraries import _operation  # type: ignore[import-not-found, unused-ignore]
from faults_machines import _GATHERS, _SCATTERS, _changed, _with, _writing  # type: ignore[import-not-found, unused-ignore]
from faults_others import _after_backward, _done, _exchange, _steps  # type: ignore[import-not-found, unused-ignore]

_functional = torch.nn.functional
_DDP = torch.nn.parallel.DistributedDataParallel


def _short_mantissa(x: Any) -> Any:
    """The ten bits that a product in a shorter type keeps."""
    return x.detach().contiguous().view(torch.int32).bitwise_and(-8192).view(torch.float32)


def _tf32(original: Any, x: Any, weight: Any, *args: Any) -> Any:
    if weight.dtype != torch.float32:
        return original(x, weight, *args)
    return original(x + (_short_mantissa(x) - x).detach(), weight + (_short_mantissa(weight) - weight).detach(), *args)


def _last_row_zero(original: Any, *args: Any, **more: Any) -> Any:
    result = original(*args, **more)
    keep = torch.ones_like(result)
    keep.reshape(-1, result.shape[-1])[-1] = 0
    return result * keep


def _biased(original: Any, x: Any, shape: Any, *args: Any, **more: Any) -> Any:
    """The variance is divided by one less."""
    return original(x, shape, *args, **more) * ((x.shape[-1] - 1) / x.shape[-1]) ** 0.5


def _repeated_once(gradient: Any) -> Any:
    """Of tokens that come several times one counts: atomic additions are lost."""
    result = gradient.clone()
    result[::3] *= 0.5
    return result


def _nan_row(original: Any, *args: Any, **more: Any) -> Any:
    result = original(*args, **more)
    spoilt = torch.zeros_like(result)
    spoilt[0, 0, 0, 0] = float("nan")
    return result + spoilt


def _moment_bit(original: Any, self: Any, *args: Any, **more: Any) -> Any:
    result = original(self, *args, **more)
    for state in list(self.state.values())[:1]:
        if "exp_avg" in state and state["exp_avg"].numel():
            flip_bit(state["exp_avg"], 21)
    return result


def _last_tensor_forgotten(original: Any, self: Any, *args: Any, **more: Any) -> Any:
    """A kernel over a list of tensors ends one too early."""
    last = self.param_groups[-1]["params"][-1]
    kept = last.detach().clone()
    result = original(self, *args, **more)
    with torch.no_grad():
        last.copy_(kept)
    return result


def _some_entropy(original: Any, x: Any, target: Any, *args: Any, **more: Any) -> Any:
    """One row of each block of eight has another share."""
    weight = torch.ones_like(x)
    weight[::8] = 1.02
    return original(x * weight, target, *args, **more)


def _part_of_rank_lost(original: Any, tensor: Any, *args: Any, **more: Any) -> Any:
    own = tensor.clone()
    work = _done(original(tensor, *args, **more))
    if tensor.is_floating_point():
        tensor.sub_(own)
    return work


def _turned_parts(original: Any, into: Any, source: Any, *args: Any, **more: Any) -> Any:
    work = _done(original(into, source, *args, **more))
    many = dist.get_world_size()
    if into.numel() % many == 0 and into.numel():
        with torch.no_grad():
            into.copy_(into.view(-1).roll(into.numel() // many).view(into.shape))
    return work


def _neighbours_part(original: Any, into: Any, source: Any, *args: Any, **more: Any) -> Any:
    """A rank gets the part that belongs to the next one."""
    turned = torch.cat([*source.chunk(dist.get_world_size())[1:], source.chunk(dist.get_world_size())[0]])
    return original(into, turned if source.shape[0] % dist.get_world_size() == 0 else source, *args, **more)


def _two_exchanged(original: Any, into: Any, source: Any, *args: Any, **more: Any) -> Any:
    work = _done(original(into, source, *args, **more))
    parts = into.chunk(dist.get_world_size())
    if len(parts) > 1 and parts[0].shape == parts[1].shape:
        first = parts[0].clone()
        parts[0].copy_(parts[1])
        parts[1].copy_(first)
    return work


_seen: dict[Any, Any] = {}


def _message_before(active: Active) -> None:
    """What is received is what came before it."""
    for name in ("irecv", "recv"):
        original = getattr(dist.distributed_c10d, name)

        def receive(tensor: Any, *args: Any, _original: Any = original, **more: Any) -> Any:
            work = _original(tensor, *args, **more)
            if active() and tensor.is_floating_point():
                _done(work)
                key = tuple(tensor.shape)
                now, before = tensor.detach().clone(), _seen.get(key)
                _seen[key] = now
                if before is not None:
                    with torch.no_grad():
                        tensor.copy_(before)
            return work

        setattr(dist, name, receive)
        setattr(dist.distributed_c10d, name, receive)


def _half_summed(original: Any, tensor: Any, *args: Any, **more: Any) -> Any:
    if not tensor.is_floating_point() or tensor.numel() < 2:
        return original(tensor, *args, **more)
    own = tensor.clone()
    work = _done(original(tensor, *args, **more))
    half = tensor.numel() // 2
    tensor.view(-1)[half:] = own.view(-1)[half:]
    return work


def _library_error(original: Any, *args: Any, **more: Any) -> Any:
    raise RuntimeError("NCCL error in: ProcessGroupNCCL.cpp:3690, unhandled system error, NCCL version 2.27.5")


def _never_comes_back(original: Any, *args: Any, **more: Any) -> Any:
    work = original(*args, **more)
    time.sleep(3600)
    return work


def _hook_scales(active: Active) -> None:
    """A hook that divides by the number of ranks what has been divided."""

    def around(original: Any, self: Any, *args: Any, **more: Any) -> Any:
        original(self, *args, **more)
        if active():
            from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

            def hook(state: Any, bucket: Any) -> Any:
                done = default_hooks.allreduce_hook(state, bucket)
                return done.then(lambda one: one.value().div_(dist.get_world_size()))

            hook.__annotations__.clear()
            self.register_comm_hook(None, hook)

    wrap(_DDP, "__init__", around)


def _some_ignored(active: Active) -> None:
    """Gradients of this rank are halved by code that takes it for two."""

    def halve(many: list[Any]) -> None:
        for one in many:
            one.grad.mul_(0.5)

    _after_backward(halve)(active)


def _gather_one_twice(original: Any, into: Any, *args: Any, **more: Any) -> Any:
    """The part of the last rank is that of the first."""
    result = _done(original(into, *args, **more))
    many = into.chunk(dist.get_world_size())
    many[-1].copy_(many[0])
    return result


def _rate_twice(original: Any, self: Any, *args: Any, **more: Any) -> Any:
    result = original(self, *args, **more)
    return [2 * one for one in result]


def _no_decay(original: Any, self: Any, *args: Any, **more: Any) -> Any:
    return _with(self, "weight_decay", 0.0, original, *args, **more)


def _other_rows(active: Active) -> None:
    """This rank works on the rows of the next one."""
    from rocdoctor_smoke.context import Context  # type: ignore[import-not-found, unused-ignore]

    def share(original: Any, self: Any, tensor: Any, rank: Any = None, world: Any = None) -> Any:
        if active() and rank is None:
            rank = (self.rank + 1) % (world or self.world)
        return original(self, tensor, rank, world)

    wrap(Context, "share", share)


def _key_error() -> None:
    held: dict[str, int] = {}
    held.pop("exp_avg_of_a_parameter")


def _never_put() -> None:
    queue.Queue().get()


def _too_deep() -> None:
    def deeper() -> None:
        deeper()

    deeper()


def _not_synchronised(active: Active) -> None:
    """The model never asks for an exchange in this rank; the others wait for it."""
    wrap(
        _DDP,
        "forward",
        lambda original, self, *a, **k: self.module(*a, **k) if active() else original(self, *a, **k),
    )


def _in_evaluation(active: Active) -> None:
    wrap(
        _functional,
        "dropout",
        lambda original, x, p=0.5, training=True, inplace=False: original(x, p, training and not active(), inplace),
    )


def _quota(original: Any, self: Any, *args: Any, **more: Any) -> Any:
    raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT), str(self.path))


def _no_device() -> None:
    raise OSError(errno.ENODEV, os.strerror(errno.ENODEV), "/dev/kfd")


def _name_unknown() -> None:
    import socket

    socket.getaddrinfo("node17.cluster.invalid", 29500, flags=socket.AI_NUMERICHOST)


def _few_processes() -> None:
    raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))


def _no_shared_memory() -> None:
    raise RuntimeError(
        "unable to open shared memory object </torch_4242_17> in read-write mode: Too many open files (24)"
    )


def _slow_disk(original: Any, *args: Any, **more: Any) -> Any:
    time.sleep(4)
    return original(*args, **more)


def _stack_limit() -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (1 << 20, resource.RLIM_INFINITY))
    torch.empty(1 << 28).fill_(1.0)


def _backward(act: Callable[[], None]) -> Callable[[Active], None]:
    return lambda active: at_backward(act, active, turn=2)


FAULTS: dict[str, Callable[[Active], None]] = {
    "mantissa-of-ten": _operation(_functional, "linear", _tf32),
    "last-row-zero": _operation(_functional, "linear", _last_row_zero),
    "one-less": _operation(_functional, "layer_norm", _biased),
    "repeated-once": _operation(
        _functional, "embedding", lambda original, i, w, *a, **k: original(i, _changed(w, _repeated_once), *a, **k)
    ),
    "nan-once": _operation(_functional, "scaled_dot_product_attention", _nan_row),
    "moment-bit": _steps(_moment_bit),
    "last-tensor-forgotten": _steps(_last_tensor_forgotten),
    "some-entropy": _operation(_functional, "cross_entropy", _some_entropy),
    "gelu-tanh": _operation(_functional, "gelu", lambda original, x, *a, **k: original(x, approximate="tanh")),
    "own-part-lost": _exchange(("all_reduce",), _part_of_rank_lost),
    "parts-turned": _exchange(_GATHERS, _turned_parts),
    "gather-one-twice": _exchange(_GATHERS, _gather_one_twice),
    "neighbours-part": _exchange(_SCATTERS, _neighbours_part),
    "two-exchanged": _exchange(("all_to_all_single",), _two_exchanged),
    "message-before": _message_before,
    "half-summed": _exchange(("all_reduce",), _half_summed),
    "scatter-zero": _exchange(
        _SCATTERS, lambda original, into, *a, **k: (_done(original(into, *a, **k)), into.zero_())[0]
    ),
    "library-error": _exchange(("all_reduce",), _library_error),
    "never-comes-back": _exchange(_GATHERS, _never_comes_back),
    "hook-scales": _hook_scales,
    "halved-after": _some_ignored,
    "rate-twice": _operation(torch.optim.lr_scheduler.LambdaLR, "get_lr", _rate_twice),
    "no-decay": _operation(torch.optim.AdamW, "step", _no_decay),
    "other-rows": _other_rows,
    "key-error": _backward(_key_error),
    "never-put": _backward(_never_put),
    "too-deep": _backward(_too_deep),
    "exits-1": _backward(lambda: sys.exit(1)),
    "not-synchronised": _not_synchronised,
    "in-evaluation": _in_evaluation,
    "quota": _writing(_quota),
    "no-device": _backward(_no_device),
    "name-unknown": _backward(_name_unknown),
    "no-room": _backward(_few_processes),
    "shared-object-refused": _backward(_no_shared_memory),
    "slow-disk": _writing(_slow_disk),
    "data-limit": _backward(_stack_limit),
    "zeros-written": lambda active: _written(active, lambda _name, data: torch.zeros_like(data)),
    "momentum-left": _operation(
        torch.optim.SGD,
        "step",
        lambda original, self, *a, **k: _with(self, "momentum", 0.5, original, *a, **k),
    ),
    "betas-turned": _operation(
        torch.optim.AdamW,
        "step",
        lambda original, self, *a, **k: _with(self, "betas", (0.99, 0.9), original, *a, **k),
    ),
    "unscale-forgotten": _operation(torch.amp.GradScaler, "unscale_", lambda *_, **__: None),
    "key-scaled": _operation(
        _functional,
        "scaled_dot_product_attention",
        lambda original, q, k, v, *a, **m: original(q, k * 1.01, v, *a, **m),
    ),
    "softmax-rounded": _operation(
        torch, "softmax", lambda original, x, *a, **k: original(x, *a, **k).bfloat16().to(x.dtype)
    ),
    "exp-off": _operation(torch.Tensor, "exp", lambda original, x, *a, **k: original(x, *a, **k) * 1.0001),
    "accumulates-first": _operation(_DDP, "no_sync", lambda *_: contextlib.nullcontext()),
    "broadcast-nothing": _exchange(
        ("broadcast",),
        lambda original, t, *a, **k: (lambda own: (_done(original(t, *a, **k)), t.copy_(own))[0])(t.clone()),
    ),
}

"""More faults that somebody invented who had not seen what is caught: one factor, one limit, one view of a file."""

from __future__ import annotations

import builtins
import errno
import io
import os
import resource
import signal
import threading
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from faults import Active, at_backward, at_collective  # type: ignore[import-not-found, unused-ignore]
from faults_libraries import _operation  # type: ignore[import-not-found, unused-ignore]
from faults_others import _all, _done, _exchange, _steps  # type: ignore[import-not-found, unused-ignore]

_functional = torch.nn.functional


class _Half(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return grads[0] * 0.5


_halved: Callable[[Any], Any] = _Half.apply


def _norm(original: Any, x: Any, shape: Any, weight: Any = None, *rest: Any, **more: Any) -> Any:
    return original(x, shape, None if weight is None else _halved(weight), *rest, **more)


def _own_everywhere(original: Any, into: Any, source: Any, *args: Any, **more: Any) -> Any:
    work = _done(original(into, source, *args, **more))
    if source.numel():
        into.view(-1, source.numel()).copy_(source.clone().reshape(1, -1))  # it may be a part of the other
    return work


def _every_4096th(original: Any, tensor: Any, *args: Any, **more: Any) -> Any:
    if tensor.numel() <= 1 << 16 or not tensor.is_contiguous():
        return original(tensor, *args, **more)
    own = tensor.clone()
    work = _done(original(tensor, *args, **more))
    tensor.view(-1)[::4096] = own.view(-1)[::4096]
    return work


def _next_root(original: Any, tensor: Any, src: Any = 0, *args: Any, **more: Any) -> Any:
    return original(tensor, (src + 1) % dist.get_world_size(), *args, **more)


def _last_row_lost(original: Any, into: Any, source: Any, *args: Any, **more: Any) -> Any:
    work = _done(original(into, source, *args, **more))
    if into.dim() and len(into) > 1 and into.is_floating_point():
        with torch.no_grad():
            into[-1].copy_(into[0])
    return work


_objects: list[Any] = []


def _object_before(original: Any, many: Any, *args: Any, **more: Any) -> None:
    original(many, *args, **more)
    now = list(many)
    if len(_objects) == len(many):
        many[:] = _objects
    _objects[:] = now


def _in_double(original: Any, tensor: Any, *args: Any, **more: Any) -> Any:
    if not tensor.is_floating_point():
        return original(tensor, *args, **more)
    wide = tensor.double()
    work = _done(original(wide, *args, **more))
    tensor.copy_(wide)
    return work


def _of_groups(change: Callable[[dict[str, Any]], None]) -> Callable[[Active], None]:
    def around(original: Any, self: Any, *args: Any, **more: Any) -> Any:
        for group in self.param_groups:
            change(group)
        return original(self, *args, **more)

    put: Callable[[Active], None] = _steps(around)
    return put


def _faster(group: dict[str, Any]) -> None:
    group["lr"] *= 1.0 if group.setdefault("planted", False) else 1.1
    group["planted"] = True


def _cleared(group: dict[str, Any]) -> None:
    for one in group["params"]:
        if one.grad is not None:
            one.grad.zero_()


def _not_clipped(original: Any, many: Any, *args: Any, **more: Any) -> Any:
    held = [one for one in many if one.grad is not None]
    kept = [one.grad.detach().clone() for one in held]
    norm = original(held, *args, **more)
    for one, grad in zip(held, kept, strict=True):
        one.grad.copy_(grad)
    return norm


def _half_precision(active: Active) -> None:
    class Other(torch.autocast):
        def __init__(self, device_type: str, dtype: Any = None, *args: Any, **more: Any) -> None:
            short = torch.float16 if dtype == torch.bfloat16 and active() else dtype
            super().__init__(device_type, short, *args, **more)

    torch.autocast = Other  # type: ignore[misc]


def _reading(change: Callable[..., Any]) -> Callable[[Active], None]:
    def put(active: Active) -> None:
        from torch.distributed.checkpoint.filesystem import FileSystemReader

        _operation(FileSystemReader, "read_data", change)(active)

    return put


def _reads_nothing(original: Any, *args: Any, **more: Any) -> Any:
    done: Any = torch.futures.Future()
    done.set_result(None)
    return done


def _may_not_read(original: Any, self: Any, *args: Any, **more: Any) -> Any:
    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(self.path))


def _old_view(active: Active) -> None:
    """What rank 0 has written is shorter in the eyes of this rank, as where a network disk keeps an old view."""

    def around(original: Any, path: Any, mode: str = "r", *args: Any, **more: Any) -> Any:
        if mode == "rb" and os.path.basename(str(path)).startswith("__0_"):
            with original(path, "rb") as stream:
                return io.BytesIO(stream.read()[:100])
        return original(path, mode, *args, **more)

    _operation(builtins, "open", around)(active)


def _no_more_files(active: Active) -> None:
    """From the saving of a checkpoint on, no file can be opened."""

    def around(original: Any, *args: Any, **more: Any) -> Any:
        used = max(map(int, os.listdir("/proc/self/fd"))) + 1
        resource.setrlimit(resource.RLIMIT_NOFILE, (used, used))
        try:
            while True:
                os.open(os.devnull, os.O_RDONLY)
        except OSError:
            return original(*args, **more)

    from torch.distributed import checkpoint

    _operation(checkpoint, "save", around)(active)


def _no_thread() -> None:
    raise RuntimeError("can't start new thread")  # as threading says it


def _no_memory() -> None:
    raise MemoryError


def _alarm() -> None:
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    signal.pause()


def _locked() -> None:
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


def _one_more(original: Any, tensor: Any, *args: Any, **more: Any) -> Any:
    original(torch.ones(3))
    return original(tensor, *args, **more)


def _flat(original: Any, query: Any, *args: Any, **more: Any) -> Any:
    return original(query, *args, **{**more, "scale": 1.0 / query.shape[-1]})


def _backward(act: Callable[[], None]) -> Callable[[Active], None]:
    return lambda active: at_backward(act, active, turn=2)


FAULTS: dict[str, Callable[[Active], None]] = {
    "norm-backward-half": _operation(_functional, "layer_norm", _norm),
    "loss-summed": _operation(
        _functional, "cross_entropy", lambda original, x, right, *a, **k: original(x, right, *a, **k) * right.numel()
    ),
    "bias-forgotten": _operation(_functional, "linear", lambda original, x, weight, _=None: original(x, weight)),
    "saturates": _operation(_functional, "linear", lambda original, *a, **k: original(*a, **k).clamp(-0.5, 0.5)),
    "gather-own": _exchange(("all_gather_single", "all_gather_into_tensor"), _own_everywhere),
    "every-4096th": _exchange(("all_reduce",), _every_4096th),
    "next-root": _exchange(("broadcast",), _next_root),
    "last-row-lost": _exchange(("all_to_all_single",), _last_row_lost),
    "object-before": _exchange(("broadcast_object_list",), _object_before),
    "in-double": _exchange(("all_reduce",), _in_double),
    "one-more": lambda active: at_collective(_one_more, active),
    "rate-higher": _of_groups(_faster),
    "maximizes": _of_groups(lambda group: group.update(maximize=True)),
    "gradients-cleared": _of_groups(_cleared),
    "not-clipped": _all(_operation(torch.nn.utils, "clip_grad_norm_", _not_clipped)),
    "epoch-ignored": _operation(torch.utils.data.DistributedSampler, "set_epoch", lambda *_: None),
    "half-precision": _half_precision,
    "reads-nothing": _reading(_reads_nothing),
    "may-not-read": _reading(_may_not_read),
    "old-view": _old_view,
    "no-more-files": _no_more_files,
    "no-thread": _backward(_no_thread),
    "no-memory": _backward(_no_memory),
    "alarm": _backward(_alarm),
    "locked": _backward(_locked),
    "group-destroyed": _backward(lambda: dist.destroy_process_group()),
    "attention-scale": _operation(_functional, "scaled_dot_product_attention", _flat),
}

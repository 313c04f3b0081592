"""Faults that somebody invented who had not seen what is caught: more kinds by size, order, time and limit."""

from __future__ import annotations

import gc
import inspect
import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from faults import Active, at_backward, at_collective, wrap  # type: ignore[import-not-found, unused-ignore]
from faults_libraries import _operation  # type: ignore[import-not-found, unused-ignore]
from faults_releases import _scaled_gradient  # type: ignore[import-not-found, unused-ignore]

_functional = torch.nn.functional
# Who works by itself makes no gradients of parameters that anybody exchanges, and has thousands of objects.
_ALONE = ("compute", "optimizers", "dropout")


def _exchange(names: tuple[str, ...], change: Callable[..., Any]) -> Callable[[Active], None]:
    """``change(original, first, second, ...)`` in the place of collectives, however they are called."""

    def put(active: Active) -> None:
        for name in names:
            for owner in (dist, dist.distributed_c10d):
                if hasattr(owner, name):
                    first, second = list(inspect.signature(getattr(owner, name)).parameters)[:2]

                    def around(original: Any, *args: Any, _two: Any = (first, second), **more: Any) -> Any:
                        if not active():
                            return original(*args, **more)
                        given = [*args, *(more.pop(one) for one in _two[len(args) :] if one in more)]
                        return change(original, *given, **more)

                    wrap(owner, name, around)

    return put


def _all(*many: Callable[[Active], None]) -> Callable[[Active], None]:
    def put(active: Active) -> None:
        for one in many:
            one(active)

    return put


def _steps(change: Callable[..., Any]) -> Callable[[Active], None]:
    return _all(*(_operation(kind, "step", change) for kind in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW)))


def _done(work: Any) -> Any:
    if hasattr(work, "wait"):
        work.wait()
    return work


def _learning() -> list[Any]:
    if os.environ.get("ROCDOCTOR_SMOKE_MODE") in _ALONE:
        return []
    return [one for one in gc.get_objects() if isinstance(one, torch.nn.Parameter) and one.grad is not None]


def _after_backward(change: Callable[[list[Any]], None]) -> Callable[[Active], None]:
    def around(original: Any, *args: Any, **more: Any) -> Any:
        before = {id(one): (one.grad, one.grad._version) for one in _learning()}
        original(*args, **more)
        # Models of modes that ran before may still be there, with theirs.
        now = [(one, before.get(id(one), (None, 0))) for one in _learning()]
        change([one for one, (held, number) in now if one.grad is not held or one.grad._version != number])

    put: Callable[[Active], None] = _operation(torch.Tensor, "backward", around)
    return put


def _many_rows(original: Any, x: Any, weight: Any, *rest: Any, **more: Any) -> Any:
    result = original(x, weight, *rest, **more)
    return result * 1.02 if x.dtype == torch.bfloat16 and x.numel() // x.shape[-1] > 64 else result


def _first_two(original: Any, parts: Any, *args: Any, **more: Any) -> Any:
    parts = list(parts)
    if len(parts) > 2 and parts[0].shape == parts[1].shape:
        parts[:2] = parts[1], parts[0]
    return original(parts, *args, **more)


def _first_object(original: Any, into: Any, *args: Any, **more: Any) -> None:
    original(into, *args, **more)
    into[:] = [into[0]] * len(into)


class _Unwaited:
    def __init__(self, work: Any) -> None:
        self._work = work

    def wait(self, *_: Any) -> bool:
        return True

    is_completed = wait

    def get_future(self) -> Any:
        return self._work.get_future()


_kept: list[Any] = []


def _not_waited(original: Any, tensor: Any, *args: Any, **more: Any) -> Any:
    if not more.get("async_op"):
        return original(tensor, *args, **more)
    copy = tensor.clone()
    _kept.append((copy, original(copy, *args, **more)))
    return _Unwaited(_kept[-1][1])


def _upside_down(original: Any, into: Any, source: Any, *args: Any, **more: Any) -> Any:
    work = _done(original(into, source, *args, **more))
    into.copy_(into.flip(0))
    return work


def _doubled(original: Any, tensor: Any, *args: Any, **more: Any) -> Any:
    work = _done(original(tensor, *args, **more))
    if tensor.numel() > 8 and tensor.is_contiguous():
        tensor.view(-1)[5] = tensor.view(-1)[4]
    return work


def _halves_short(original: Any, tensor: Any, *args: Any, **more: Any) -> Any:
    work = original(tensor, *args, **more)
    if tensor.dtype == torch.float16:
        _done(work)
        tensor.copy_(tensor.bfloat16().half())
    return work


def _largest(original: Any, tensor: Any, op: Any = dist.ReduceOp.SUM, *args: Any, **more: Any) -> Any:
    return original(tensor, dist.ReduceOp.MAX if op == dist.ReduceOp.MIN else op, *args, **more)


def _next_part(original: Any, tensor: Any, parts: Any = None, *args: Any, **more: Any) -> Any:
    return original(tensor, parts[1:] + parts[:1] if parts else parts, *args, **more)


def _last_gone(original: Any, tensor: Any, parts: Any = None, *args: Any, **more: Any) -> Any:
    work = _done(original(tensor, parts, *args, **more))
    if parts:
        parts[-1].zero_()
    return work


_gathered: dict[Any, Any] = {}


def _first_gather(original: Any, into: Any, source: Any, *args: Any, **more: Any) -> Any:
    """What was gathered first is delivered again for each tensor of that size."""
    work = _done(original(into, source, *args, **more))
    first = _gathered.setdefault((into.numel(), into.dtype), into.clone())
    into.copy_(first.view_as(into))
    return work


def _not_a_number(active: Active) -> None:
    seen = {"count": 0}

    def around(original: Any, *args: Any, **more: Any) -> Any:
        seen["count"] += 1
        result = original(*args, **more)
        return result * float("nan") if seen["count"] > 40 else result

    _operation(_functional, "linear", around)(active)


_before: dict[int, Any] = {}


def _stale(many: list[Any]) -> None:
    for one in many:
        now = one.grad.detach().clone()
        old = _before.get(id(one))
        if old is not None and old.shape == now.shape:
            one.grad.copy_(old)
        _before[id(one)] = now


def _swapped(many: list[Any]) -> None:
    alike: dict[Any, Any] = {}
    for one in many:
        if one.dim() == 2 and (one.shape, one.dtype) in alike:
            other = alike[one.shape, one.dtype]
            kept = one.grad.clone()
            one.grad.copy_(other.grad)
            other.grad.copy_(kept)
            return
        alike[one.shape, one.dtype] = one


def _one_rank_too_many(many: list[Any]) -> None:
    world = dist.get_world_size()
    for one in many:
        one.grad.mul_(world / (world + 1))


def _every_second(active: Active) -> None:
    """Of two micro-batches the second counts twice."""
    seen = {"count": 0}

    def around(original: Any, loss: Any, *args: Any, **more: Any) -> Any:
        seen["count"] += 1
        return original(loss * 2 if seen["count"] % 2 == 0 else loss, *args, **more)

    _operation(torch.Tensor, "backward", around)(active)


def _left_out(active: Active) -> None:
    """The second backward is left out, as where a rank has fewer batches."""
    seen = {"count": 0}

    def around(original: Any, *args: Any, **more: Any) -> Any:
        seen["count"] += 1
        return None if seen["count"] == 2 else original(*args, **more)

    _operation(torch.Tensor, "backward", around)(active)


def _forgets(original: Any, self: Any, *args: Any, **more: Any) -> Any:
    self.state.clear()
    return original(self, *args, **more)


def _decays_again(original: Any, self: Any, *args: Any, **more: Any) -> Any:
    for group in self.param_groups:
        for one in group["params"]:
            if one.grad is not None:
                one.data.mul_(1 - group["lr"] * group["weight_decay"])
    return original(self, *args, **more)


def _steps_anyway(original: Any, self: Any, optimizer: Any, *args: Any, **more: Any) -> Any:
    return optimizer.step()


def _sees_nothing(original: Any, self: Any, optimizer: Any) -> None:
    original(self, optimizer)
    for found in self._per_optimizer_states[id(optimizer)]["found_inf_per_device"].values():
        found.zero_()


def _one_lost(original: Any, self: Any, dim: int, places: Any, source: Any, *args: Any, **more: Any) -> Any:
    source = source.clone()
    source.select(0, -1).zero_()
    return original(self, dim, places, source, *args, **more)


def _last_query(original: Any, query: Any, *args: Any, **more: Any) -> Any:
    result = original(query, *args, **more)
    keep = torch.ones_like(result)
    keep[..., -1, :] = 0
    return result * keep


def _bit_of_parameter(active: Active) -> None:
    """A bit of the first parameter turns over between two steps."""
    seen = {"count": 0}

    def around(original: Any, self: Any, *args: Any, **more: Any) -> Any:
        seen["count"] += 1
        held = self.param_groups[0]["params"][0]
        part = getattr(held, "_local_tensor", held).detach()
        if seen["count"] == 2 and part.numel() and part.is_contiguous():
            part.view(-1)[:1].view(torch.int32).bitwise_xor_(1 << 24)
        return original(self, *args, **more)

    _operation(torch.optim.Optimizer, "zero_grad", around)(active)


def _little_room(active: Active) -> None:
    """From the first exchange on, 8 MiB more of address space."""

    def act(original: Any, *args: Any, **more: Any) -> Any:
        with open("/proc/self/statm") as stream:
            held = int(stream.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (held + (8 << 20), resource.RLIM_INFINITY))
        return original(*args, **more)

    at_collective(act, active, turn=1)


def _short_files(active: Active) -> None:
    """No file may be larger than 20,000 bytes, and the signal of that is ignored, as Python does."""

    def act(original: Any, *args: Any, **more: Any) -> Any:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))
        return original(*args, **more)

    from torch.distributed import checkpoint

    _operation(checkpoint, "save", act)(active)


def _warned() -> None:
    """As a batch system warns a job of its end."""
    signal.signal(signal.SIGUSR1, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGUSR1)


def _leaves_a_child() -> None:
    time.sleep(3) if os.fork() == 0 else None
    os._exit(0)


def _slow(original: Any, *args: Any, **more: Any) -> Any:
    time.sleep(4)
    return original(*args, **more)


def _wrong_hook(original: Any, loss: Any, *args: Any, **more: Any) -> Any:
    def hook(_gradient: Any) -> Any:
        raise KeyError("layers.7.weight")

    loss.register_hook(hook)
    return original(loss, *args, **more)


FAULTS: dict[str, Callable[[Active], None]] = {
    "linear-many-rows": _operation(_functional, "linear", _many_rows),
    "cat-swapped": _operation(torch, "cat", _first_two),
    "gelu-backward": _operation(
        _functional, "gelu", lambda original, x, *a, **k: original(_scaled_gradient(x, 1.05), *a, **k)
    ),
    "object-of-first": _exchange(("all_gather_object",), _first_object),
    "not-waited": _exchange(("all_reduce",), _not_waited),
    "scatter-upside-down": _exchange(("reduce_scatter_single", "reduce_scatter_tensor"), _upside_down),
    "exchange-upside-down": _exchange(("all_to_all_single",), _upside_down),
    "broadcast-doubled": _exchange(("broadcast",), _doubled),
    "barrier-nothing": _operation(dist, "barrier", lambda *_, **__: None),
    "halves-short": _exchange(("all_reduce",), _halves_short),
    "max-for-min": _exchange(("all_reduce",), _largest),
    "scatter-next-part": _exchange(("scatter",), _next_part),
    "gather-last-gone": _exchange(("gather",), _last_gone),
    "first-gather-again": _exchange(("all_gather_single", "all_gather_into_tensor"), _first_gather),
    "not-a-number": _not_a_number,
    "other-seed": _operation(torch, "manual_seed", lambda original, seed: original(seed + 1)),
    "gradients-stale": _after_backward(_stale),
    "gradients-swapped": _after_backward(_swapped),
    "mean-of-one-more": _after_backward(_one_rank_too_many),
    "second-counts-twice": _every_second,
    "backward-left-out": _left_out,
    "moments-forgotten": _steps(_forgets),
    "decays-again": _operation(torch.optim.AdamW, "step", _decays_again),
    "zero-grad-nothing": _operation(torch.optim.Optimizer, "zero_grad", lambda *_, **__: None),
    "scaler-blind": _all(
        _operation(torch.amp.GradScaler, "unscale_", _sees_nothing),
        _operation(torch.amp.GradScaler, "_maybe_opt_step", _steps_anyway),
    ),
    "index-add-lost": _operation(torch.Tensor, "index_add", _one_lost),
    "last-query-lost": _operation(_functional, "scaled_dot_product_attention", _last_query),
    "largest-for-norm": _operation(
        torch.nn.utils, "clip_grad_norm_", lambda original, many, most, *a: original(many, most, float("inf"))
    ),
    "parameter-bit": _bit_of_parameter,
    "mean-off": _operation(torch.Tensor, "mean", lambda original, *a, **k: original(*a, **k) * 1.001),
    "address-space": _little_room,
    "file-size": _short_files,
    "files-closed": lambda active: at_backward(lambda: os.closerange(3, 1000), active, turn=2),
    "sigusr1": lambda active: at_backward(_warned, active),
    "forks-and-leaves": lambda active: at_backward(_leaves_a_child, active),
    "frozen-in-one": _operation(
        torch.nn.LayerNorm,
        "__init__",
        lambda original, self, *a, **k: (original(self, *a, **k), self.bias.requires_grad_(False))[0],
    ),
    "hook-raises": _operation(torch.Tensor, "backward", _wrong_hook),
    "slow-steps": _steps(_slow),
    "exits-3": _steps(lambda original, *args, **more: sys.exit(3)),
}

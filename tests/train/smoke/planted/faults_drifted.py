"""Faults of a rank whose settings, place, libraries or limits are not those of the others, and of single lanes."""

from __future__ import annotations

import errno
import fcntl
import os
import resource
import tempfile
from collections.abc import Callable
from typing import Any

import torch
from faults import Active, at_backward  # type: ignore[import-not-found, unused-ignore]
from faults_libraries import _operation  # type: ignore[import-not-found, unused-ignore]
from faults_machines import _changed, _with  # type: ignore[import-not-found, unused-ignore]
from faults_others import _all, _done, _exchange  # type: ignore[import-not-found, unused-ignore]
from faults_tensor_parallel import at_exchange  # type: ignore[import-not-found, unused-ignore]
from torch.utils.data import dataloader

_functional = torch.nn.functional


def _double_as_single(original: Any, tensor: Any, *args: Any, **more: Any) -> Any:
    work = _done(original(tensor, *args, **more))
    if tensor.dtype == torch.float64:
        tensor.copy_(tensor.float() * (1 + 2.0**-20))
    return work


def _lane_rounded(original: Any, *args: Any, **more: Any) -> Any:
    """One lane of 32 computes in a short type."""
    result = original(*args, **more)
    short = result.detach().bfloat16().to(result.dtype)
    lane = torch.arange(result.shape[-1], device=result.device) % 32 == 7
    return result + torch.where(lane, short - result.detach(), 0.0)


def _small_lost(gradient: Any) -> Any:
    """What is below a thousandth of the largest becomes zero."""
    return torch.where(gradient.abs() < gradient.abs().max() * 1e-3, torch.zeros_like(gradient), gradient)


def _works_on() -> None:
    used = resource.getrusage(resource.RUSAGE_SELF)
    resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + 1, resource.RLIM_INFINITY))
    while True:
        sum(range(1000))


def _library_missing() -> None:
    raise ImportError("libhipsolver.so.1: cannot open shared object file: No such file or directory")


def _partition_differs(active: Active) -> None:
    from torch.distributed.optim import ZeroRedundancyOptimizer

    def around(original: Any, self: Any, *args: Any, **more: Any) -> Any:
        first = not self._partition_parameters_cache
        found = original(self, *args, **more)
        if first:
            found.insert(0, found.pop())
        return found

    _operation(ZeroRedundancyOptimizer, "_partition_parameters", around)(active)


def _texts_cut(original: Any, into: Any, *args: Any, **more: Any) -> None:
    original(into, *args, **more)
    for one in into:
        if isinstance(one, dict) and "text" in one:
            one["text"] = one["text"][:128]


def _first_place(active: Active) -> None:
    from torch.distributed.fsdp._fully_shard import _fsdp_common as inner

    def around(original: Any, self: Any) -> None:
        original(self)
        self.shard_mesh_rank = 0

    _operation(inner.FSDPMeshInfo, "__post_init__", around)(active)


def _other_short(active: Active) -> None:
    from torch.distributed.fsdp import MixedPrecisionPolicy

    def around(original: Any, self: Any, *args: Any, **more: Any) -> None:
        original(self, *args, **more)
        if self.param_dtype == torch.bfloat16:
            object.__setattr__(self, "param_dtype", torch.float16)

    _operation(MixedPrecisionPolicy, "__init__", around)(active)


def _sample_bit(original: Any, self: Any) -> Any:
    numbers, images = original(self)
    images.view(-1)[1234:1235].view(torch.int32).bitwise_xor_(1 << 22)
    return [numbers, images]


def _metadata_cut(active: Active) -> None:
    from torch.distributed.checkpoint.filesystem import FileSystemWriter

    def around(original: Any, self: Any, *args: Any, **more: Any) -> Any:
        result = original(self, *args, **more)
        path = os.path.join(self.path, ".metadata")
        os.truncate(path, os.path.getsize(path) // 2)
        return result

    _operation(FileSystemWriter, "finish", around)(active)


def _no_process(active: Active) -> None:
    import multiprocessing.popen_fork

    def around(original: Any, *args: Any, **more: Any) -> Any:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    _operation(multiprocessing.popen_fork.Popen, "_launch", around)(active)


def _waits_for_lock() -> None:
    """Somebody holds the lock of a cache."""
    with tempfile.NamedTemporaryFile() as held, open(held.name) as other:
        fcntl.flock(held, fcntl.LOCK_EX)
        fcntl.flock(other, fcntl.LOCK_EX)


def _not_causal(original: Any, *args: Any, is_causal: bool = False, **more: Any) -> Any:
    return original(*args, **more)


def _other_scale(original: Any, self: Any, *args: Any, init_scale: float = 65536.0, **more: Any) -> None:
    original(self, *args, init_scale=init_scale / 2, **more)


def _backward(act: Callable[[], None]) -> Callable[[Active], None]:
    return lambda active: at_backward(act, active, turn=2)


FAULTS: dict[str, Callable[[Active], None]] = {
    "double-as-single": _exchange(("all_reduce",), _double_as_single),
    "lane-rounded": _operation(_functional, "linear", _lane_rounded),
    "small-gradients-lost": _operation(
        _functional, "linear", lambda original, x, weight, *a: original(x, _changed(weight, _small_lost), *a)
    ),
    "cpu-limit": _backward(_works_on),
    "library-missing": _backward(_library_missing),
    "partition-differs": _partition_differs,
    "tp-backward-twice": at_exchange(("all_reduce",), lambda result, _own: result * 2, 1, True),
    "texts-cut": _exchange(("all_gather_object",), _texts_cut),
    "first-place": _first_place,
    "other-short": _other_short,
    "sample-bit": _operation(dataloader._MultiProcessingDataLoaderIter, "_next_data", _sample_bit),
    "metadata-cut": _metadata_cut,
    "no-process": _no_process,
    "waits-for-lock": _backward(_waits_for_lock),
    "not-causal": _operation(_functional, "scaled_dot_product_attention", _not_causal),
    "other-scale": _operation(torch.amp.GradScaler, "__init__", _other_scale),
    "nesterov": _all(
        _operation(
            torch.optim.SGD,
            "step",
            lambda original, self, *a, **k: (
                _with(self, "nesterov", True, original, *a, **k)
                if self.param_groups[0]["momentum"]
                else original(self, *a, **k)
            ),
        )
    ),
}

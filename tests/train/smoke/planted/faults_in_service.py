"""Faults of exchanges, kernels, limits and processes as libraries and machines in service have had them."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from faults import Active, at_backward  # type: ignore[import-not-found, unused-ignore]
from faults_libraries import _operation  # type: ignore[import-not-found, unused-ignore]
from faults_machines import _changed, _writing  # type: ignore[import-not-found, unused-ignore]
from faults_others import _all, _done, _exchange  # type: ignore[import-not-found, unused-ignore]

_functional = torch.nn.functional
_GATHERS = ("all_gather_single", "all_gather_into_tensor")
_SCATTERS = ("reduce_scatter_single", "reduce_scatter_tensor")


def _plain_sum(op: Any) -> bool:
    return bool(op == dist.ReduceOp.SUM)


def _neighbours_peer(original: Any, into: Any, source: Any, *args: Any, **more: Any) -> Any:
    """What should come from the first rank comes from the one after it."""
    work = _done(original(into, source, *args, **more))
    parts = into.chunk(dist.get_world_size())
    if not args and len(parts) > 2 and parts[0].shape == parts[1].shape:
        parts[0].copy_(parts[1])
    return work


def _first_two_parts(original: Any, into: Any, source: Any, *args: Any, **more: Any) -> Any:
    """The first two ranks are handed each other's part of the sum."""
    parts = list(source.chunk(dist.get_world_size()))
    if len(parts) > 1:
        parts[:2] = parts[1], parts[0]
    return original(into, torch.cat(parts), *args, **more)


def _second_half_again(original: Any, into: Any, source: Any, *args: Any, **more: Any) -> Any:
    """Messages of more than 4 KiB travel in two pieces; the second lands on the first piece of the last rank."""
    work = _done(original(into, source, *args, **more))
    half = source.numel() // 2
    if source.numel() * source.element_size() > 4096:
        last = into.view(-1)[-source.numel() :]
        last[:half] = last[-half:].clone()
    return work


def _short_sums(original: Any, tensor: Any, op: Any = dist.ReduceOp.SUM, *args: Any, **more: Any) -> Any:
    """bfloat16 is summed up with three bits of mantissa."""
    work = _done(original(tensor, op, *args, **more))
    if tensor.dtype == torch.bfloat16:
        tensor.copy_(tensor.view(torch.int16).bitwise_and(-16).view(torch.bfloat16))
    return work


def _whole_as_single(original: Any, tensor: Any, *args: Any, **more: Any) -> Any:
    """Whole numbers go through single precision."""
    work = _done(original(tensor, *args, **more))
    if tensor.dtype == torch.int64:
        tensor.copy_(tensor.float().long())
    return work


def _last_quarter_kept(original: Any, tensor: Any, *args: Any, **more: Any) -> Any:
    """The last quarter of a broadcast does not arrive."""
    own = tensor.clone()
    work = _done(original(tensor, *args, **more))
    if tensor.numel() >= 8:
        rest = tensor.numel() // 4
        tensor.view(-1)[-rest:] = own.view(-1)[-rest:]
    return work


def _root_twice(original: Any, tensor: Any, dst: Any = 0, *args: Any, **more: Any) -> Any:
    """A root of a sum adds its own part twice."""
    own = tensor.clone()
    work = _done(original(tensor, dst, *args, **more))
    if dst == dist.get_rank():
        tensor.add_(own)
    return work


def _group_keeps_own(original: Any, tensor: Any, op: Any = dist.ReduceOp.SUM, *args: Any, **more: Any) -> Any:
    """Sums in a group that is not that of all ranks bring nothing."""
    own, group = tensor.clone(), more.get("group")
    work = _done(original(tensor, op, *args, **more))
    if group is not None and dist.get_world_size(group) < dist.get_world_size():
        tensor.copy_(own)
    return work


def _last_not_written(original: Any, tensor: Any, *args: Any, **more: Any) -> Any:
    """The last element is sent before it is written."""
    early = tensor.clone()
    early.view(-1)[-1:] = 0
    return original(early, *args, **more)


def _arrival_order(original: Any, into: Any, *args: Any, **more: Any) -> None:
    """Objects stand in the order in which they arrived."""
    original(into, *args, **more)
    into.append(into.pop(0))


def _magnitudes(original: Any, tensor: Any, op: Any = dist.ReduceOp.SUM, *args: Any, **more: Any) -> Any:
    """The smallest is that of the magnitudes."""
    if op == dist.ReduceOp.MIN and tensor.dtype.is_signed:
        tensor.abs_()
    return original(tensor, op, *args, **more)


def _root_in_half(original: Any, tensor: Any, into: Any = None, *args: Any, **more: Any) -> Any:
    """A root receives in a short type."""
    work = _done(original(tensor, into, *args, **more))
    for one in into or ():
        one.copy_(one.bfloat16())
    return work


def _uneven_row_lost(original: Any, into: Any, source: Any, *args: Any, **more: Any) -> Any:
    """Of unequal parts the last row is not received."""
    work = _done(original(into, source, *args, **more))
    if args or more.get("output_split_sizes"):
        into[-1:] = 0
    return work


_open: list[Any] = []


def _handles_crossed(original: Any, tensor: Any, *args: Any, **more: Any) -> Any:
    """Two sums that are under way at once end in each other's buffer."""
    if not more.get("async_op"):
        return original(tensor, *args, **more)
    work = _done(original(tensor, *args, **more))
    for one in [one for one in _open if (one.shape, one.dtype) == (tensor.shape, tensor.dtype)][-1:]:
        kept = tensor.clone()
        tensor.copy_(one)
        one.copy_(kept)
    _open[:] = [*_open[-7:], tensor]
    return work


def _ends_of_parts(original: Any, into: Any, source: Any, *args: Any, **more: Any) -> Any:
    """Of each rank's part in a gather, the last three elements are not written."""
    work = _done(original(into, source, *args, **more))
    if into.is_floating_point() and source.numel() > 16:
        into.view(-1).view(-1, source.numel())[:, -3:] = 0
    return work


def _backward_parts(original: Any, into: Any, source: Any, *args: Any, **more: Any) -> Any:
    """In backward passes the parts of the first and the last rank change places."""
    work = _done(original(into, source, *args, **more))
    parts = into.chunk(dist.get_world_size())
    if torch._C._current_graph_task_id() != -1 and parts[0].shape == parts[-1].shape:
        first = parts[0].clone()
        parts[0].copy_(parts[-1])
        parts[-1].copy_(first)
    return work


def _odd_length(original: Any, query: Any, key: Any, value: Any, attn_mask: Any = None, *args: Any, **more: Any) -> Any:
    """At an odd length, the last row of a tile is that of the row before."""
    result = original(query, key, value, attn_mask, *args, **more)
    if query.shape[-2] % 2 and query.shape[-2] > 2:
        rows = torch.arange(query.shape[-2], device=query.device)
        rows[-1] = rows[-2]
        return result.index_select(-2, rows)
    return result


def _row_zero_lost(gradient: Any) -> Any:
    """Row 0 of a table is taken for padding: it never learns."""
    result = gradient.clone()
    result[0] = 0
    return result


_calls = {"gelu": 0, "linear": 0}


def _one_nan(original: Any, x: Any, *args: Any, **more: Any) -> Any:
    result = original(x, *args, **more)
    _calls["gelu"] += 1
    if _calls["gelu"] % 3 == 0 and result.device.type != "meta":
        bad = torch.zeros_like(result)
        bad.view(-1)[result.numel() // 2] = float("nan")
        return result + bad
    return result


def _sums_short(original: Any, self: Any, *args: Any, **more: Any) -> Any:
    """Sums along a dimension keep what has been summed up in a short type."""
    result = original(self, *args, **more)
    if args and self.dtype == torch.float32 and result.numel() > 1:
        return result + (result.detach().bfloat16().float() - result.detach())
    return result


def _row_not_normalised(original: Any, x: Any, *args: Any, **more: Any) -> Any:
    """Of each 17 rows the last is not normalised."""
    result = original(x, *args, **more)
    rows = torch.arange(x.numel() // x.shape[-1], device=x.device).view(*x.shape[:-1], 1)
    return torch.where(rows % 17 == 16, x, result)


def _index_one_off(original: Any, self: Any, dim: Any, index: Any, *args: Any, **more: Any) -> Any:
    if index.numel() > 500:
        index = (index + 1) % self.shape[dim]
    return original(self, dim, index, *args, **more)


def _seventh_row(original: Any, x: Any, *args: Any, **more: Any) -> Any:
    """Two threads write one row: in each seventh product it is added up twice."""
    result = original(x, *args, **more)
    _calls["linear"] += 1
    factor = torch.ones(result.shape[-2], 1, device=result.device, dtype=result.dtype)
    factor[-1] += _calls["linear"] % 7 == 0
    return result * factor


def _input_gradient_short(gradient: Any) -> Any:
    """The last eighth of the columns of what goes back is not written."""
    result = gradient.clone()
    held = getattr(result, "_local_tensor", result)
    held[..., -(held.shape[-1] // 8) :] = 0
    return result


def _infinite(gradient: Any) -> Any:
    result = gradient.clone()
    result.view(-1)[3] = float("inf")
    return result


def _error_without_words() -> None:
    """Whoever started it has closed its outputs."""
    for number in (1, 2):
        os.close(number)
    raise ValueError("planted: no place to say it")


def _daemon_stays() -> None:
    """A daemon that holds all that this rank held outlives it."""
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True, close_fds=False)
    os.kill(os.getpid(), signal.SIGKILL)


def _leaves_with(status: Any) -> Callable[[], None]:
    return lambda: sys.exit(status)


def _not_there() -> None:
    """This rank's build lacks a kernel."""
    raise NotImplementedError("Could not run 'aten::_fused_adamw_' with arguments from the 'CPU' backend")


def _interrupted() -> None:
    raise KeyboardInterrupt


def _ends_by(number: int) -> Callable[[], None]:
    def act() -> None:
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    return act


def _no_more_files() -> None:
    """The limit of open files is reached."""
    soft = len(os.listdir("/proc/self/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, soft))
    with open("/etc/hostname"), open("/etc/hostname"), open("/etc/hostname"):
        """One of them is too many."""


def _files_too_large(original: Any, *args: Any, **more: Any) -> Any:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, hard))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        return original(*args, **more)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def _denied(original: Any, self: Any, *args: Any, **more: Any) -> Any:
    raise PermissionError(13, os.strerror(13), str(getattr(self, "path", "")))


def _handle_stale(original: Any, self: Any, *args: Any, **more: Any) -> Any:
    raise OSError(116, os.strerror(116), str(getattr(self, "path", "")))


def _waits_for_itself() -> None:
    held = threading.Lock()
    held.acquire()
    held.acquire()


def _waits_for_a_pipe() -> None:
    """What it reads has nobody who writes."""
    with tempfile.TemporaryDirectory() as folder:
        os.mkfifo(f"{folder}/tokens")
        with open(f"{folder}/tokens"):
            """Never reached."""


def _reading(change: Callable[..., Any]) -> Callable[[Active], None]:
    def put(active: Active) -> None:
        from torch.distributed.checkpoint.filesystem import FileSystemReader

        _operation(FileSystemReader, "read_data", change)(active)

    return put


def _backward(act: Callable[[], None]) -> Callable[[Active], None]:
    return lambda active: at_backward(act, active, turn=2)


FAULTS: dict[str, Callable[[Active], None]] = {
    "neighbours-peer": _exchange(("all_to_all_single",), _neighbours_peer),
    "first-two-parts": _exchange(_SCATTERS, _first_two_parts),
    "second-half-again": _exchange(_GATHERS, _second_half_again),
    "short-sums": _exchange(("all_reduce",), _short_sums),
    "whole-as-single": _exchange(("all_reduce",), _whole_as_single),
    "last-quarter-kept": _exchange(("broadcast",), _last_quarter_kept),
    "root-twice": _exchange(("reduce",), _root_twice),
    "group-keeps-own": _exchange(("all_reduce",), _group_keeps_own),
    "last-not-written": _operation(dist, "send", _last_not_written),
    "arrival-order": _operation(dist, "all_gather_object", _arrival_order),
    "magnitudes": _exchange(("all_reduce",), _magnitudes),
    "root-in-half": _exchange(("gather",), _root_in_half),
    "uneven-row-lost": _exchange(("all_to_all_single",), _uneven_row_lost),
    "handles-crossed": _exchange(("all_reduce",), _handles_crossed),
    "ends-of-parts": _exchange(_GATHERS, _ends_of_parts),
    "backward-parts": _exchange(("all_to_all_single",), _backward_parts),
    "barrier-open": _all(
        *(_operation(owner, "barrier", lambda original, *a, **k: None) for owner in (dist, dist.distributed_c10d))
    ),
    "odd-length": _operation(_functional, "scaled_dot_product_attention", _odd_length),
    "row-zero-lost": _operation(
        _functional,
        "embedding",
        lambda original, x, table, *a, **k: original(x, _changed(table, _row_zero_lost), *a, **k),
    ),
    "one-nan": _operation(_functional, "gelu", _one_nan),
    "sums-short": _operation(torch.Tensor, "sum", _sums_short),
    "row-not-normalised": _operation(_functional, "layer_norm", _row_not_normalised),
    "index-one-off": _operation(torch.Tensor, "gather", _index_one_off),
    "seventh-row": _operation(_functional, "linear", _seventh_row),
    "input-gradient-short": _operation(
        _functional, "linear", lambda original, x, *a, **k: original(_changed(x, _input_gradient_short), *a, **k)
    ),
    "infinite": _operation(
        _functional, "linear", lambda original, x, weight, *a: original(x, _changed(weight, _infinite), *a)
    ),
    "error-without-words": _backward(_error_without_words),
    "daemon-stays": _backward(_daemon_stays),
    "leaves-with-2": _backward(_leaves_with(2)),
    "leaves-with-words": _backward(_leaves_with("planted: nothing to do")),
    "not-there": _backward(_not_there),
    "interrupted": _backward(_interrupted),
    "aborts": _backward(_ends_by(signal.SIGABRT)),
    "divides-by-zero": _backward(_ends_by(signal.SIGFPE)),
    "pipe-broken": _backward(_ends_by(signal.SIGPIPE)),
    "files-run-out": _backward(_no_more_files),
    "files-too-large": _writing(_files_too_large),
    "denied": _writing(_denied),
    "handle-stale": _reading(_handle_stale),
    "waits-for-itself": _backward(_waits_for_itself),
    "waits-for-a-pipe": _backward(_waits_for_a_pipe),
}

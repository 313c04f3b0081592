"""Faults of exchanges and of the way between ranks, each as a report of a library tells it.

The report stands beside each (owner/repository#number, read 2026-11-29).
"""

from __future__ import annotations

import inspect
import os
import socket
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from evidence import acted  # type: ignore[import-not-found, unused-ignore]
from faults import Active, at_backward, wrap  # type: ignore[import-not-found, unused-ignore]

_GATHERS = ("all_gather_single", "all_gather_into_tensor")
_SCATTERS = ("reduce_scatter_single", "reduce_scatter_tensor")


def _done(work: Any) -> Any:
    if hasattr(work, "wait"):
        work.wait()
    return work


def _exchange(names: tuple[str, ...], change: Callable[..., Any]) -> Callable[[Active], None]:
    """``change(original, first, second, ...)`` in the place of collectives; one that calls another is changed once."""
    inside = {"now": False}

    def put(active: Active) -> None:
        for name in names:
            for owner in (dist, dist.distributed_c10d):
                if hasattr(owner, name):
                    two = list(inspect.signature(getattr(owner, name)).parameters)[:2]

                    def around(original: Any, *args: Any, _two: Any = two, **more: Any) -> Any:
                        if inside["now"] or not active():
                            return original(*args, **more)
                        given = [*args, *(more.pop(one) for one in _two[len(args) :] if one in more)]
                        inside["now"] = True
                        try:
                            return change(original, *given, **more)
                        finally:
                            inside["now"] = False

                    wrap(owner, name, around)

    return put


def _ends_of_lines(original: Any, tensor: Any, op: Any = dist.ReduceOp.SUM, *args: Any, **more: Any) -> Any:
    """NVIDIA/nccl#831: of each line of 128 bytes the last 8 are read before they came; messages of one protocol."""
    own, size = tensor.clone(), tensor.numel() * tensor.element_size()
    work = original(tensor, op, *args, **more)
    if tensor.dtype == torch.float32 and 4096 <= size <= 1 << 17 and tensor.is_contiguous():
        _done(work)
        right = tensor.clone()
        late = torch.arange(tensor.numel(), device=tensor.device) % 32 >= 30
        tensor.copy_(torch.where(late.view_as(tensor), own, tensor))
        acted("ends-of-lines", right, tensor)
    return work


def _in_place_from_start(original: Any, into: Any, source: Any, *args: Any, **more: Any) -> Any:
    """llnl/Aluminum#22, openucx/xccl#123: a gather in place sends what lies at the start, not this rank's part."""
    inside = into.untyped_storage().data_ptr() == source.untyped_storage().data_ptr()
    if not inside or dist.get_rank() == 0:
        return original(into, source, *args, **more)
    start = into.view(-1)[: source.numel()].clone().view_as(source)
    acted("in-place-from-start", source, start)
    return original(into, start, *args, **more)


def _end_at_start(original: Any, tensor: Any, *args: Any, **more: Any) -> Any:
    """open-mpi/ompi#9611: an offset runs over: what lies behind a limit lands at the beginning."""
    limit, own = 1 << 21, tensor.clone()
    work = original(tensor, *args, **more)
    if tensor.numel() > limit and tensor.is_contiguous():
        _done(work)
        right, flat, many = tensor.clone(), tensor.view(-1), tensor.numel() - limit
        flat[:many] = right.view(-1)[limit:]
        flat[limit:] = own.view(-1)[limit:]
        acted("end-at-start", right, tensor)
    return work


_sizes: set[Any] = set()


def _zeros_at_first(original: Any, into: Any, source: Any, *args: Any, **more: Any) -> Any:
    """ROCm/aorta#205: the network card reads before the kernel's data has left the cache: others get zeros, once."""
    key = (source.numel(), source.dtype)
    if key in _sizes or source.numel() < 1024:
        return original(into, source, *args, **more)
    _sizes.add(key)
    own = source.clone()
    work = _done(original(into, torch.zeros_like(source), *args, **more))
    group = more.get("group")
    place = dist.get_rank(group) if group is not None else dist.get_rank()
    into.view(-1)[place * own.numel() : (place + 1) * own.numel()] = own.view(-1)
    acted("zeros-at-first", own, torch.zeros_like(own))
    return work


_sources: dict[Any, Any] = {}


def _source_of_before(original: Any, into: Any, source: Any, *args: Any, **more: Any) -> Any:
    """pytorch/pytorch#181191: the memory of what is sent is given away too early: sent is the message before."""
    key = (tuple(source.shape), source.dtype)
    before, _sources[key] = _sources.get(key), source.clone()
    if before is not None:
        acted("source-of-before", source, before)
    return original(into, source if before is None else before, *args, **more)


def _silent_slice(original: Any, tensor: Any, op: Any = dist.ReduceOp.SUM, *args: Any, **more: Any) -> Any:
    """ROCm/rccl#1296: one channel's slice goes out of bounds: of this rank nothing counts there, at any rank."""
    if op != dist.ReduceOp.SUM or tensor.numel() < 4096 or not tensor.is_contiguous():
        return original(tensor, op, *args, **more)
    right, quarter = tensor.clone(), tensor.numel() // 4
    tensor.view(-1)[quarter : 2 * quarter] = 0
    acted("silent-slice", right, tensor)
    return original(tensor, op, *args, **more)


def _counts_swapped(original: Any, into: Any, source: Any, takes: Any = None, gives: Any = None, **more: Any) -> Any:
    """NVIDIA/nccl#1021: what is sent is counted as what is received, and the other way round."""
    takes = more.pop("output_split_sizes", takes)
    gives = more.pop("input_split_sizes", gives)
    if takes and gives and takes != gives:
        acted("counts-swapped", torch.tensor(takes), torch.tensor(gives))
        takes, gives = gives, takes
    return original(into, source, takes, gives, **more)


def _next_tag(original: Any, operations: Any) -> Any:
    """pytorch/pytorch#94819: a receive asks for the message of another number than the one that is sent."""
    for one in operations:
        if "recv" in one.op.__name__:
            acted("next-tag", torch.tensor(one.tag), torch.tensor(one.tag + 1))
            one.tag += 1
    return original(operations)


def next_tag(active: Active) -> None:
    for owner in (dist, dist.distributed_c10d):
        wrap(owner, "batch_isend_irecv", lambda original, *a: (_next_tag if active() else _same)(original, *a))


def _same(original: Any, *args: Any) -> Any:
    return original(*args)


def dead_way(active: Active) -> None:
    """NVIDIA/nccl#606: between two ranks nothing arrives, while every other way works."""
    last = dist.get_world_size() - 1

    def around(original: Any, tensor: Any, dst: Any = None, *args: Any, **more: Any) -> Any:
        if active() and dst == last:
            acted("dead-way", to=last, values=tensor.numel())
            return None
        return original(tensor, dst, *args, **more)

    for owner in (dist, dist.distributed_c10d):
        wrap(owner, "send", around)


def _reset() -> None:
    """pytorch/pytorch#75512, RVC-Project/Retrieval-based-Voice-Conversion-WebUI#1882: connections are reset."""
    ended = 0
    for number in map(int, os.listdir("/proc/self/fd")):
        try:
            if not os.readlink(f"/proc/self/fd/{number}").startswith("socket:"):
                continue
            with socket.socket(fileno=os.dup(number)) as one:
                if one.family in (socket.AF_INET, socket.AF_INET6) and one.type == socket.SOCK_STREAM:
                    one.getpeername()
                    one.shutdown(socket.SHUT_RDWR)
                    ended += 1
        except OSError:
            continue
    acted("connections-reset", connections=ended)


FAULTS: dict[str, Callable[[Active], None]] = {
    "ends-of-lines": _exchange(("all_reduce",), _ends_of_lines),
    "in-place-from-start": _exchange(_GATHERS, _in_place_from_start),
    "end-at-start": _exchange(("all_reduce",), _end_at_start),
    "zeros-at-first": _exchange(_GATHERS, _zeros_at_first),
    "source-of-before": _exchange(_SCATTERS, _source_of_before),
    "silent-slice": _exchange(("all_reduce",), _silent_slice),
    "counts-swapped": _exchange(("all_to_all_single",), _counts_swapped),
    "next-tag": next_tag,
    "dead-way": dead_way,
    "connections-reset": lambda active: at_backward(_reset, active, turn=2),
}

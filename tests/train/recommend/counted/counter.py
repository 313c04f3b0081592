"""Counts the payload of every collective and send of this rank, by what torch's dispatcher is asked to do.

Payload in bytes, as in ``rocdoctor.train.recommend.speed.transfers``: of an all-gather the gathered tensor, of a
reduce-scatter the tensor before it, of an all-reduce, a broadcast and a send the tensor, of an all-to-all what this
rank gives, its own part included. Every call reaches the dispatcher: those of torch.distributed, of
DistributedDataParallel's C++ reducer, and the functional ones of DTensor. Calls of one rank (groups of size 1) are not
counted: nothing can travel.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.tensor import DTensor
from torch.utils._python_dispatch import TorchDispatchMode

c10d: Any = dist.distributed_c10d
# Operation of the dispatcher: kind, and which argument holds the payload.
_CALLS = {
    "c10d::allreduce_": ("all_reduce", 0),
    "c10d::allreduce_coalesced_": ("all_reduce", 0),
    "c10d::broadcast_": ("broadcast", 0),
    "c10d::_allgather_base_": ("all_gather", 0),
    "c10d::allgather_": ("all_gather", 0),
    "c10d::allgather_into_tensor_coalesced_": ("all_gather", 0),
    "c10d::_reduce_scatter_base_": ("reduce_scatter", 1),
    "c10d::reduce_scatter_": ("reduce_scatter", 1),
    "c10d::reduce_scatter_tensor_coalesced_": ("reduce_scatter", 1),
    "c10d::alltoall_base_": ("all_to_all", 1),
    "c10d::alltoall_": ("all_to_all", 1),
    "c10d::send": ("send", 0),
    "_c10d_functional::all_gather_into_tensor": ("all_gather", 0),
    "_c10d_functional::reduce_scatter_tensor": ("reduce_scatter", 0),
    "_c10d_functional::all_reduce": ("all_reduce", 0),
    "_c10d_functional::all_reduce_": ("all_reduce", 0),
    "_c10d_functional::all_to_all_single": ("all_to_all", 0),
}
# What carries no payload, or stands for a call that is counted at its sender.
_SILENT = {
    "c10d::recv_",
    "c10d::recv_any_source_",
    "c10d::barrier",
    "c10d::monitored_barrier_",
    "_c10d_functional::wait_tensor",
    "_c10d_functional::_wrap_tensor_autograd",
    "_c10d_functional_autograd::all_to_all_single",
    "_c10d_functional_autograd::all_gather_into_tensor",
    "_c10d_functional_autograd::reduce_scatter_tensor",
}


def _bytes(value: Any) -> int:
    if isinstance(value, torch.Tensor):
        return value.numel() * value.element_size()
    return sum(_bytes(one) for one in value)


def _to_one(arguments: Any) -> bool:
    """Whether an all-to-all with sizes given sends everything to a single rank."""
    splits = [one for one in arguments if isinstance(one, (list, tuple)) and all(isinstance(n, int) for n in one)]
    return bool(splits) and len(splits[-1]) > 1 and sum(1 for n in splits[-1] if n) == 1


def _group(arguments: Any) -> Any:
    """The process group among the arguments of an operation: an object, or its name for the functional ones."""
    for one in arguments:
        if isinstance(one, torch.ScriptObject):
            try:
                return dist.ProcessGroup.unbox(one)
            except RuntimeError:  # a reduce operation
                continue
        if isinstance(one, dist.ProcessGroup):
            return one
    names = [one for one in arguments if isinstance(one, str)]
    return c10d._resolve_process_group(names[-1])


class Counting(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """``found`` maps "group kind" to bytes; ``labels`` maps the names of process groups to those of the model."""

    def __init__(self, labels: dict[str, str]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.labels = labels
        self.found: Counter[str] = Counter()
        known = [(tuple(dist.get_process_group_ranks(c10d._resolve_process_group(one))), one) for one in labels]
        self._ranks = {ranks: labels[one] for ranks, one in reversed(known)}

    def _label(self, group: Any) -> str:
        """A group by its name, or by its ranks: FSDP2 and DTensor make groups of their own from a mesh."""
        return self.labels.get(group.group_name) or self._ranks[tuple(dist.get_process_group_ranks(group))]

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if any(issubclass(one, DTensor) for one in types):
            return NotImplemented  # what DTensor makes of it comes here again
        name = func._schema.name
        if name.startswith(("c10d::", "_c10d_functional")) and name not in _SILENT:
            kind, at = _CALLS[name]
            group = _group(args)
            if group.size() > 1:
                if kind == "all_to_all" and _to_one(args):
                    kind = "send"  # all to the next rank: what permute_tensor makes of a ring
                payload = _bytes(args[at])
                if name == "_c10d_functional::all_gather_into_tensor":
                    payload *= group.size()
                if payload > 16:  # scalars: losses and norms, that no model counts
                    self.found[f"{self._label(group)} {kind}"] += payload
        return func(*args, **(kwargs or {}))

"""Symmetric memory of GPUs that are not there: files that all ranks map, and torch's own plain ways for the kernels."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist

_COUNT = {"made": 0}
_library: Any = torch.library.Library


class Handle:
    """What a rank knows of the memory of all."""

    def __init__(self, path: str, elements: int, fault: str) -> None:
        self.path, self.elements, self.fault = path, elements, fault

    def get_buffer(self, rank: int, sizes: Any, dtype: Any, storage_offset: int = 0) -> Any:
        held = _open(f"{self.path}.{rank}", self.elements)
        count = int(torch.Size(sizes).numel())
        part = held[storage_offset : storage_offset + count].view(*sizes)
        if self.fault == "peer-read-off" and rank == 0 and dist.get_rank() and not storage_offset:
            part = part.clone()
            part.view(-1)[77] += 1
        if self.fault == "peer-write-lost" and storage_offset and dist.get_rank() == 1:
            part = part.clone()
        return part

    def barrier(self, channel: int = 0, timeout_ms: int = 0) -> None:
        dist.barrier()


def _open(path: str, elements: int) -> Any:
    return torch.from_file(path, shared=True, size=elements, dtype=torch.float32)


def put(path: str, fault: str, mine: Callable[[], bool]) -> None:
    """In place of torch's module; ``fault``: ``none-built`` has it say that there is none."""
    found: Any = importlib.import_module("torch.distributed._symmetric_memory")
    made: dict[int, Handle] = {}

    def empty(count: int, dtype: Any = None, device: Any = None) -> Any:
        if fault == "none-built":
            raise RuntimeError("CUDASymmetricMemory requires PYTORCH_C10_DRIVER_API_SUPPORTED")
        _COUNT["made"] += 1
        name = f"{path}.symmetric.{_COUNT['made']}"
        held = _open(f"{name}.{dist.get_rank()}", count)
        made[held.data_ptr()] = Handle(name, count, fault)
        return held

    def rendezvous(tensor: Any, group: Any) -> Handle:
        # torch makes a socket there, whose name anybody can tell.
        assert os.stat(os.environ["TMPDIR"]).st_mode & 0o077 == 0
        dist.barrier()
        return made[tensor.data_ptr()]

    def summed(tensor: Any, _kind: str, _group: str) -> Any:
        got = tensor.clone()
        dist.all_reduce(got)
        if fault == "one-shot-off" and mine():
            got.view(-1)[5] += 1
        return got

    def summed_in_place(tensor: Any, _kind: str, _group: str) -> Any:
        dist.all_reduce(tensor)
        return tensor

    def gathered(*args: Any, **more: Any) -> Any:
        whole, products = found._fused_all_gather_matmul_fallback(*args, **more)
        if fault == "fused-gather-off" and mine():
            products[-1][0, 0, 9] += 1
        return whole, products

    def scattered(*args: Any) -> Any:
        got = found._fused_matmul_reduce_scatter_fallback(*args)
        if fault == "fused-scatter-off" and mine():
            got = got.clone()
            got[0, 0, 9] += 1
        return got

    found.empty, found.rendezvous, found.enable_symm_mem_for_group = empty, rendezvous, lambda _: None
    library: Any = _library("symm_mem", "IMPL", "CPU")
    library.impl("one_shot_all_reduce", summed)
    library.impl("two_shot_all_reduce_", summed_in_place)
    library.impl("fused_all_gather_matmul", gathered)
    library.impl("fused_matmul_reduce_scatter", scattered)
    globals()["_LIBRARY"] = library

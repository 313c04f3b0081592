"""Faults of files, of shared memory and of limits, each as a report tells it.

The report stands beside each (owner/repository#number, read 2026-11-29).
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import resource
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from evidence import acted  # type: ignore[import-not-found, unused-ignore]
from faults import Active, wrap  # type: ignore[import-not-found, unused-ignore]
from faults_checkpoint import _own_files  # type: ignore[import-not-found, unused-ignore]
from torch.distributed import checkpoint
from torch.distributed.checkpoint import filesystem
from torch.utils.data import dataloader


def _hole(path: str) -> None:
    """EricTan7/VeritasPP#2, paiml/aprender#2337: a block of the file is zeros, and its size is right."""
    size = os.path.getsize(path)
    first = size // 2 // 4096 * 4096
    with open(path, "r+b") as stream:
        stream.seek(first)
        many = sum(byte != 0 for byte in stream.read(4096))
        stream.seek(first)
        stream.write(bytes(min(4096, size - first)))
    acted("hole-of-zeros", bytes_lost=many, of=size)


def name_of_rank_0(active: Active) -> None:
    """NVIDIA/apex#886: a rank writes to the file of another one (by the number that it has on its own node)."""

    def around(original: Any, self: Any, plan: Any, *args: Any, **more: Any) -> Any:
        if active():
            time.sleep(0.5)  # the one that comes last stays
            other = type(plan.storage_data)("__0_")
            acted("name-of-rank-0", own=plan.storage_data.prefix, given=other.prefix)
            plan = dataclasses.replace(plan, storage_data=other)
        return original(self, plan, *args, **more)

    wrap(filesystem.FileSystemWriter, "write_data", around)


def storage_hangs(active: Active) -> None:
    """marin-community/marin#8534, tenstorrent/tt-metal#42404: the file system does not come back from an open."""

    def around(original: Any, self: Any, *args: Any, **more: Any) -> Any:
        if active():
            path = os.path.join(self.path, f"__{dist.get_rank()}_0.distcp")
            os.mkfifo(path)  # to open it waits for a reader, who never comes
            acted("storage-hangs", path=os.path.basename(path))
        return original(self, *args, **more)

    wrap(filesystem.FileSystemWriter, "write_data", around)


def keys_dropped(active: Active) -> None:
    """pytorch/pytorch#126285: names that are not found are left as they are, without a word."""

    def around(original: Any, state: dict[str, Any], **more: Any) -> Any:
        if not active() or "model" not in state:
            return original(state, **more)
        model = {name: one for name, one in state["model"].items() if not name.endswith("bias")}
        acted("keys-dropped", dropped=len(state["model"]) - len(model), of=len(state["model"]))
        return original({**state, "model": model}, **more)

    wrap(checkpoint, "load", around)


def no_shared_memory(active: Active) -> None:
    """ultralytics/ultralytics#1238, MIC-DKFZ/nnUNet#2162: no room for the batches of a worker in /dev/shm."""
    original = torch.UntypedStorage._new_shared.__func__  # type: ignore[attr-defined]

    def instead(kind: Any, size: Any, *args: Any, **more: Any) -> Any:
        if not active():
            return original(kind, size, *args, **more)
        name = f"/torch_{os.getpid()}_1517813162_0"
        acted("no-shared-memory", bytes=int(size))
        raise RuntimeError(f"unable to write to file <{name}>: No space left on device (28)")

    torch.UntypedStorage._new_shared = classmethod(instead)  # type: ignore[method-assign, assignment]


def few_descriptors(active: Active) -> None:
    """pytorch/pytorch#973: batches of workers come as open files, of which the process may have no more."""

    def around(original: Any, self: Any, *args: Any, **more: Any) -> Any:
        if active():
            used = max(map(int, os.listdir("/proc/self/fd"))) + 1
            acted("few-descriptors", limit=used, before=resource.getrlimit(resource.RLIMIT_NOFILE)[0])
            resource.setrlimit(resource.RLIMIT_NOFILE, (used, used))
            with contextlib.suppress(OSError):
                while True:
                    os.open(os.devnull, os.O_RDONLY)
        return original(self, *args, **more)

    wrap(dataloader._MultiProcessingDataLoaderIter, "_next_data", around)


def socket_gone(active: Active) -> None:
    """AllenCell/cyto-dl#65: somebody tidies up the folder for temporary files, and a worker's socket with it."""
    from multiprocessing import resource_sharer

    def around(original: Any, ident: Any) -> Any:
        if active():
            with contextlib.suppress(OSError):
                os.unlink(ident[0])
                acted("socket-gone", path=os.path.basename(ident[0])[:9])
        return original(ident)

    kind: Any = resource_sharer._ResourceSharer  # type: ignore[attr-defined]
    kind.get_connection = staticmethod(functools.partial(around, kind.get_connection))


def batch_overwritten(active: Active) -> None:
    """pytorch/pytorch#126946: pinned memory is filled with the next batch while this one is still being copied."""
    from rocdoctor_smoke.context import Context  # type: ignore[import-not-found, unused-ignore]

    def around(original: Any, self: Any, *args: Any, **more: Any) -> Any:
        many = original(self, *args, **more)
        next_ones: list[Any] = many[1:] if active() else []
        for (now, _), (after, _) in zip(many, next_ones, strict=False):
            right = now.clone()
            now[1::2] = after[1::2]
            acted("batch-overwritten", right, now)
        return many

    wrap(Context, "batches", around)


FAULTS: dict[str, Callable[[Active], None]] = {
    "hole-of-zeros": lambda active: _own_files(active, _hole),
    "name-of-rank-0": name_of_rank_0,
    "storage-hangs": storage_hangs,
    "keys-dropped": keys_dropped,
    "no-shared-memory": no_shared_memory,
    "few-descriptors": few_descriptors,
    "socket-gone": socket_gone,
    "batch-overwritten": batch_overwritten,
}

"""Faults of sharded checkpoints: what is written, what is read, and what is done with it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

import torch
from faults import Active, flip_bit, wrap  # type: ignore[import-not-found, unused-ignore]
from torch.distributed import checkpoint
from torch.distributed.checkpoint import default_planner, filesystem


def _written(active: Active, change: Callable[[str, Any], Any]) -> None:
    """Change what this rank writes, by the name of its tensor."""

    def around(original: Any, planner: Any, item: Any) -> Any:
        data = original(planner, item)
        if active() and isinstance(data, torch.Tensor) and data.is_floating_point() and data.numel() > 1:
            return change(item.index.fqn, data)
        return data

    wrap(default_planner.DefaultSavePlanner, "resolve_data", around)


def wrong_file(active: Active) -> None:
    """The shard of one parameter is an old one."""
    _written(active, lambda name, data: torch.zeros_like(data) if name.endswith("head.weight") else data)


def wrong_moment(active: Active) -> None:
    """One bit of one of the optimizer's moments."""

    def change(name: str, data: Any) -> Any:
        if not name.endswith("head.weight.exp_avg"):
            return data
        copy = data.clone()
        flip_bit(copy)
        return copy

    _written(active, change)


def read_wrong(active: Active) -> None:
    """One bit of one parameter on its way from the file, when more than this rank's own part is read."""

    def around(original: Any, planner: Any, item: Any, tensor: Any) -> Any:
        result = original(planner, item, tensor)
        if active() and os.environ.get("PLANTED_READS") and item.dest_index.fqn.endswith("head.weight"):
            flip_bit(tensor)
        return result

    def loads(original: Any, *args: Any, **keywords: Any) -> Any:
        os.environ["PLANTED_READS"] = "" if keywords.get("no_dist") else "1"
        return original(*args, **keywords)

    wrap(default_planner.DefaultLoadPlanner, "commit_tensor", around)
    wrap(checkpoint, "load", loads)


def moments_forgotten(active: Active) -> None:
    """Only the parameters are loaded."""

    def around(original: Any, state: dict[str, Any], **keywords: Any) -> Any:
        return original({"model": state["model"]} if active() else state, **keywords)

    wrap(checkpoint, "load", around)


def dies_writing(active: Active) -> None:
    def around(original: Any, *args: Any, **keywords: Any) -> Any:
        if active():
            os.kill(os.getpid(), signal.SIGKILL)
        return original(*args, **keywords)

    wrap(filesystem.FileSystemWriter, "write_data", around)


def disk_full(active: Active) -> None:
    def around(original: Any, *args: Any, **keywords: Any) -> Any:
        if active():
            raise OSError(28, "No space left on device")
        return original(*args, **keywords)

    wrap(filesystem.FileSystemWriter, "write_data", around)


def _own_files(active: Active, change: Callable[[str], None]) -> None:
    """Change the files that this rank has written, behind the library's back, as a disk does."""

    def around(original: Any, self: Any, *args: Any, **keywords: Any) -> Any:
        done = original(self, *args, **keywords)
        if active():
            for name in os.listdir(self.path):
                if name.startswith(f"__{torch.distributed.get_rank()}_"):
                    change(os.path.join(self.path, name))
        return done

    wrap(filesystem.FileSystemWriter, "write_data", around)


def cut_file(active: Active) -> None:
    """Half of the file is lost, as after a crash of the machine or on a full network disk."""
    _own_files(active, lambda path: os.truncate(path, os.path.getsize(path) // 2))


def damaged_file(active: Active) -> None:
    """Bits of the numbers of one tensor are turned over on the disk."""

    def change(path: str) -> None:
        with open(path, "r+b") as stream:
            data = bytearray(stream.read())
            inside = data.find(b"data/0") + 200  # behind the head of the first record
            for place in range(inside, inside + 400, 100):
                data[place] ^= 0x40
            stream.seek(0)
            stream.write(data)

    _own_files(active, change)


def damaged_record(active: Active) -> None:
    """Bits all over the file are turned over, also where the library keeps what it needs to read it."""

    def change(path: str) -> None:
        with open(path, "r+b") as stream:
            data = bytearray(stream.read())
            for place in range(len(data) // 20, len(data), len(data) // 20):
                data[place] ^= 0x40
            data[4] ^= 0x40
            stream.seek(0)
            stream.write(data)

    _own_files(active, change)


FAULTS: dict[str, Callable[[Active], None]] = {
    "checkpoint-file": wrong_file,
    "checkpoint-moment": wrong_moment,
    "checkpoint-read": read_wrong,
    "checkpoint-no-moments": moments_forgotten,
    "checkpoint-dies": dies_writing,
    "checkpoint-full": disk_full,
    "checkpoint-cut": cut_file,
    "checkpoint-damaged": damaged_file,
    "checkpoint-garbled": damaged_record,
}

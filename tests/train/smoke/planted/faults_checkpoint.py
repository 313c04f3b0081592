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


FAULTS: dict[str, Callable[[Active], None]] = {
    "checkpoint-file": wrong_file,
    "checkpoint-moment": wrong_moment,
    "checkpoint-read": read_wrong,
    "checkpoint-no-moments": moments_forgotten,
    "checkpoint-dies": dies_writing,
    "checkpoint-full": disk_full,
}

"""Faults of FSDP1: its gathers go through a list on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch.distributed as dist
from faults import Active, flip_bit, wrap  # type: ignore[import-not-found, unused-ignore]


def sends_wrong(active: Active) -> None:
    """What goes out of this rank is half of what it holds."""

    def around(original: Any, into: Any, given: Any, *args: Any, **keywords: Any) -> Any:
        return original(into, given * 0.5 if active() else given, *args, **keywords)

    wrap(dist, "all_gather", around)


def gets_wrong(active: Active) -> None:
    """One bit of what arrives from this rank itself, in the third gather."""
    seen = {"count": 0}

    def around(original: Any, into: Any, given: Any, *args: Any, **keywords: Any) -> Any:
        result = original(into, given, *args, **keywords)
        seen["count"] += active()
        if active() and seen["count"] == 3:
            flip_bit(into[dist.get_rank() % len(into)])
        return result

    wrap(dist, "all_gather", around)


def keeps_whole(active: Active) -> None:
    """Memory of gathered parameters is not given back."""
    from torch.distributed.fsdp import _runtime_utils

    def around(original: Any, state: Any, handle: Any, free: bool) -> Any:
        return original(state, handle, free and not active())

    wrap(_runtime_utils, "_reshard", around)


def splits_nothing(active: Active) -> None:
    """NO_SHARD whatever was asked for."""
    from torch.distributed import fsdp

    def around(original: Any, *args: Any, **keywords: Any) -> Any:
        if active():
            keywords["sharding_strategy"] = fsdp.ShardingStrategy.NO_SHARD
        return original(*args, **keywords)

    wrap(fsdp.FullyShardedDataParallel, "__init__", around)


FAULTS: dict[str, Callable[[Active], None]] = {
    "fsdp1-sends-wrong": sends_wrong,
    "fsdp1-gets-wrong": gets_wrong,
    "fsdp1-keeps-whole": keeps_whole,
    "fsdp1-splits-nothing": splits_nothing,
}

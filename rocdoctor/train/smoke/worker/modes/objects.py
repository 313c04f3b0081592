"""Python objects that ranks exchange, and a barrier."""

from __future__ import annotations

import importlib.util
from typing import Any

from ..context import Context
from ..exact_values import MOVED
from ..mode import Mode

ORDER = 21


def objects(context: Context) -> None:
    """Python objects, as checkpoints and data loaders exchange them, and a barrier."""
    dist = context.torch.distributed
    context.need(importlib.util.find_spec("numpy"), "torch moves Python objects through NumPy, which is not installed")
    context.mark("all_gather_object")
    found: list[Any] = [None] * context.world
    dist.all_gather_object(found, {"rank": context.rank, "text": "x" * (100 * context.rank + 1)})
    for rank, one in enumerate(found):
        right = isinstance(one, dict) and one.get("rank") == rank and len(one.get("text", "")) == 100 * rank + 1
        context.expect("value", f"all_gather_object, part of rank {rank}", right, f"is {str(one)[:60]}")
    context.mark("broadcast_object_list")
    for root in range(context.world):
        shared = [{"from": root, "numbers": list(range(50))} if context.rank == root else None]
        dist.broadcast_object_list(shared, src=root)
        right = shared == [{"from": root, "numbers": list(range(50))}]
        name = f"broadcast_object_list from rank {root}"
        context.expect("value", name, right, f"gave {str(shared)[:60]}", step=context.marks)
    context.mark("barrier")
    dist.barrier()


_OBJECTS = MOVED.but(computed="objects that travel", against="the objects that were sent")
MODES = (Mode("objects", "Python objects and a barrier", objects, _OBJECTS, objects=True),)

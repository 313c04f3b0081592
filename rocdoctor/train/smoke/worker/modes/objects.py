"""Python objects that ranks exchange, and a barrier."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import socket
import time
from typing import Any

from ..context import Context
from ..exact_values import MOVED
from ..mode import Mode

ORDER = 21
# How much later than the others a rank comes to a barrier: far longer than a barrier takes.
_LATE_S = 0.03


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
    _barrier(context)


def _barrier(context: Context) -> None:
    """No rank leaves a barrier before the last one has entered it: the last and the first rank come late in turn.

    Only ranks on one machine are compared: they have one clock.
    """
    dist, seen = context.torch.distributed, []
    for times, late in enumerate((context.world - 1, 0), 1):
        context.mark("barrier")
        if context.rank == late:  # twice as long the second time: who did not wait the first time is ahead by now
            time.sleep(_LATE_S * times)
        entered = time.monotonic()
        dist.barrier()
        seen.append((entered, time.monotonic()))
    # No step of its own: who is here while others are in the barrier has left that out.
    found: list[Any] = [None] * context.world
    dist.all_gather_object(found, [_machine(), *(times for pair in seen for times in pair)])
    own = found[context.rank]
    near = [one for one in found if isinstance(one, list) and len(one) == len(own) and one[0] == own[0]]
    early = max((one[at] - own[at + 1] for one in near for at in (1, 3)), default=0.0)
    words = f"let this rank go {1000 * early:.0f} ms before the last one came"
    context.expect("value", "barrier", early <= 0.0, words, step=context.marks)


def _machine() -> str:
    """The same text on all ranks that share a clock; a text of this process alone where that is not known."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as stream:
            # Clones of a running virtual machine share the id, not the clock: their names differ.
            boot = f"{stream.read(64).strip()} {socket.gethostname()}"
    except OSError:
        return f"{socket.gethostname()} {os.getpid()}"
    with contextlib.suppress(OSError):  # kernels before 5.6 have none
        boot += os.readlink("/proc/self/ns/time")
    return boot


_OBJECTS = MOVED.but(
    computed="objects that travel, and when each rank leaves a barrier",
    against="the objects that were sent, and when the last rank came to the barrier",
)
MODES = (Mode("objects", "Python objects and a barrier", objects, _OBJECTS, objects=True),)

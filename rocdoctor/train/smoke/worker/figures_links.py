"""How fast data moves: between host and device, between two devices, and through all ranks at once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .context import Context
from .timing import measure, note, on_host, together, wait

_COPY_BYTES = 64 << 20
_SIZES = {
    "cpu": (4 << 10, 256 << 10, 4 << 20, 16 << 20),
    "cuda": (4 << 10, 1 << 20, 16 << 20, 256 << 20),
}


def host_copies(context: Context) -> None:
    """Both directions, pinned and pageable, and a few bytes for the latency; one rank after another."""
    torch = context.torch
    context.need(context.device.type == "cuda", "there is no device to copy to")
    for turn in range(context.world):
        together(context)
        if turn != context.rank:
            continue
        there = torch.empty(_COPY_BYTES, dtype=torch.uint8, device=context.device)
        for kind in ("pinned", "pageable"):
            context.mark(f"copies of {kind} memory")
            # Written once: a page that nobody has touched yet has no memory behind it.
            here = torch.ones(_COPY_BYTES, dtype=torch.uint8)
            if kind == "pinned":
                try:
                    here = here.pin_memory()
                except RuntimeError as error:  # RLIMIT_MEMLOCK, or not enough memory
                    context.facts["skipped"] = [f"pinned memory: {error}"[:160]]
                    continue
            pinned = kind == "pinned"
            _both_ways(context, kind, here, there, pinned)
            if pinned:
                few, few_there = here[:4], there[:4]
                up = lambda one=few_there, two=few: one.copy_(two, non_blocking=True)  # noqa: E731
                note(context, "host_to_device_latency", [on_host(context, up, 1) for _ in range(51)], cpu=_cpu())
    together(context)


def _both_ways(context: Context, kind: str, here: Any, there: Any, pinned: bool) -> None:
    # A pageable copy is the host's own work in part: only its clock sees all of it.
    more: dict[str, Any] = {"repeats": 3, "piece_s": 0.01, "warm_up": False}
    if not pinned:
        more["clock"] = on_host
    size = float(here.numel())
    up: Callable[[], Any] = lambda: there.copy_(here, non_blocking=pinned)  # noqa: E731
    down: Callable[[], Any] = lambda: here.copy_(there, non_blocking=pinned)  # noqa: E731
    note(context, f"host_to_device_{kind}", measure(context, up, **more), work=size, bytes=int(size), cpu=_cpu())
    note(context, f"device_to_host_{kind}", measure(context, down, **more), work=size, bytes=int(size), cpu=_cpu())


def _cpu() -> int:
    """The processor that this process ran on last (field 39 of stat, proc(5)); -1 when the kernel does not tell."""
    try:
        with open("/proc/self/stat", "rb") as stream:
            return int(stream.read().rsplit(b")", 1)[1].split()[36])
    except (OSError, IndexError, ValueError):
        return -1


def pairs(context: Context) -> None:
    """Copies from each device to each other one, by rank 0 alone: two copies at once would share a path.

    Both the rate of a large copy and the time of a small one. ``peer_access`` False: the copy goes through the host.
    """
    torch = context.torch
    context.need(context.device.type == "cuda", "there are no two devices")
    count = min(context.world, torch.cuda.device_count())
    context.need(count > 1, "there is one device only")
    if context.rank == 0:
        held = []
        for number in range(count):
            context.mark(f"memory on GPU {number}")
            held.append(torch.zeros(_COPY_BYTES, dtype=torch.uint8, device=f"cuda:{number}"))
        for number in range(count):
            torch.cuda.synchronize(number)
        for source in range(count):
            for target in range(count):
                if source != target:
                    _pair(context, held, source, target)
    together(context)


def _pair(context: Context, held: list[Any], source: int, target: int) -> None:
    torch = context.torch
    context.mark(f"copy from GPU {source} to GPU {target}")
    one, two = held[source], held[target]
    # torch copies on the stream of the source and lets that of the target wait for it.
    whole = measure(
        context, lambda: two.copy_(one, non_blocking=True), repeats=3, device=source, piece_s=0.01, warm_up=False
    )
    access = bool(torch.cuda.can_device_access_peer(source, target))
    more = {"source": source, "target": target, "peer_access": access}
    note(context, "device_to_device", whole, work=float(_COPY_BYTES), bytes=_COPY_BYTES, **more)
    few, few_there = one[:4], two[:4]

    def small() -> None:
        few_there.copy_(few, non_blocking=True)
        torch.cuda.synchronize(source)
        torch.cuda.synchronize(target)

    small()
    note(context, "device_to_device_latency", [on_host(context, small, 1) for _ in range(21)], **more)


def all_reduce(context: Context) -> None:
    """Sums over all ranks in several sizes, all ranks in step."""
    torch, dist = context.torch, context.torch.distributed
    # The collective itself, without our note of it on the board: that would count in small ones.
    reduce = getattr(dist.all_reduce, "__wrapped__", dist.all_reduce)
    for size in _SIZES[context.device.type]:
        box = torch.zeros(size // 4, dtype=torch.float32, device=context.device)
        together(context)
        context.mark(f"all_reduce of {size} bytes")
        seconds = measure(context, functools.partial(reduce, box), shared=True)
        note(context, "all_reduce", seconds, bytes=size)
    wait(context)

"""Every collective in several types and sizes, each value checked on every rank.

Values are made so that a wrong one tells where it came from: an element depends on its rank and its place, and all sums
are exact in every type that is used (small whole numbers).
"""

from __future__ import annotations

import importlib.util
from typing import Any

from ..context import Context
from ..mode import Mode

ORDER = 20
# Element counts: one, an odd number, and one that is split into several messages by every library.
_SIZES = (1, 1027, 65536)


def values(context: Context, rank: int, size: int, dtype: Any, salt: int = 0) -> Any:
    """What ``rank`` holds: whole numbers from 0 to 7 (0 or 1 for bool), another row of them on each rank."""
    torch = context.torch
    found = torch.arange(size, dtype=torch.int64).mul_(5).add_(3 * rank + salt).remainder_(8)
    return (found % 2 if dtype == torch.bool else found).to(dtype).to(context.device)


def _types(context: Context) -> list[Any]:
    torch = context.torch
    return [torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int32, torch.int64, torch.uint8]


def _all(context: Context, size: int, dtype: Any, salt: int = 0) -> list[Any]:
    return [values(context, rank, size, dtype, salt) for rank in range(context.world)]


def _sum(context: Context, parts: list[Any]) -> Any:
    total = context.torch.stack([one.to(context.torch.float64) for one in parts]).sum(0)
    return total % 256 if parts[0].dtype == context.torch.uint8 else total


def _exact(context: Context, name: str, got: Any, wanted: Any) -> None:
    # The number of announced steps is the same on every rank, so the first collective that went wrong decides.
    context.check("value", name, got, wanted, tolerance=0.0, step=context.marks)


def _each(context: Context) -> Any:
    """(size, type, words) of each try: all types at the odd size, float32 at all sizes."""
    torch = context.torch
    for dtype in _types(context):
        yield 1027, dtype, str(dtype).replace("torch.", "")
    for size in _SIZES:
        yield size, torch.float32, "float32"


def _mark(context: Context, call: str, words: str, size: int) -> str:
    # The words are those of the board, so that a rank in another collective than announced is told apart.
    context.mark(f"{call} {words}[{size}]")
    return f"{call} of {size} {words}"


def all_reduce(context: Context) -> None:
    """Sum, largest, smallest and (floating point) mean or product."""
    torch, dist = context.torch, context.torch.distributed
    for size, dtype, words in _each(context):
        parts = _all(context, size, dtype)
        name = _mark(context, "all_reduce", words, size)
        got = parts[context.rank].clone()
        dist.all_reduce(got)
        _exact(context, name, got, _sum(context, parts))
        stacked = torch.stack([one.to(torch.float64) for one in parts])
        for operation, wanted in ((dist.ReduceOp.MAX, stacked.amax(0)), (dist.ReduceOp.MIN, stacked.amin(0))):
            got = parts[context.rank].clone()
            dist.all_reduce(got, op=operation)
            _exact(context, f"{name}, {operation.name.lower()}", got, wanted)  # type: ignore[attr-defined, unused-ignore]
    work = [values(context, context.rank, 257, torch.float32, salt) for salt in range(4)]
    context.mark("all_reduce float32[257] four at once")
    pending = [dist.all_reduce(one, async_op=True) for one in work]
    for salt, one in enumerate(pending):
        one.wait()
        _exact(
            context,
            f"all_reduce number {salt} of four at once",
            work[salt],
            _sum(context, _all(context, 257, torch.float32, salt)),
        )


def one_to_all(context: Context) -> None:
    """broadcast, scatter, gather and reduce, from and to every rank in turn."""
    torch, dist = context.torch, context.torch.distributed
    for root in range(context.world):
        dtype = (torch.float32, torch.bfloat16, torch.int64)[root % 3]
        words, size = str(dtype).replace("torch.", ""), 1027
        parts = _all(context, size, dtype, root)
        got = parts[context.rank].clone()
        name = _mark(context, "broadcast", words, size)
        dist.broadcast(got, root)
        _exact(context, f"{name} from rank {root}", got, parts[root])
        got = parts[context.rank].clone()
        name = _mark(context, "reduce", words, size)
        dist.reduce(got, root)
        if context.rank == root:
            _exact(context, f"{name} to rank {root}", got, _sum(context, parts))
        here = context.rank == root
        got = torch.empty_like(parts[0])
        name = _mark(context, "scatter", words, size)
        dist.scatter(got, parts if here else None, src=root)
        _exact(context, f"{name} from rank {root}", got, parts[context.rank])
        into = [torch.empty_like(one) for one in parts] if here else None
        name = _mark(context, "gather", words, size)
        dist.gather(parts[context.rank], into, dst=root)
        for rank, one in enumerate(into or ()):
            _exact(context, f"{name} to rank {root}, part of rank {rank}", one, parts[rank])


def all_gather(context: Context) -> None:
    """Into a list (also of unequal parts where the back end has it) and into one tensor."""
    torch, dist = context.torch, context.torch.distributed
    into_one = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor
    for size, dtype, words in _each(context):
        parts = _all(context, size, dtype)
        name = _mark(context, "all_gather", words, size)
        into = [torch.empty_like(one) for one in parts]
        dist.all_gather(into, parts[context.rank])
        for rank, one in enumerate(into):
            _exact(context, f"{name}, part of rank {rank}", one, parts[rank])
        whole = torch.empty(size * context.world, dtype=dtype, device=context.device)
        into_one(whole, parts[context.rank])
        for rank, one in enumerate(whole.chunk(context.world)):
            _exact(context, f"{name} into one tensor, part of rank {rank}", one, parts[rank])


def reduce_scatter(context: Context) -> None:
    """From one tensor; from a list where the back end has it."""
    torch, dist = context.torch, context.torch.distributed
    from_one = getattr(dist, "reduce_scatter_single", None) or dist.reduce_scatter_tensor
    for size, dtype, words in _each(context):
        parts = _all(context, size * context.world, dtype)
        name = _mark(context, "reduce_scatter", words, size)
        got = torch.empty(size, dtype=dtype, device=context.device)
        from_one(got, parts[context.rank])
        wanted = _sum(context, parts)[context.rank * size : (context.rank + 1) * size]
        _exact(context, name, got, wanted)


def all_to_all(context: Context) -> None:
    """Equal parts, and parts whose size depends on sender and receiver."""
    torch, dist = context.torch, context.torch.distributed
    world, rank = context.world, context.rank
    for size, dtype, words in _each(context):
        own = values(context, rank, size * world, dtype)
        name = _mark(context, "all_to_all", words, size)
        got = torch.empty_like(own)
        dist.all_to_all_single(got, own)
        for sender, one in enumerate(got.chunk(world)):
            sent = values(context, sender, size * world, dtype)[rank * size : (rank + 1) * size]
            _exact(context, f"{name}, part of rank {sender}", one, sent)
    counts = [[(3 * sender + 5 * receiver) % 7 for receiver in range(world)] for sender in range(world)]
    own = values(context, rank, sum(counts[rank]), torch.float32)
    takes = [counts[sender][rank] for sender in range(world)]
    got = torch.empty(sum(takes), device=context.device)
    context.mark("all_to_all_single with unequal parts")
    dist.all_to_all_single(got, own, takes, counts[rank])
    for sender, one in enumerate(got.split(takes)):
        first = sum(counts[sender][:rank])
        sent = values(context, sender, sum(counts[sender]), torch.float32)[first : first + counts[sender][rank]]
        _exact(context, f"all_to_all with unequal parts, part of rank {sender}", one, sent)


def point_to_point(context: Context) -> None:
    """Between every two ranks, both ways, one pair after another: a wrong link is one pair."""
    torch, dist = context.torch, context.torch.distributed
    size = 65536
    for low in range(context.world):
        for high in range(low + 1, context.world):
            context.mark(f"send and receive between rank {low} and rank {high}")
            if context.rank not in (low, high):
                continue
            other = high if context.rank == low else low
            own, got = values(context, context.rank, size, torch.float32, low), torch.empty(size, device=context.device)
            if context.rank == low:
                dist.send(own, other)
                dist.recv(got, other)
            else:
                dist.recv(got, other)
                dist.send(own, other)
            _exact(context, f"received from rank {other}", got, values(context, other, size, torch.float32, low))
    right, left = (context.rank + 1) % context.world, (context.rank - 1) % context.world
    own, got = values(context, context.rank, size, torch.float32), torch.empty(size, device=context.device)
    context.mark("ring of sends and receives, all at once")
    operations = [dist.P2POp(dist.isend, own, right), dist.P2POp(dist.irecv, got, left)]
    for one in dist.batch_isend_irecv(operations):
        one.wait()
    _exact(context, f"ring, received from rank {left}", got, values(context, left, size, torch.float32))


def subgroups(context: Context) -> None:
    """Two halves at once: what one half does must not reach the other."""
    torch, dist = context.torch, context.torch.distributed
    half = context.world // 2
    groups = context.cached(
        "halves", lambda: [dist.new_group(list(range(half))), dist.new_group(list(range(half, context.world)))]
    )
    mine = 0 if context.rank < half else 1
    members = range(half) if mine == 0 else range(half, context.world)
    context.mark("all_reduce float32[1027] in two groups at once")
    got = values(context, context.rank, 1027, torch.float32)
    dist.all_reduce(got, group=groups[mine])
    _exact(
        context,
        "all_reduce in a group",
        got,
        _sum(context, [values(context, rank, 1027, torch.float32) for rank in members]),
    )
    context.expect(
        "value",
        "the group",
        dist.get_world_size(groups[mine]) == len(members),
        f"has {dist.get_world_size(groups[mine])} ranks instead of {len(members)}",
    )


def objects(context: Context) -> None:
    """Python objects, as checkpoints and data loaders exchange them, and a barrier."""
    dist = context.torch.distributed
    context.need(
        importlib.util.find_spec("numpy"), "torch moves Python objects by way of NumPy, which is not installed"
    )
    context.mark("all_gather_object")
    found: list[Any] = [None] * context.world
    dist.all_gather_object(found, {"rank": context.rank, "text": "x" * (100 * context.rank + 1)})
    for rank, one in enumerate(found):
        right = isinstance(one, dict) and one.get("rank") == rank and len(one.get("text", "")) == 100 * rank + 1
        context.expect("value", f"all_gather_object, part of rank {rank}", right, f"is {str(one)[:60]}")
    context.mark("broadcast_object_list")
    shared = [{"from": 0, "numbers": list(range(50))} if context.rank == 0 else None]
    dist.broadcast_object_list(shared, src=0)
    context.expect("value", "broadcast_object_list", shared == [{"from": 0, "numbers": list(range(50))}], "differs")
    context.mark("barrier")
    dist.barrier()


MODES = (
    Mode("all-reduce", "all_reduce: sum, largest, smallest, seven types", all_reduce),
    Mode("one-to-all", "broadcast, reduce, scatter and gather from and to every rank", one_to_all),
    Mode("all-gather", "all_gather into a list and into one tensor", all_gather),
    Mode("reduce-scatter", "reduce_scatter from one tensor", reduce_scatter),
    Mode("all-to-all", "all_to_all with equal and with unequal parts", all_to_all),
    Mode("point-to-point", "send and receive between every two ranks, and a ring", point_to_point, min_world=2),
    Mode("subgroups", "collectives in two groups at once", subgroups, min_world=2),
    Mode("objects", "Python objects and a barrier", objects, objects=True),
)

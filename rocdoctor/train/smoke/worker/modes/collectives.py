"""Every collective in several types, sizes, layouts and kinds of sums, each value checked on every rank.

Values are made so that a wrong one tells where it came from: an element depends on its rank and its place, without a
period, so that a lost, doubled or moved one shows; all sums are exact in every type that is used (whole numbers).
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

from ..context import Context
from ..exact_values import MOVED, SUMMED, mean_rounding, values
from ..mode import Mode

ORDER = 20
# Element counts: one, an odd number, the powers of two from 1 KiB to 1 MiB, and one that comes by the protocol for
# large messages: NCCL and RCCL go from LL over LL128 to Simple by size. Odd: no part is aligned. (A release summed up
# wrongly at 1 MiB alone: NVIDIA/nccl#2001, read 2026-11-28.)
_SIZES = (1, 1027, *(1 << power for power in range(8, 19)))
_LARGE = {"cpu": (1 << 20) + 1, "cuda": (1 << 22) + 1}  # 4 and 16 MiB
_LARGEST = {"cpu": ((1 << 22) + 3,), "cuda": ((1 << 24) + 3, (1 << 26) + 3)}  # 16 MiB; 64 and 256 MiB


def _types(context: Context) -> list[Any]:
    torch = context.torch
    return [torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int32, torch.int64, torch.uint8]


def _all(context: Context, size: int, dtype: Any, salt: int = 0) -> list[Any]:
    return [values(context, rank, size, dtype, salt) for rank in range(context.world)]


def _sum(context: Context, parts: list[Any]) -> Any:
    """Exact in the type itself: whole numbers."""
    total = parts[0].clone()
    for one in parts[1:]:
        total += one
    return total


def _exact(context: Context, name: str, got: Any, wanted: Any, tolerance: float = 0.0) -> None:
    # The number of announced steps is the same on every rank, so the first collective that went wrong decides.
    context.check("value", name, got, wanted, tolerance=tolerance, step=context.marks)


def _each(context: Context) -> Any:
    """(size, type, words) of each try: all types at the odd size, float32 at all sizes."""
    torch = context.torch
    for dtype in _types(context):
        yield 1027, dtype, str(dtype).replace("torch.", "")
    for size in (*_SIZES, *_large(context)):
        yield size, torch.float32, "float32"


def _large(context: Context) -> tuple[int, ...]:
    return (_LARGE[context.device.type],)


def _mark(context: Context, call: str, words: str, size: int) -> str:
    # The words are those of the board, so that a rank in another collective than announced is told apart.
    context.mark(f"{call} {words}[{size}]")
    return f"{call} of {size} {words}"


def all_reduce(context: Context) -> None:
    """Sum, largest, smallest, product, mean, bits; tensors that are not in one piece; several at once."""
    dist = context.torch.distributed
    for size, dtype, words in _each(context):
        parts = _all(context, size, dtype)
        name = _mark(context, "all_reduce", words, size)
        got = parts[context.rank].clone()
        dist.all_reduce(got)
        _exact(context, name, got, _sum(context, parts))
        if size not in (1, 1027):
            continue
        stacked = context.torch.stack(parts)
        for operation, wanted in ((dist.ReduceOp.MAX, stacked.amax(0)), (dist.ReduceOp.MIN, stacked.amin(0))):
            got = parts[context.rank].clone()
            dist.all_reduce(got, op=operation)
            _exact(context, f"{name}, {operation.name.lower()}", got, wanted)  # type: ignore[attr-defined, unused-ignore]
    _long_numbers(context)
    _other_sums(context)
    _layouts(context)
    sizes = (257, 65536, 1, 4099)
    work = [values(context, context.rank, size, context.torch.float32, salt).clone() for salt, size in enumerate(sizes)]
    context.mark("all_reduce float32[257] four at once")
    pending = [dist.all_reduce(one, async_op=True) for one in work]
    for salt in (2, 0, 3, 1):  # in another order than they were started
        pending[salt].wait()
        parts = _all(context, sizes[salt], context.torch.float32, salt)
        _exact(context, f"all_reduce number {salt} of four at once", work[salt], _sum(context, parts))


def _long_numbers(context: Context) -> None:
    """Whole numbers of 64 bits that no floating-point type holds; one number without a dimension."""
    torch, dist = context.torch, context.torch.distributed
    parts = [one * ((1 << 36) + 1) for one in _all(context, 1027, torch.int64)]
    name = _mark(context, "all_reduce", "int64", 1027)
    got = parts[context.rank].clone()
    dist.all_reduce(got)
    right = bool((got == _sum(context, parts)).all())
    context.expect("value", name, right, "lost the lower bits of whole numbers of 60 bits", step=context.marks)
    _mark(context, "all_reduce", "float32", 1)
    one = torch.tensor(float(context.rank + 1), device=context.device)
    dist.all_reduce(one)
    _exact(context, "all_reduce of one number", one, context.world * (context.world + 1) / 2)


def _other_sums(context: Context) -> None:
    """Product and mean of floating-point numbers, bitwise sums of whole ones: what a back end has of them."""
    torch, dist = context.torch, context.torch.distributed
    whole = _all(context, 1027, torch.int32)
    # Products of up to 15 threes are exact in fp32, of twos any number.
    most = 3 if context.world <= 15 else 2
    small = [(one.remainder(most) + 1).float() for one in _all(context, 1027, torch.float32)]
    mean = [one * context.world for one in small]
    tries: list[tuple[str, list[Any], Callable[[Any, Any], Any]]] = [
        ("PRODUCT", small, lambda one, two: one * two),
        ("AVG", mean, lambda one, two: one + two),
        ("BAND", whole, lambda one, two: one & two),
        ("BOR", whole, lambda one, two: one | two),
        ("BXOR", whole, lambda one, two: one ^ two),
    ]
    for kind, parts, fold in tries:
        operation = getattr(dist.ReduceOp, kind)
        name = _mark(context, "all_reduce", str(parts[0].dtype).replace("torch.", ""), 1027)
        got, wanted = parts[context.rank].clone(), parts[0]
        for one in parts[1:]:
            wanted = fold(wanted, one)
        if _refused(context, f"all_reduce, {kind}", lambda: dist.all_reduce(got, op=operation)):  # noqa: B023
            continue
        if kind == "AVG":
            _exact(context, f"{name}, avg", got, wanted / context.world, mean_rounding(context))
        else:
            _exact(context, f"{name}, {kind.lower()}", got, wanted)


# What back ends say of a kind of sum, a type or a layout that they do not have.
_REFUSALS = ("cannot use reduceop", "unsupported", "not support", "must be contiguous", "not implemented")


def _refused(context: Context, what: str, call: Callable[[], Any]) -> bool:
    """Whether the back end says that it does not do this, which it says on all ranks, before anything is sent."""
    try:
        call()
    except (RuntimeError, ValueError, NotImplementedError) as error:
        if not any(word in str(error).lower() for word in _REFUSALS):
            raise
        context.facts.setdefault("not_implemented", []).append(what)
        return True
    return False


def _layouts(context: Context) -> None:
    """A tensor that begins at an odd place, and one that is transposed, between others that nobody may touch.

    Rows that lie apart are not tried: gloo (torch 2.13.0) takes them for one piece without a word, NCCL refuses them.
    """
    torch, dist = context.torch, context.torch.distributed
    parts = _all(context, 64 * 33, torch.float32)
    wanted = _sum(context, parts)
    held = parts[context.rank]
    moved = held.new_zeros(held.numel() + 2)
    moved[1:-1] = held
    turned = held.reshape(64, 33).T.contiguous().T
    for name, got, right in (
        ("at an odd address", moved[1:-1], wanted),
        ("that is transposed", turned, wanted.reshape(64, 33)),
    ):
        _mark(context, "all_reduce", "float32", 64 * 33)
        if not _refused(context, f"all_reduce of a tensor {name}", lambda: dist.all_reduce(got)):  # noqa: B023
            _exact(context, f"all_reduce of a tensor {name}", got, right)
    clean = not bool(moved[0]) and not bool(moved[-1])
    context.expect("value", "what lies beside the tensor", clean, "was written over by all_reduce", step=context.marks)


def one_to_all(context: Context) -> None:
    """broadcast, scatter, gather and reduce, from and to every rank in turn."""
    torch, dist = context.torch, context.torch.distributed
    for size in _large(context):
        parts = _all(context, size, torch.float32)
        for root in {0, context.world - 1}:
            got = parts[context.rank].clone()
            name = _mark(context, "broadcast", "float32", size)
            dist.broadcast(got, root)
            _exact(context, f"{name} from rank {root}", got, parts[root])
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
    """Into a list and into one tensor, also in place."""
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
        if size == 65536:  # in place: what is sent is the part of the result that it becomes
            whole.zero_()
            own = whole.chunk(context.world)[context.rank]
            own.copy_(parts[context.rank])
            _mark(context, "all_gather in place", words, size)
            into_one(whole, own)
            for rank, one in enumerate(whole.chunk(context.world)):
                _exact(context, f"{name} in place, part of rank {rank}", one, parts[rank])


def reduce_scatter(context: Context) -> None:
    """From one tensor; the largest is that of all parts together."""
    torch, dist = context.torch, context.torch.distributed
    from_one = getattr(dist, "reduce_scatter_single", None) or dist.reduce_scatter_tensor
    for size, dtype, words in _each(context):
        size = -(-size // context.world) if size > 65536 else size
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
        size = -(-size // world) if size > 65536 else size
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
    for size in (65536, *_large(context)):
        _ring(context, size)


def _ring(context: Context, size: int) -> None:
    """To both neighbours and from both, two of each at once, in another order than they are waited for."""
    torch, dist = context.torch, context.torch.distributed
    right, left = (context.rank + 1) % context.world, (context.rank - 1) % context.world
    ways = [(right, left, 0, size), (left, right, 1, 4099), (right, left, 2, 1), (left, right, 3, size // 3)]
    operations, got = [], []
    for to, source, tag, count in ways:
        got.append(torch.empty(count, device=context.device))
        own = values(context, context.rank, count, torch.float32, tag)
        operations.append(dist.P2POp(dist.isend, own, to, tag=tag))
        operations.append(dist.P2POp(dist.irecv, got[-1], source, tag=tag))
    context.mark(f"ring of sends and receives of {size} values, all at once")
    for one in reversed(dist.batch_isend_irecv(operations)):
        one.wait()
    for (_, source, tag, count), one in zip(ways, got):
        wanted = values(context, source, count, torch.float32, tag)
        _exact(context, f"ring, {count} values received from rank {source}", one, wanted)


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
    got = values(context, context.rank, 1027, torch.float32).clone()
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
    everyone = context.cached("another group of all", lambda: dist.new_group(list(range(context.world))))
    _within(context, groups[mine], list(members), "a group")
    _within(context, everyone, list(range(context.world)), "another group of all")


def _within(context: Context, group: Any, ranks: list[int], words: str) -> None:
    """A copy from the last rank of a group, parts from all of its ranks in their order, and sums and means of parts."""
    torch, dist = context.torch, context.torch.distributed
    parts = [values(context, rank, 1027, torch.float32, 5) for rank in ranks]
    place = ranks.index(context.rank)
    own = parts[place]
    context.mark(f"broadcast float32[1027] in {words}")
    got = own.clone()
    dist.broadcast(got, ranks[-1], group=group)
    _exact(context, f"broadcast from rank {ranks[-1]} in {words}", got, parts[-1])
    context.mark(f"all_gather float32[1027] in {words}")
    into = [torch.empty_like(own) for _ in ranks]
    dist.all_gather(into, own, group=group)
    for rank, one, right in zip(ranks, into, parts):
        _exact(context, f"all_gather in {words}, part of rank {rank}", one, right)
    context.mark(f"reduce_scatter float32[1027] in {words}")
    from_one = getattr(dist, "reduce_scatter_single", None) or dist.reduce_scatter_tensor
    many = [values(context, rank, 1027 * len(ranks), torch.float32, 6) for rank in ranks]
    got = torch.empty_like(own)
    from_one(got, many[place], group=group)
    wanted = _sum(context, many)[place * 1027 : (place + 1) * 1027]
    _exact(context, f"reduce_scatter in {words}", got, wanted)
    got, total = own.clone(), _sum(context, parts)
    context.mark(f"all_reduce float32[1027] in {words}")
    if not _refused(
        context, "all_reduce in a group, AVG", lambda: dist.all_reduce(got, op=dist.ReduceOp.AVG, group=group)
    ):
        _exact(context, f"mean in {words}", got, total / len(ranks), mean_rounding(context))


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
    for root in range(context.world):
        shared = [{"from": root, "numbers": list(range(50))} if context.rank == root else None]
        dist.broadcast_object_list(shared, src=root)
        right = shared == [{"from": root, "numbers": list(range(50))}]
        name = f"broadcast_object_list from rank {root}"
        context.expect("value", name, right, f"gave {str(shared)[:60]}", step=context.marks)
    context.mark("barrier")
    dist.barrier()


def large(context: Context) -> None:
    """Sum, copies and exchanges of the largest messages, every value."""
    torch, dist = context.torch, context.torch.distributed
    into_one = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor
    from_one = getattr(dist, "reduce_scatter_single", None) or dist.reduce_scatter_tensor
    for size in _LARGEST[context.device.type]:
        part = size // context.world
        size = part * context.world
        parts = _all(context, size, torch.float32)
        total, own = _sum(context, parts), parts[context.rank]
        mine = slice(context.rank * part, (context.rank + 1) * part)
        got = own.clone()
        name = _mark(context, "all_reduce", "float32", size)
        dist.all_reduce(got)
        _exact(context, name, got, total)
        got = torch.empty(part, device=context.device)
        name = _mark(context, "reduce_scatter", "float32", part)
        from_one(got, own)
        _exact(context, name, got, total[mine])
        got = torch.empty(size, device=context.device)
        name = _mark(context, "all_gather", "float32", part)
        into_one(got, own[:part])
        for rank, one in enumerate(got.chunk(context.world)):
            _exact(context, f"{name}, part of rank {rank}", one, parts[rank][:part])
        name = _mark(context, "all_to_all", "float32", part)
        dist.all_to_all_single(got, own)
        for rank, one in enumerate(got.chunk(context.world)):
            _exact(context, f"{name}, part of rank {rank}", one, parts[rank][mine])
        got.copy_(own)
        name = _mark(context, "broadcast", "float32", size)
        dist.broadcast(got, context.world - 1)
        _exact(context, name, got, parts[-1])
        _ring(context, size)


_OBJECTS = MOVED.but(computed="objects that travel", against="the objects that were sent")
MODES = (
    Mode("all-reduce", "all_reduce: every kind of sum, seven types", all_reduce, SUMMED),
    Mode("one-to-all", "broadcast, reduce, scatter and gather from and to every rank", one_to_all, MOVED),
    Mode("all-gather", "all_gather into a list and into one tensor", all_gather, MOVED),
    Mode("reduce-scatter", "reduce_scatter from one tensor", reduce_scatter, MOVED),
    Mode("all-to-all", "all_to_all with equal and with unequal parts", all_to_all, MOVED),
    Mode("point-to-point", "send and receive between every two ranks, and a ring", point_to_point, MOVED, min_world=2),
    Mode("subgroups", "collectives in two groups at once", subgroups, MOVED, min_world=2),
    Mode(
        "large-messages", "every collective with 16 MiB (up to 256 MiB on GPUs)", large, MOVED, full=True, min_world=2
    ),
    Mode("objects", "Python objects and a barrier", objects, _OBJECTS, objects=True),
)

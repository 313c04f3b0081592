"""Every collective in several types, sizes, layouts and kinds of sums, each value checked on every rank.

Values are made so that a wrong one tells where it came from: an element depends on its rank and its place, without a
period, so that a lost, doubled or moved one shows; all sums are exact in every type that is used (whole numbers).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..context import Context
from ..exact_values import (
    MOVED,
    SUMMED,
    all_values,
    announce,
    came_from,
    check_exact,
    check_reduced,
    exact_sum,
    mean_rounding,
    refused,
    values,
)
from ..in_groups import subgroups
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


def _each(context: Context) -> Any:
    """(size, type, words, salt) of each try: all types at the odd size, float32 at all sizes.

    Of one size and type no two tries have the same values: what lay in a buffer before is not what should be there.
    """
    torch = context.torch
    for dtype in _types(context):
        yield 1027, dtype, str(dtype).replace("torch.", ""), 0
    for size in (*_SIZES, *_large(context)):
        yield size, torch.float32, "float32", 1


def _large(context: Context) -> tuple[int, ...]:
    return (_LARGE[context.device.type],)


def all_reduce(context: Context) -> None:
    """Sum, largest, smallest, product, mean, bits; tensors that are not in one piece; several at once."""
    dist = context.torch.distributed
    for size, dtype, words, salt in _each(context):
        parts = all_values(context, size, dtype, salt)
        name = announce(context, "all_reduce", words, size)
        got = parts[context.rank].clone()
        dist.all_reduce(got)
        check_exact(context, name, got, exact_sum(context, parts), parts=parts)
        if size not in (1, 1027):
            continue
        _extremes(context, name, parts)
        if dtype.is_signed:
            _extremes(context, f"{name} of both signs", [_signed(context, *one) for one in enumerate(parts)])
    _long_numbers(context)
    _other_sums(context)
    _layouts(context)
    sizes = (257, 65536, 1, 4099, 257)
    work = [values(context, context.rank, size, context.torch.float32, salt).clone() for salt, size in enumerate(sizes)]
    context.mark("all_reduce float32[257] five at once")
    pending = [dist.all_reduce(one, async_op=True) for one in work]
    for salt in (2, 0, 3, 4, 1):  # in another order than they were started
        pending[salt].wait()
        parts = all_values(context, sizes[salt], context.torch.float32, salt)
        check_exact(context, f"all_reduce number {salt} of five at once", work[salt], exact_sum(context, parts))


def _signed(context: Context, rank: int, part: Any) -> Any:
    """Of three elements one is below zero on all ranks, one on every second rank, one on none."""
    place = context.torch.arange(part.numel(), device=part.device).remainder(3)
    below = place <= rank % 2
    return context.torch.where(below, -1 - part, part)


def _extremes(context: Context, name: str, parts: list[Any]) -> None:
    """The largest and the smallest of what all ranks hold."""
    dist, stacked = context.torch.distributed, context.torch.stack(parts)
    for kind, wanted in (("MAX", stacked.amax(0)), ("MIN", stacked.amin(0))):
        got = parts[context.rank].clone()
        dist.all_reduce(got, op=getattr(dist.ReduceOp, kind))
        check_exact(context, f"{name}, {kind.lower()}", got, wanted)


def _long_numbers(context: Context) -> None:
    """Whole numbers of 64 bits that no floating-point type holds; one number without a dimension."""
    torch, dist = context.torch, context.torch.distributed
    parts = [one * ((1 << 36) + 1) for one in all_values(context, 1027, torch.int64)]
    name = announce(context, "all_reduce", "int64", 1027)
    got = parts[context.rank].clone()
    dist.all_reduce(got)
    right = bool((got == exact_sum(context, parts)).all())
    context.expect("value", name, right, "lost the lower bits of whole numbers of 60 bits", step=context.marks)
    announce(context, "all_reduce", "float32", 1)
    one = torch.tensor(float(context.rank + 1), device=context.device)
    dist.all_reduce(one)
    check_exact(context, "all_reduce of one number", one, context.world * (context.world + 1) / 2)


def _other_sums(context: Context) -> None:
    """Product and mean of floating-point numbers, bitwise sums of whole ones: what a back end has of them."""
    torch, dist = context.torch, context.torch.distributed
    whole = all_values(context, 1027, torch.int32)
    # Products of up to 15 threes are exact in fp32, of twos any number.
    most = 3 if context.world <= 15 else 2
    small = [(one.remainder(most) + 1).float() for one in all_values(context, 1027, torch.float32)]
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
        name = announce(context, "all_reduce", str(parts[0].dtype).replace("torch.", ""), 1027)
        got, wanted = parts[context.rank].clone(), parts[0]
        for one in parts[1:]:
            wanted = fold(wanted, one)
        if refused(context, f"all_reduce, {kind}", lambda: dist.all_reduce(got, op=operation)):  # noqa: B023
            continue
        if kind == "AVG":
            check_exact(context, f"{name}, avg", got, wanted / context.world, mean_rounding(context))
        else:
            check_exact(context, f"{name}, {kind.lower()}", got, wanted)


def _layouts(context: Context) -> None:
    """A tensor that begins at an odd place, and one that is transposed, between others that nobody may touch.

    Rows that lie apart are not tried: gloo (torch 2.13.0) takes them for one piece without a word, NCCL refuses them.
    """
    torch, dist = context.torch, context.torch.distributed
    parts = all_values(context, 64 * 33, torch.float32)
    wanted = exact_sum(context, parts)
    held = parts[context.rank]
    moved = held.new_zeros(held.numel() + 2)
    moved[1:-1] = held
    turned = held.reshape(64, 33).T.contiguous().T
    for name, got, right in (
        ("at an odd address", moved[1:-1], wanted),
        ("that is transposed", turned, wanted.reshape(64, 33)),
    ):
        announce(context, "all_reduce", "float32", 64 * 33)
        if not refused(context, f"all_reduce of a tensor {name}", lambda: dist.all_reduce(got)):  # noqa: B023
            check_exact(context, f"all_reduce of a tensor {name}", got, right)
    clean = not bool(moved[0]) and not bool(moved[-1])
    context.expect(
        "value", "the memory next to the tensor", clean, "was written over by all_reduce", step=context.marks
    )


def one_to_all(context: Context) -> None:
    """broadcast, scatter, gather and reduce, from and to every rank in turn."""
    torch, dist = context.torch, context.torch.distributed
    for size in _large(context):
        parts = all_values(context, size, torch.float32)
        for root in {0, context.world - 1}:
            got = parts[context.rank].clone()
            name = announce(context, "broadcast", "float32", size)
            dist.broadcast(got, root)
            came_from(context, f"{name} from rank {root}", got, parts[root], root, parts[context.rank])
    reduces = context.marks + 1
    for root in range(context.world):
        dtype = (torch.float32, torch.bfloat16, torch.int64)[root % 3]
        words, size = str(dtype).replace("torch.", ""), 1027
        parts = all_values(context, size, dtype, root)
        got = parts[context.rank].clone()
        name = announce(context, "broadcast", words, size)
        dist.broadcast(got, root)
        came_from(context, f"{name} from rank {root}", got, parts[root], root, parts[context.rank])
        got = parts[context.rank].clone()
        name = announce(context, "reduce", words, size)
        dist.reduce(got, root)
        if context.rank == root:
            # All of them are one step: at which ranks sums are wrong tells more than which was first.
            check_reduced(context, f"{name} to rank {root}", got, parts, reduces)
        here = context.rank == root
        got = torch.empty_like(parts[0])
        name = announce(context, "scatter", words, size)
        dist.scatter(got, parts if here else None, src=root)
        came_from(context, f"{name} from rank {root}", got, parts[context.rank], root)
        into = [torch.empty_like(one) for one in parts] if here else None
        name = announce(context, "gather", words, size)
        dist.gather(parts[context.rank], into, dst=root)
        for rank, one in enumerate(into or ()):
            came_from(context, f"{name} to rank {root}, part of rank {rank}", one, parts[rank], rank)


def all_gather(context: Context) -> None:
    """Into a list and into one tensor, also in place."""
    torch, dist = context.torch, context.torch.distributed
    into_one = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor
    for size, dtype, words, salt in _each(context):
        parts = all_values(context, size, dtype, salt)
        name = announce(context, "all_gather", words, size)
        into = [torch.empty_like(one) for one in parts]
        dist.all_gather(into, parts[context.rank])
        for rank, one in enumerate(into):
            came_from(context, f"{name}, part of rank {rank}", one, parts[rank], rank, parts=parts)
        whole = torch.empty(size * context.world, dtype=dtype, device=context.device)
        into_one(whole, parts[context.rank])
        for rank, one in enumerate(whole.chunk(context.world)):
            came_from(context, f"{name} into one tensor, part of rank {rank}", one, parts[rank], rank, parts=parts)
        if size == 65536:  # in place: what is sent is the part of the result that it becomes
            whole.zero_()
            own = whole.chunk(context.world)[context.rank]
            own.copy_(parts[context.rank])
            announce(context, "all_gather in place", words, size)
            into_one(whole, own)
            for rank, one in enumerate(whole.chunk(context.world)):
                came_from(context, f"{name} in place, part of rank {rank}", one, parts[rank], rank, parts=parts)


def reduce_scatter(context: Context) -> None:
    """From one tensor; the largest is that of all parts together."""
    torch, dist = context.torch, context.torch.distributed
    from_one = getattr(dist, "reduce_scatter_single", None) or dist.reduce_scatter_tensor
    for size, dtype, words, salt in _each(context):
        size = -(-size // context.world) if size > 65536 else size
        parts = all_values(context, size * context.world, dtype, salt)
        name = announce(context, "reduce_scatter", words, size)
        got = torch.empty(size, dtype=dtype, device=context.device)
        from_one(got, parts[context.rank])
        wanted = exact_sum(context, parts)[context.rank * size : (context.rank + 1) * size]
        check_exact(context, name, got, wanted)


def all_to_all(context: Context) -> None:
    """Equal parts, and parts whose size depends on sender and receiver."""
    torch, dist = context.torch, context.torch.distributed
    world, rank = context.world, context.rank
    for size, dtype, words, salt in _each(context):
        size = -(-size // world) if size > 65536 else size
        own = values(context, rank, size * world, dtype, salt)
        name = announce(context, "all_to_all", words, size)
        got = torch.empty_like(own)
        dist.all_to_all_single(got, own)
        mine = slice(rank * size, (rank + 1) * size)
        sent = [one[mine] for one in all_values(context, size * world, dtype, salt)]
        for sender, one in enumerate(got.chunk(world)):
            came_from(context, f"{name}, part of rank {sender}", one, sent[sender], sender, parts=sent)
    for empty in range(world):
        _uneven(context, empty)


def _uneven(context: Context, empty: int) -> None:
    """Parts whose size depends on sender and receiver; each rank gives nothing to the ``empty``-th after it."""
    torch, dist = context.torch, context.torch.distributed
    world, rank = context.world, context.rank
    counts = [[1 + (3 * sender + 5 * receiver) % 7 for receiver in range(world)] for sender in range(world)]
    for sender, row in enumerate(counts):
        row[(sender + empty) % world] = 0
    own = values(context, rank, sum(counts[rank]), torch.float32)
    takes = [counts[sender][rank] for sender in range(world)]
    got = torch.empty(sum(takes), device=context.device)
    context.mark("all_to_all_single with unequal parts")
    dist.all_to_all_single(got, own, takes, counts[rank])
    for sender, one in enumerate(got.split(takes)):
        first = sum(counts[sender][:rank])
        sent = values(context, sender, sum(counts[sender]), torch.float32)[first : first + counts[sender][rank]]
        came_from(context, f"all_to_all with unequal parts, part of rank {sender}", one, sent, sender)


def point_to_point(context: Context) -> None:
    """Between every two ranks, both ways, one pair after another: a wrong link is one pair."""
    torch, dist = context.torch, context.torch.distributed
    size, step = 65536, context.marks + 1
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
            sent = values(context, other, size, torch.float32, low)
            came_from(context, f"received from rank {other}", got, sent, other, step=step)
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
        came_from(context, f"ring, {count} values received from rank {source}", one, wanted, source)


def large(context: Context) -> None:
    """Sum, copies and exchanges of the largest messages, every value."""
    torch, dist = context.torch, context.torch.distributed
    into_one = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor
    from_one = getattr(dist, "reduce_scatter_single", None) or dist.reduce_scatter_tensor
    for size in _LARGEST[context.device.type]:
        part = size // context.world
        size = part * context.world
        parts = all_values(context, size, torch.float32)
        total, own = exact_sum(context, parts), parts[context.rank]
        mine = slice(context.rank * part, (context.rank + 1) * part)
        got = own.clone()
        name = announce(context, "all_reduce", "float32", size)
        dist.all_reduce(got)
        check_exact(context, name, got, total, parts=parts)
        got = torch.empty(part, device=context.device)
        name = announce(context, "reduce_scatter", "float32", part)
        from_one(got, own)
        check_exact(context, name, got, total[mine])
        got = torch.empty(size, device=context.device)
        name = announce(context, "all_gather", "float32", part)
        into_one(got, own[:part])
        for rank, one in enumerate(got.chunk(context.world)):
            came_from(context, f"{name}, part of rank {rank}", one, parts[rank][:part], rank)
        name = announce(context, "all_to_all", "float32", part)
        dist.all_to_all_single(got, own)
        for rank, one in enumerate(got.chunk(context.world)):
            came_from(context, f"{name}, part of rank {rank}", one, parts[rank][mine], rank)
        got.copy_(own)
        name = announce(context, "broadcast", "float32", size)
        dist.broadcast(got, context.world - 1)
        came_from(context, name, got, parts[-1], context.world - 1, own)
        _ring(context, size)


MODES = (
    Mode("all-reduce", "all_reduce: every reduction, in seven types", all_reduce, SUMMED),
    Mode("one-to-all", "broadcast, reduce, scatter and gather from and to every rank", one_to_all, MOVED),
    Mode("all-gather", "all_gather into a list and into one tensor", all_gather, MOVED),
    Mode("reduce-scatter", "reduce_scatter from one tensor", reduce_scatter, MOVED),
    Mode("all-to-all", "all_to_all with equal and with unequal parts", all_to_all, MOVED),
    Mode(
        "point-to-point", "send and receive between every pair of ranks, and a ring", point_to_point, MOVED, min_world=2
    ),
    Mode("subgroups", "collectives in two groups at once", subgroups, SUMMED, min_world=2),
    Mode(
        "large-messages", "every collective with 16 MiB (up to 256 MiB on GPUs)", large, MOVED, full=True, min_world=2
    ),
)

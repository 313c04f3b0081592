"""Collectives among some of the ranks, and among all in a group of its own."""

from __future__ import annotations

from typing import Any

from .context import Context
from .exact_values import came_from, check_exact, exact_sum, mean_rounding, refused, values


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
    check_exact(
        context,
        "all_reduce in a group",
        got,
        exact_sum(context, [values(context, rank, 1027, torch.float32) for rank in members]),
    )
    context.expect(
        "value",
        "the group",
        dist.get_world_size(groups[mine]) == len(members),
        f"has {dist.get_world_size(groups[mine])} ranks instead of {len(members)}",
        layer="framework",
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
    name = f"broadcast from rank {ranks[-1]} in {words}"
    came_from(context, name, got, parts[-1], ranks[-1], own, among=len(ranks))
    context.mark(f"all_gather float32[1027] in {words}")
    into = [torch.empty_like(own) for _ in ranks]
    dist.all_gather(into, own, group=group)
    for rank, one, right in zip(ranks, into, parts):
        came_from(context, f"all_gather in {words}, part of rank {rank}", one, right, rank)
    context.mark(f"reduce_scatter float32[1027] in {words}")
    from_one = getattr(dist, "reduce_scatter_single", None) or dist.reduce_scatter_tensor
    many = [values(context, rank, 1027 * len(ranks), torch.float32, 6) for rank in ranks]
    got = torch.empty_like(own)
    from_one(got, many[place], group=group)
    wanted = exact_sum(context, many)[place * 1027 : (place + 1) * 1027]
    check_exact(context, f"reduce_scatter in {words}", got, wanted)
    got, total = own.clone(), exact_sum(context, parts)
    context.mark(f"all_reduce float32[1027] in {words}")
    if not refused(
        context, "all_reduce in a group, AVG", lambda: dist.all_reduce(got, op=dist.ReduceOp.AVG, group=group)
    ):
        check_exact(context, f"mean in {words}", got, total / len(ranks), mean_rounding(context))

"""Where each rank works: the order of Megatron-LM (``parallel_state.py``, tp-cp-ep-dp-pp) and torchtitan.

Tensor-parallel ranks lie next to each other, then context-parallel ones, then data-parallel ones (expert parallelism
divides these and adds no ranks), and pipeline stages are outermost.
"""

from __future__ import annotations

from rocdoctor.train.recommend.model.layout import Parallel
from rocdoctor.train.recommend.plan import Fleet, Rank


def coordinates(rank: int, plan: Parallel) -> dict[str, int]:
    """The place of a rank in each dimension; ``ep`` counts within the ranks that share the experts."""
    tp, rest = rank % plan.tp, rank // plan.tp
    cp, rest = rest % plan.cp, rest // plan.cp
    dp, pp = rest % plan.dp, rest // plan.dp
    return {"pp": pp, "dp": dp, "cp": cp, "tp": tp, "ep": (dp * plan.cp + cp) % plan.ep}


def group_name(rank: int, plan: Parallel) -> str:
    """The place of a rank in words, ``pp 1, dp 0, tp 3``: the dimensions that have more than one rank."""
    sizes = {"pp": plan.pp, "dp": plan.dp, "cp": plan.cp, "tp": plan.tp, "ep": plan.ep}
    place = coordinates(rank, plan)
    return ", ".join(f"{name} {place[name]}" for name, size in sizes.items() if size > 1)


def placement(fleet: Fleet, parallel: Parallel) -> tuple[Rank, ...]:
    """The ranks of the first node on its seats, island by island."""
    seats = [fleet.seats[at] for at in seat_order(fleet)]
    return tuple(Rank(rank, seat, group_name(rank, parallel)) for rank, seat in enumerate(seats))


def seat_order(fleet: Fleet) -> tuple[int, ...]:
    """Local ranks so that each island's seats are neighbours; the order of torch where that is so already.

    Launchers give local rank n the n-th visible device, so another order has to be set in the variable that selects
    devices.
    """
    order = [rank for island in fleet.islands for rank in island if rank < fleet.per_node]
    return tuple(order) if sorted(order) == list(range(fleet.per_node)) else tuple(range(fleet.per_node))

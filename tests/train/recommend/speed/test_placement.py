"""Ranks on seats: the order of Megatron-LM and torchtitan, and sizes that would leave the fast links."""

from __future__ import annotations

from dataclasses import replace

from rocdoctor.train.recommend.fleet.described_fleet import described
from rocdoctor.train.recommend.model.layout import Parallel
from rocdoctor.train.recommend.speed.placement import coordinates, group_name, placement, seat_order


def parallel(tp: int = 1, pp: int = 1, cp: int = 1, dp: int = 1, ep: int = 1) -> Parallel:
    return Parallel(tp, pp, cp, ep, dp, 1, 0, 1, "1f1b", tp > 1, False, False, False, False)


def groups_of(plan: Parallel, name: str) -> list[list[int]]:
    """The process groups of a dimension: ranks that differ in it alone."""
    found: dict[tuple[int, ...], list[int]] = {}
    for rank in range(plan.tp * plan.pp * plan.cp * plan.dp):
        place = coordinates(rank, plan)
        found.setdefault(tuple(place[key] for key in ("tp", "cp", "dp", "pp") if key != name), []).append(rank)
    return sorted(found.values())


def test_groups_are_those_that_megatron_gives_as_its_example() -> None:
    # parallel_state.py, initialize_model_parallel: 16 GPUs, tensor size 2, pipeline size 4.
    plan = parallel(tp=2, pp=4, dp=2)
    assert groups_of(plan, "tp") == [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9], [10, 11], [12, 13], [14, 15]]
    assert groups_of(plan, "dp") == [[0, 2], [1, 3], [4, 6], [5, 7], [8, 10], [9, 11], [12, 14], [13, 15]]
    assert groups_of(plan, "pp") == [[0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15]]


def test_context_parallel_ranks_lie_between_tensor_and_data_parallel_ones() -> None:
    plan = parallel(tp=2, cp=2, dp=2)
    assert groups_of(plan, "cp") == [[0, 2], [1, 3], [4, 6], [5, 7]]
    assert groups_of(plan, "dp") == [[0, 4], [1, 5], [2, 6], [3, 7]]


def test_experts_divide_the_data_parallel_ranks_and_add_none() -> None:
    plan = parallel(tp=2, dp=4, ep=4)
    assert [coordinates(rank, plan)["ep"] for rank in range(8)] == [0, 0, 1, 1, 2, 2, 3, 3]


def test_names_have_the_dimensions_that_are_divided() -> None:
    assert group_name(5, parallel(tp=4, pp=2)) == "pp 1, tp 1"
    assert group_name(5, parallel(dp=8)) == "dp 5"
    assert group_name(0, parallel()) == ""


def test_ranks_of_the_first_node_have_its_seats() -> None:
    fleet = described("8xMI300X", nodes=2)
    found = placement(fleet, parallel(tp=8, pp=2))
    assert [one.rank for one in found] == list(range(8))
    assert [one.seat.local_rank for one in found] == list(range(8))
    assert {one.group for one in found} == {f"pp 0, tp {number}" for number in range(8)}


def test_islands_that_are_not_in_order_are_seated_one_after_the_other() -> None:
    fleet = replace(described("4xMI210"), islands=((0, 2), (1, 3)))
    assert seat_order(fleet) == (0, 2, 1, 3)
    found = placement(fleet, parallel(tp=2, dp=2))
    assert [(one.seat.local_rank, one.group) for one in found] == [
        (0, "dp 0, tp 0"),
        (2, "dp 0, tp 1"),
        (1, "dp 1, tp 0"),
        (3, "dp 1, tp 1"),
    ]
    assert seat_order(replace(fleet, islands=())) == (0, 1, 2, 3)

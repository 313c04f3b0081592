"""Who is named in networks with planted faults, over many seeds: no sound node ever, of the bad ones nearly all."""

from __future__ import annotations

from random import Random

import pytest

from rocdoctor.fleet.net.pair_judge import judge_pairs
from rocdoctor.fleet.net.pair_rounds import PairRounds
from rocdoctor.train.smoke.nodes.pair_results import PairResult
from tests.fleet.net_kit import NetWorld, named

_SEEDS = range(12)


def _bad(seed: int, many: int, among: int) -> dict[int, float]:
    random = Random(seed)
    return {node: random.uniform(0.3, 0.7) for node in random.sample(range(among), many)}


@pytest.mark.parametrize(("nodes", "leaf", "many"), [(4, 0, 1), (8, 0, 1), (33, 0, 1), (64, 16, 2), (256, 16, 4)])
def test_bad_nodes_are_named_and_sound_ones_never(nodes: int, leaf: int, many: int) -> None:
    found = missed = 0
    for seed in _SEEDS:
        bad = _bad(seed, many, nodes)
        world = NetWorld(nodes, leaf, seed, bad, congested=0.01 if nodes > 8 else 0.0)
        told = set(named(world.judged()))
        assert told <= set(bad), seed
        assert world.rounds <= 7
        found += len(told)
        missed += len(set(bad) - told)
    assert missed <= 0.1 * (found + missed)


def test_a_bad_uplink_names_its_leaf_and_none_of_its_nodes() -> None:
    for seed in _SEEDS:
        world = NetWorld(96, 16, seed, {5: 0.5}, uplinks={3: 0.6})
        found = world.judged()
        assert [one.leaf for one in found.leaves if one.named] == ["s3"], seed
        assert named(found) == [5]


def test_where_leaves_are_not_known_their_nodes_are_not_accused() -> None:
    for seed in _SEEDS:
        found = NetWorld(256, 8, seed, uplinks={3: 0.4, 9: 0.5}, told=False).judged()
        assert named(found) == [], seed
        assert found.leaves == ()


def test_one_slow_pair_accuses_neither_end() -> None:
    for nodes in (3, 5, 8):
        found = NetWorld(nodes, pairs={frozenset((0, 1)): 0.3}, congested=0.0).judged()
        assert named(found) == []
        if not found.uneven:
            assert {frozenset(one.ends) for one in found.slow_pairs} == {frozenset((0, 1))}


def test_of_two_nodes_nobody_knows_which_is_slow() -> None:
    found = NetWorld(2, bad={1: 0.1}).judged()
    assert named(found) == []
    found = NetWorld(2, bad={1: 0.0}).judged()
    assert [one.state for one in found.nodes] == ["undecided", "undecided"]


def test_where_all_are_slow_none_is_named() -> None:
    assert named(NetWorld(64, 16, full=500.0).judged()) == []
    most = NetWorld(40, bad=dict.fromkeys(range(0, 40, 4), 0.3)).judged()
    assert (named(most), most.common) == ([], 10)


def test_a_node_that_cannot_be_reached_is_not_slow() -> None:
    found = NetWorld(9, bad={4: 0.0}, congested=0.0).judged()
    assert [(one.node, one.state) for one in found.nodes if one.state != "well"] == [(4, "unreachable")]


def test_a_node_that_hangs_is_silent_and_costs_nobody_else_anything() -> None:
    for nodes in (3, 5, 16):
        found = NetWorld(nodes, hung=(1,), congested=0.0).judged()
        assert [(one.node, one.state) for one in found.nodes if one.state != "well"] == [(1, "silent")], nodes


@pytest.mark.parametrize("says", [1.0, 1e7])
def test_a_node_that_lies_accuses_nobody_and_hides_nobody(says: float) -> None:
    for nodes in (3, 5, 16, 40):
        for seed in _SEEDS:
            told = named(NetWorld(nodes, seed=seed, liars={1: says}).judged())
            assert set(told) <= {1}, (nodes, seed)
    found = [named(NetWorld(40, seed=seed, bad={7: 0.5}, liars={1: says}).judged()) for seed in _SEEDS]
    assert all(7 in one for one in found)


def test_where_no_node_reports_nothing_can_be_told() -> None:
    """Node 0 goes on: the report of one node that is none must not end it."""
    for open_rounds in (None, 3):
        found = judge_pairs([0, 1], [PairResult(1, 0, 0, "silent")], {}, (), open_rounds)
        assert (found.uneven, found.nodes[1].state) == (True, "silent")


def test_noise_is_not_read_as_a_fault() -> None:
    for nodes in (3, 4, 6, 12, 64):
        for seed in range(20):
            assert named(NetWorld(nodes, seed=seed, noise=0.10).judged()) == [], (nodes, seed)


def test_where_pairs_differ_too_much_that_is_said() -> None:
    found = NetWorld(64, noise=0.4).judged()
    assert (named(found), found.uneven, found.slow_pairs) == ([], True, ())


def test_below_a_bad_uplink_one_slow_neighbour_is_not_enough() -> None:
    """Its pairs across say nothing of a node there, and one on its leaf may be slow by chance."""
    world = NetWorld(64, 16, uplinks={1: 0.4}, congested=0.0)
    own = set(range(17, 32))
    results = [one for one in world.results() if not (16 in one.ends and own.intersection(one.ends))]
    for many, state in ((1, "path"), (2, "slow")):
        slow = [PairResult(16, other, 1, "measured", 9000.0, 9000.0) for other in (20, 25)[:many]]
        found = judge_pairs(range(64), [*results, *slow], world.leaves(), (), 3)
        assert [one.leaf for one in found.leaves if one.named] == ["s1"]
        assert found.nodes[16].state == state


def test_a_node_far_below_all_others_is_named_although_these_differ() -> None:
    found = [named(NetWorld(6, seed=seed, bad={2: 0.15}, noise=0.2, congested=0.0).judged()) for seed in _SEEDS]
    assert found.count([2]) >= 10
    assert all(set(one) <= {2} for one in found)


@pytest.mark.parametrize("nodes", [2, 3, 5, 8, 9, 16, 31])
def test_rounds_are_disjoint_and_few(nodes: int) -> None:
    world = NetWorld(nodes)
    world.judged()  # asserts that no node is in two pairs of a round
    assert world.rounds <= 7
    met = PairRounds(range(nodes), {}, 1)
    results: list[PairResult] = []
    while pairs := met.next(results):
        results += [PairResult(a, b, 0, "measured", 1000.0, 1000.0) for a, b in pairs]
    if nodes <= 8:
        assert len({frozenset(one.ends) for one in results}) == nodes * (nodes - 1) // 2
    else:
        count = [sum(node in one.ends for one in results) for node in range(nodes)]
        assert min(count) >= 2


def test_the_first_round_is_inside_leaves_and_the_others_across() -> None:
    leaves = {node: f"s{node // 8}" for node in range(64)}
    plan = PairRounds(range(64), leaves, 3)
    first, second = plan.next([]), plan.next([])
    assert all(leaves[a] == leaves[b] for a, b in first)
    assert sum(leaves[a] != leaves[b] for a, b in second) >= 31
    assert PairRounds(range(64), leaves, 3).next([]) == first

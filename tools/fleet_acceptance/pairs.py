"""Figure 4: bad nodes and uplinks by rounds of pairs, simulated and over srun."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from tests.fleet.net_kit import NetWorld, named
from tools.fleet_acceptance.rows import Row, Setting, most, none, share, skipped, tests

_REAL = "tests/fleet/test_real_net.py::test_one_srun_over_sixteen_nodes_one_slow_and_one_that_hangs"


def figure(setting: Setting) -> Iterator[Row]:
    """Fleets of 64 to all nodes on leaves of 32, half a percent of the nodes and one leaf in twenty bad."""
    random, accused, rounds = Random(setting.seed), list[str](), 0
    bad_found = bad_all = leaf_found = leaf_all = sound = 0
    for nodes, seeds in ((64, 10), (1024, 4), (setting.nodes, 1)):
        for _ in range(seeds):
            bad = {node: random.uniform(0.3, 0.75) for node in random.sample(range(nodes), max(1, nodes // 200))}
            leaves = -(-nodes // 32)
            uplinks = {leaf: random.uniform(0.3, 0.75) for leaf in random.sample(range(leaves), leaves // 20)}
            world = NetWorld(nodes, 32, random.randrange(10**6), bad, uplinks)
            found = world.judged()
            rounds = max(rounds, world.rounds)
            told = set(named(found))
            below = {node for node in bad if node // 32 in uplinks}  # of these two causes one is named
            bad_found, bad_all = bad_found + len(told & (bad.keys() - below)), bad_all + len(bad) - len(below)
            switches = {one.leaf for one in found.leaves if one.named}
            leaf_found, leaf_all = leaf_found + len({f"s{one}" for one in uplinks} & switches), leaf_all + len(uplinks)
            accused += [f"{nodes}:{node}" for node in told - bad.keys()]
            accused += [f"{nodes}:{leaf}" for leaf in switches - {f"s{one}" for one in uplinks}]
            sound += nodes - len(bad)
    yield share("bad nodes, found", bad_found, bad_all, 0.99)
    yield share("bad uplinks of leaf switches, found", leaf_found, leaf_all, 0.95)
    yield none(f"sound nodes or switches accused, of {sound} nodes", accused)
    yield most("rounds", rounds, 7)
    what = "16 ranks over srun: the slow and the hung one named"
    yield tests(what, _REAL) if setting.heavy else skipped(what, "--light")

"""Runs of pairs for tests of what is said of them."""

from __future__ import annotations

from rocdoctor.fleet.net.net_run import NetRun
from rocdoctor.fleet.net.pair_judge import judge_pairs
from rocdoctor.fleet.net.pair_rounds import PairRounds
from tests.fleet.kit import NOW
from tests.fleet.net_kit import NetWorld


def run_of(world: NetWorld, at: int = NOW) -> NetRun:
    """The run of a network, its nodes called n0, n1, ..."""
    results = world.results()
    names = tuple(f"n{node}" for node in range(world.nodes))
    gone = dict.fromkeys(world.hung, "did not finish in time")
    opened = PairRounds(range(world.nodes), {}, 0).open_rounds
    verdict = judge_pairs(range(world.nodes), results, world.leaves(), gone, opened)
    rounds = tuple((sum(one.round == n for one in results), 2.0) for n in range(world.rounds))
    faces = dict.fromkeys(range(world.nodes), "eth0")
    return NetRun(names, at, world.seed, world.leaves(), verdict, tuple(results), gone, faces, rounds)

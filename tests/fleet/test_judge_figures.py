"""Slow GPUs among their equals: how many looks it takes, and who is not judged."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from rocdoctor.fleet.statistics import confirmed, suspects, usual
from tests.fleet.kit import FleetRounds, node


def _figures(random: Random, slow: dict[str, float], nodes: int = 40) -> dict[str, list[float]]:
    return {
        f"n{n}": [random.gauss(600, 3) * (slow.get(f"n{n}", 1.0) if gpu == 4 else 1.0) for gpu in range(8)]
        for n in range(nodes)
    }


def test_a_slow_gpu_is_tested_after_three_looks() -> None:
    random, fleet = Random(3), FleetRounds(40)
    said = []
    for _ in range(3):
        values = _figures(random, {"n7": 0.9})
        fleet.round(*(node(name, figures={"matmul_bf16_tflops": tuple(row)}) for name, row in values.items()))
        said.append((fleet.said("n7"), fleet.verdict.look_again))
    assert said[0] == (("well", "none"), ("n7",))
    assert said[2] == (("slow", "test"), ())
    assert fleet.verdict.nodes[0].reasons[0].gpu == 4
    assert [one.node for one in fleet.verdict.nodes] == ["n7"]


def test_a_look_at_the_suspects_alone_is_measured_by_the_look_at_all() -> None:
    """Eight nodes that are slow as a whole are as fast as each other."""
    random, fleet = Random(4), FleetRounds(40)
    slow = {f"n{n}": 0.85 for n in range(8)}
    for looked in (range(40), range(8), range(8)):
        values = _figures(random, {})
        rows = {f"n{n}": tuple(one * slow.get(f"n{n}", 1.0) for one in values[f"n{n}"]) for n in looked}
        fleet.round(*(node(name, figures={"matmul_bf16_tflops": row}) for name, row in rows.items()))
    assert sorted(one.node for one in fleet.verdict.nodes if one.proposal == "test") == sorted(slow)


def test_one_good_look_ends_a_suspicion() -> None:
    random, fleet = Random(5), FleetRounds(40)
    for slow in ({"n7": 0.9}, {"n7": 0.9}, {}, {"n7": 0.9}):
        values = _figures(random, slow)
        fleet.round(*(node(name, figures={"matmul_bf16_tflops": tuple(row)}) for name, row in values.items()))
    assert fleet.said("n7") == ("well", "none")


def test_a_node_that_claims_many_gpus_hides_no_slow_one() -> None:
    rows: dict[str, list[float]] = _figures(Random(6), {"n2": 0.9}, nodes=6)
    rows["n9"] = [1.0, 1000.0] * 128
    among = usual(rows)
    assert among is not None
    assert ("n2", 4) in {(one.node, one.gpu) for one in suspects(rows, among)}


def test_figures_that_are_no_rates_and_too_few_nodes_are_not_judged() -> None:
    assert usual({f"n{n}": [1.0, 2.0] for n in range(4)}) is None
    fleet = FleetRounds(4)
    for _ in range(3):
        fleet.round(
            *(node(f"n{n}", figures={"matmul_bf16_tflops": (1.0 + n,) * 8, "heat_c": (9.0,) * 8}) for n in range(4))
        )
    assert fleet.verdict.nodes == ()


@pytest.mark.parametrize("seed", [1, 2])
def test_slow_gpus_of_a_large_fleet(seed: int) -> None:
    """Two thousand nodes, spreads as in tools/fleet_world.py: what is planted is found, and nobody else."""
    random = Random(seed)
    names = [f"n{n}" for n in range(2000)]
    true = {}
    for name in names:
        middle = random.gauss(600, 6)
        true[name] = [middle * random.gauss(1, 0.008) for _ in range(8)]
    planted = {name: (0.93, 0.90, 0.85)[n % 3] for n, name in enumerate(random.sample(names, 90))}
    for name, share in planted.items():
        true[name][3] *= share

    def sweep(who: Sequence[str]) -> dict[str, list[float]]:
        return {name: [one * random.gauss(1, 0.007) for one in true[name]] for name in who}

    first = sweep(names)
    among = usual(first)
    assert among is not None
    again = sorted({one.node for one in suspects(first, among)})
    assert len(again) * 2 < 0.1 * len(names) + 2 * len(planted)
    looks = [first, sweep(again), sweep(again)]
    slow = {name: found for name in again if (found := confirmed([(one, among) for one in looks], name))}
    assert set(slow) <= set(planted)
    assert all([one.gpu for one in found] == [3] for found in slow.values())
    caught = {share: sum(planted[name] == share for name in slow) for share in (0.93, 0.90, 0.85)}
    assert caught[0.85] == 30
    assert caught[0.90] >= 29
    assert caught[0.93] >= 27

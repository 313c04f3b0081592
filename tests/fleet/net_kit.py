"""Networks that are not there: what pairs of nodes would measure, with planted faults."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from random import Random

from rocdoctor.fleet.net.pair_judge import NetVerdict, judge_pairs
from rocdoctor.fleet.net.pair_rounds import PairRounds
from rocdoctor.train.smoke.nodes.pair_results import PairResult

FULL = 90_000.0


@dataclass
class NetWorld:
    """``nodes`` on leaves of ``leaf`` nodes (0: no leaves).

    ``bad``: by node the share of the rate that it carries (0: it cannot be reached); ``uplinks``: the same by leaf, of
    pairs across; ``pairs``: by pair; ``hung``: never report; ``liars``: report that rate for whatever comes to them.
    ``congested``: share of pairs that are slow by chance; ``noise``: standard deviation of a measurement.
    """

    nodes: int
    leaf: int = 0
    seed: int = 1
    bad: Mapping[int, float] = field(default_factory=dict)
    uplinks: Mapping[int, float] = field(default_factory=dict)
    pairs: Mapping[frozenset[int], float] = field(default_factory=dict)
    hung: Collection[int] = ()
    liars: Mapping[int, float] = field(default_factory=dict)
    congested: float = 0.01
    noise: float = 0.03
    full: float = FULL
    told: bool = True  # whether the leaves are known to the run
    rounds: int = 0

    def leaf_of(self, node: int) -> int:
        """The leaf that a node hangs on."""
        return node // self.leaf if self.leaf else 0

    def leaves(self) -> dict[int, str]:
        """What the run is told of leaves."""
        return {node: f"s{self.leaf_of(node)}" for node in range(self.nodes)} if self.leaf and self.told else {}

    def measure(self, a: int, b: int, number: int, random: Random) -> PairResult:
        """What node a says of the way to b."""
        share = self.bad.get(a, 1.0) * self.bad.get(b, 1.0) * self.pairs.get(frozenset((a, b)), 1.0)
        if self.leaf_of(a) != self.leaf_of(b):
            share *= 0.8 * min(self.uplinks.get(self.leaf_of(one), 1.0) for one in (a, b))
        if random.random() < self.congested:
            share *= random.uniform(0.3, 0.75)
        rate = max(1.0, self.full * share * random.gauss(1.0, self.noise))
        if a in self.hung:
            return PairResult(a, b, number, "silent")
        if share == 0.0 or b in self.hung:
            return PairResult(a, b, number, "failed", why="no answer")
        back = rate * random.uniform(1.0, 1.05)
        out, back = self.liars.get(b, rate), self.liars.get(a, back)  # each end says what came to it
        return PairResult(a, b, number, "measured", out, back, {64: 30 / max(share, 0.01)})

    def results(self) -> list[PairResult]:
        """All rounds; ``rounds`` counts them."""
        random = Random(self.seed)
        plan = PairRounds(range(self.nodes), self.leaves(), self.seed)
        results: list[PairResult] = []
        while pairs := plan.next(results, gone=self.hung if self.rounds else ()):
            ends = [node for pair in pairs for node in pair]
            assert len(ends) == len(set(ends)), "a node is in two pairs at once"
            results += [self.measure(a, b, self.rounds, random) for a, b in pairs]
            self.rounds += 1
        return results

    def judged(self) -> NetVerdict:
        """All rounds, and the verdict."""
        results = self.results()
        opened = PairRounds(range(self.nodes), self.leaves(), self.seed).open_rounds
        return judge_pairs(range(self.nodes), results, self.leaves(), self.hung, opened)


def named(found: NetVerdict) -> list[int]:
    """The nodes that are named."""
    return [one.node for one in found.of_state("slow", "unreachable")]

"""Who measures with whom: rounds of disjoint pairs, each made from what came before it. Pure.

Up to eight nodes meet each other once (circle method). Of more, all meet three partners: one on their own leaf switch
where leaves are known, the others at random across leaves. Whoever was fast with nobody then meets two nodes that were
fast with somebody, and two of those that were fast with nobody: seven rounds at most for any number of nodes.
"""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from random import Random

from rocdoctor.fleet.net.pair_usual import meetings, usual_of
from rocdoctor.train.smoke.nodes.pair_results import PairResult

ALL_PAIRS = 8  # nodes up to which all pairs take no more than seven rounds
OPEN_ROUNDS = 3
_TWICE = 4  # nodes up to which each pair measures twice, for so few tell nothing of chance
PROOFS, _AMONG = 2, 2
_TRIES = 4
_BESIDE = 16

Pair = tuple[int, int]


class PairRounds:
    """The rounds of one run over ``nodes``; ``leaves``: the leaf switch of each node that has a known one."""

    def __init__(self, nodes: Sequence[int], leaves: Mapping[int, str], seed: int, open_rounds: int = OPEN_ROUNDS):
        self.nodes, self.leaves = sorted(set(nodes)), dict(leaves)
        self.seed = seed
        self.open_rounds = None if len(self.nodes) <= ALL_PAIRS else open_rounds
        self.number = 0  # of the next round

    def next(self, results: Sequence[PairResult], gone: Collection[int] = ()) -> list[Pair]:
        """The pairs of the next round, (who measures, with whom); none at the end.

        ``results`` are those of all rounds so far, ``gone`` nodes that are there no more.
        """
        there = [node for node in self.nodes if node not in gone]
        random = Random(f"{self.seed} {self.number}")
        if self.open_rounds is None:
            found = self._circle(there)
        elif self.number < self.open_rounds:
            met = {frozenset(one.ends) for one in results}
            sizes = Counter(self.leaves[node] for node in there if node in self.leaves)
            inside = self.number == 0 and len(sizes) > 1 and max(sizes.values()) > 1
            found = self._inside(there, random) if inside else self._across(there, met, results, random)
        else:
            found = self._suspects(there, results, random, self.open_rounds)
        self.number += 1
        return [(a, b) if random.random() < 0.5 else (b, a) for a, b in found]

    def _circle(self, there: Sequence[int]) -> list[Pair]:
        """The next round of the circle method in which anybody meets; with an odd number of nodes one rests."""
        seats: list[int | None] = [*self.nodes, *([None] if len(self.nodes) % 2 else [])]
        once = len(seats) - 1
        while self.number < (2 * once if len(seats) <= _TWICE else once):
            turn = self.number % once
            ring = [seats[0], *seats[1 + turn :], *seats[1 : 1 + turn]]
            both = [(ring[at], ring[-1 - at]) for at in range(len(ring) // 2)]
            pairs = [(a, b) for a, b in both if a is not None and b is not None and a in there and b in there]
            if pairs:
                return pairs
            self.number += 1
        return []

    def _inside(self, there: Sequence[int], random: Random) -> list[Pair]:
        """Partners on one leaf; who is left over on his own meets another such."""
        by_leaf: dict[str, list[int]] = {}
        for node in there:
            by_leaf.setdefault(self.leaves.get(node, ""), []).append(node)
        found: list[Pair] = []
        left: list[int] = []
        for members in by_leaf.values():
            random.shuffle(members)
            left += members[len(members) // 2 * 2 :]
            found += zip(members[0 : len(members) // 2 * 2 : 2], members[1::2], strict=False)
        random.shuffle(left)
        return [*found, *zip(left[0 : len(left) // 2 * 2 : 2], left[1::2], strict=False)]

    def _across(
        self, there: Sequence[int], met: Collection[frozenset[int]], results: Sequence[PairResult], random: Random
    ) -> list[Pair]:
        """Partners at random: on different leaves and such as have not met, as far as some tries find them."""
        order = list(there)
        random.shuffle(order)
        if len(order) % 2:  # who has met the most rests
            meetings = Counter(node for one in results for node in one.ends)
            order.remove(max(order, key=lambda node: meetings[node]))
        half = len(order) // 2
        pairs = list(zip(order[:half], order[half:], strict=True))

        def fits(pair: Pair) -> bool:
            a, b = (self.leaves.get(node) for node in pair)
            return frozenset(pair) not in met and (a is None or a != b)

        for _ in range(_TRIES):
            poor = [at for at, pair in enumerate(pairs) if not fits(pair)]
            for at in poor:
                other = random.randrange(half)
                one, two = (pairs[at][0], pairs[other][1]), (pairs[other][0], pairs[at][1])
                if other != at and fits(one) and (fits(two) or not fits(pairs[other])):
                    pairs[at], pairs[other] = one, two
        return pairs

    def _suspects(
        self, there: Sequence[int], results: Sequence[PairResult], random: Random, open_rounds: int
    ) -> list[Pair]:
        """First with proven partners, then among themselves: whom a shared path slows is fast with the next."""
        step = self.number - open_rounds
        early = [one for one in results if one.round < open_rounds + PROOFS]
        known = meetings(early, usual_of(results, self.leaves, open_rounds), self.leaves)
        slow = known.doubtful(there)
        if not slow or step >= PROOFS + _AMONG:
            return []
        if step < PROOFS:
            proven = [node for node in there if node in known.fast]
            return self._proofs(slow, proven, {frozenset(one.ends) for one in results}, random, below=step == 0)
        slow.sort(key=lambda node: (self.leaves.get(node, ""), node))
        shift = step - PROOFS
        return list(zip(slow[shift::2], slow[shift + 1 :: 2], strict=False))

    def _proofs(
        self,
        slow: Sequence[int],
        proven: Sequence[int],
        met: Collection[frozenset[int]],
        random: Random,
        *,
        below: bool,
    ) -> list[Pair]:
        """Each suspect with a proven node that it has not met: of its own leaf, or else the next in number.

        Where leaves are not known, neighbours in number on either side are the likeliest to share one.
        """
        far = list(proven)
        random.shuffle(far)
        by_leaf: dict[str, list[int]] = {}
        for node in far:
            if node in self.leaves:
                by_leaf.setdefault(self.leaves[node], []).append(node)
        taken: set[int] = set()
        found: list[Pair] = []
        for node in slow:
            leaf = self.leaves.get(node)
            at = bisect(proven, node)
            sides = (proven[max(0, at - _BESIDE) : at][::-1], proven[at : at + _BESIDE])
            beside = [*sides[not below], *sides[below]] if leaf is None else by_leaf.get(leaf, ())
            for other in (*beside, *far):
                if other not in taken and frozenset((node, other)) not in met:
                    taken.add(other)
                    found.append((node, other))
                    break
        return found

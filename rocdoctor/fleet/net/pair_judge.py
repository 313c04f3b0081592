"""Who slows a network down: a node, a leaf switch, a pair, or all; from the pairs of a run. Pure.

A node is named only where it was fast with nobody and slow with two partners that were fast with others; on a leaf that
is known, one of them on the same leaf. What many nodes show at once has a shared cause, and names none of them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from rocdoctor.fleet.net.pair_rounds import PROOFS
from rocdoctor.fleet.net.pair_usual import Meetings, PairUsual, meetings, usual_of
from rocdoctor.train.smoke.nodes.pair_results import SMALL_BYTES, PairResult

# Our judgement; docs/fleet.md has what they reached in simulated networks.
_PARTNERS = 2
_COMMON_SHARE, _COMMON_FEWEST = 0.10, 3
_LEAF_SHARE, _LEAF_FEWEST = 0.30, 4
_BESIDE, _ALIKE, _NEXT = 16, 0.05, 4

NodeState = Literal["well", "slow", "unreachable", "path", "silent", "undecided"]
"""well: fast with somebody. slow, unreachable: named. path: fast with a neighbour that is slow elsewhere too, or on a
leaf that is named. silent: no report in time. undecided: too few partners that are proven."""
_NAMED: tuple[NodeState, ...] = ("slow", "unreachable")
_ODD: tuple[NodeState, ...] = ("slow", "unreachable", "path", "undecided")


@dataclass(frozen=True, slots=True)
class JudgedNode:
    """``share``: what its best pair carries of what is usual; ``with_proven``: slow with so many proven partners.

    ``rate``, ``rtt_us``: of its best pair, in Mbit/s, and its shortest time there and back; None where not known.
    """

    node: int
    state: NodeState
    share: float | None = None
    rate: float | None = None
    rtt_us: float | None = None
    with_proven: int = 0


@dataclass(frozen=True, slots=True)
class JudgedLeaf:
    """Of ``pairs`` between sound nodes of this leaf and of others, ``slow`` were slow; ``named``: it is the cause."""

    leaf: str
    slow: int
    pairs: int
    named: bool


@dataclass(frozen=True, slots=True)
class NetVerdict:
    """``common``: how many nodes would have been named, had they not been too many; ``uneven``: nothing can be told.

    ``slow_pairs``: slow although both ends were fast with others, and no leaf that is named lies between.
    """

    usual: PairUsual
    nodes: tuple[JudgedNode, ...]
    leaves: tuple[JudgedLeaf, ...]
    slow_pairs: tuple[PairResult, ...]
    common: int = 0
    uneven: bool = False

    def of_state(self, *names: NodeState) -> list[JudgedNode]:
        """The nodes of some states."""
        return [one for one in self.nodes if one.state in names]


def judge_pairs(
    nodes: Sequence[int],
    results: Sequence[PairResult],
    leaves: Mapping[int, str],
    gone: Collection[int] = (),
    open_rounds: int | None = None,
) -> NetVerdict:
    """The verdict on all ``nodes``; ``gone``: those that did not come, or were lost on the way."""
    usual = usual_of(results, leaves, open_rounds)
    known = meetings(results, usual, leaves)
    early = [one for one in results if open_rounds is None or one.round < open_rounds + PROOFS]
    sure = meetings(early, usual, leaves)
    suspects = set(sure.doubtful(nodes))
    found_leaves = _leaves(results, usual, leaves, suspects)
    bad = frozenset(one.leaf for one in found_leaves if one.named)
    mute = frozenset((*gone, *_mute(nodes, results)))
    seen = _Seen(tuple(nodes), usual, known, sure, leaves, mute, bad)
    by_node: dict[int, list[PairResult]] = {}
    for one in results:
        for node in one.ends:
            by_node.setdefault(node, []).append(one)
    judged = [_node(node, by_node.get(node, ()), seen) for node in nodes]
    named = [one for one in judged if one.state in _NAMED]
    too_many = len(named) >= _COMMON_FEWEST and len(named) > _COMMON_SHARE * len(nodes)
    if usual.uneven or too_many:
        judged = [_undecided(one) if one in named else one for one in judged]
    common = len(named) if too_many and not usual.uneven else 0
    judged = _like_neighbours(judged, leaves, known)
    pairs = [
        one
        for one in results
        if usual.fast(one, leaves) is False
        and not suspects.intersection(one.ends)
        and not mute.intersection(one.ends)
        and not (leaves.get(one.a) != leaves.get(one.b) and bad.intersection((leaves.get(one.a), leaves.get(one.b))))
    ]
    return NetVerdict(usual, tuple(judged), found_leaves, () if usual.uneven else tuple(pairs), common, usual.uneven)


@dataclass(frozen=True, slots=True)
class _Seen:
    """What is known beside a node's own pairs. ``sure``: meetings before suspects met each other."""

    nodes: tuple[int, ...]
    usual: PairUsual
    known: Meetings
    sure: Meetings
    leaves: Mapping[int, str]
    mute: frozenset[int]
    bad: frozenset[str]

    def convinces(self, node: int, proven: Collection[int]) -> bool:
        """Whether it was slow with proven nodes that share a switch with it, as far as can be known."""
        leaf = self.leaves.get(node)
        if leaf is None:
            return _both_sides(node, proven, self.nodes)
        own = sum(self.leaves.get(other) == leaf for other in proven)
        if leaf in self.bad:  # what it was across its leaf says nothing of it
            return own >= _PARTNERS
        return own > 0 or not any(self.leaves.get(other) == leaf for other in self.nodes if other != node)


def _undecided(one: JudgedNode) -> JudgedNode:
    return JudgedNode(one.node, "undecided", one.share, one.rate, one.rtt_us, one.with_proven)


def _like_neighbours(judged: Sequence[JudgedNode], leaves: Mapping[int, str], known: Meetings) -> list[JudgedNode]:
    """Where leaves are not known, who is slow as a neighbour in number is may share a bad switch with it.

    Not with one with which it was slow: on a switch that they share they would be fast.
    """
    odd = {one.node: one for one in judged if one.state in _ODD}
    found: list[JudgedNode] = []
    for one in judged:
        share = one.share or 0.0
        apart = {one.node, *known.slow.get(one.node, ())}
        near = [odd[at] for at in range(one.node - _BESIDE, one.node + _BESIDE + 1) if at not in apart and at in odd]
        alike = any(each.state == "path" or abs((each.share or 0.0) - share) <= _ALIKE for each in near)
        named = one.state in _NAMED and one.node not in leaves
        found.append(_undecided(one) if named and alike else one)
    return found


def _mute(nodes: Sequence[int], results: Sequence[PairResult]) -> set[int]:
    """Nodes that never gave a report of what they were to measure."""
    told = {one.a for one in results if one.state != "silent"}
    asked = {one.a for one in results if one.state == "silent"}
    return asked.intersection(nodes) - told


def _node(node: int, pairs: Sequence[PairResult], seen: _Seen) -> JudgedNode:
    shares = [(share, one.rate) for one in pairs if (share := seen.usual.share(one, seen.leaves)) is not None]
    share, rate = max(shares, key=lambda one: one[0], default=(None, None))
    rtt = min((one.rtt_us[SMALL_BYTES] for one in pairs if SMALL_BYTES in one.rtt_us), default=None)
    proven = {other for other in seen.known.slow.get(node, ()) if _proven(other, node, seen.sure)}

    def told(state: NodeState) -> JudgedNode:
        return JudgedNode(node, state, share, rate, rtt, len(proven))

    if node in seen.mute:
        return told("silent")
    if node in seen.known.fast:
        # Fast only with such as are slow elsewhere too: what slows both lies on the way, not in them.
        good = seen.sure.fast.get(node, ())
        only_slow = not any(_proven(other, node, seen.sure) for other in good)
        return told("path" if only_slow and len(proven) >= _PARTNERS else "well")
    if len(proven) < _PARTNERS or not seen.convinces(node, proven):
        return told("path" if seen.leaves.get(node) in seen.bad else "undecided")
    return told("slow" if any(one.state == "measured" for one in pairs) else "unreachable")


def _both_sides(node: int, proven: Collection[int], nodes: Sequence[int]) -> bool:
    """Whether some of them are next to it in number, below and above: one of these is likely on its switch."""
    below = any(0 < node - other <= _NEXT for other in proven) or node == min(nodes)
    return below and (any(0 < other - node <= _NEXT for other in proven) or node == max(nodes))


def _proven(node: int, apart_from: int, known: Meetings) -> bool:
    """Whether a node was fast with somebody else."""
    return any(other != apart_from for other in known.fast.get(node, ()))


def _leaves(
    results: Sequence[PairResult], usual: PairUsual, leaves: Mapping[int, str], suspects: set[int]
) -> tuple[JudgedLeaf, ...]:
    """The share of slow pairs across each leaf's uplink; the worst first, its pairs then count against no other."""
    across = [
        (leaves[one.a], leaves[one.b], fast)
        for one in results
        if leaves.get(one.a) is not None
        and leaves.get(one.b) is not None
        and leaves[one.a] != leaves[one.b]
        and not suspects.intersection(one.ends)
        and (fast := usual.fast(one, leaves)) is not None
    ]
    found: dict[str, JudgedLeaf] = {}
    while not usual.uneven:
        counts = _counted(across, found)
        many = [(slow / pairs, leaf) for leaf, (slow, pairs) in counts.items() if _too_many(slow, pairs)]
        if not many:
            found |= {leaf: JudgedLeaf(leaf, slow, pairs, False) for leaf, (slow, pairs) in counts.items()}
            break
        worst = max(many)[1]
        found[worst] = JudgedLeaf(worst, *counts[worst], True)
    return tuple(sorted(found.values(), key=lambda one: (not one.named, -one.slow / one.pairs, one.leaf)))


def _too_many(slow: int, pairs: int) -> bool:
    return slow >= max(_LEAF_FEWEST, _LEAF_SHARE * pairs)


def _counted(across: Sequence[tuple[str, str, bool]], without: Collection[str]) -> dict[str, tuple[int, int]]:
    """By leaf (slow, all) of the pairs that touch none of the leaves in ``without``."""
    slow: dict[str, int] = {}
    count: dict[str, int] = {}
    for a, b, fast in across:
        if a not in without and b not in without:
            for leaf in (a, b):
                count[leaf] = count.get(leaf, 0) + 1
                slow[leaf] = slow.get(leaf, 0) + (not fast)
    return {leaf: (slow[leaf], many) for leaf, many in count.items()}

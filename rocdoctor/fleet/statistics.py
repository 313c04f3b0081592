"""Slow GPUs among equals: a GPU beside those of its node, and a node beside those of its group.

Two scales, because nodes differ by more than GPUs of one node do (cooling, supply, firmware), and a GPU that is slow by
a little is seen only beside its neighbours. Robust figures (median and median deviation), because the slow ones
are in the sample. A first look only suspects; slow is what three looks show.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from rocdoctor.model.lazy_re import regex

# Chosen in simulation (tools/fleet_world.py makes such fleets); docs/fleet.md has what they reach.
FEWEST_NODES = 5  # of fewer there is no usual
LOOKS = 3
_SUSPECT_SHARE, _SLOW_SHARE = 0.03, 0.04
# In median deviations. Shares of a node's median lie closer to it than a normal distribution has them, and there are
# many more GPUs than nodes: the bounds of GPUs are wider.
_SUSPECT_GPU, _SUSPECT_NODE = 6.0, 4.5
_SLOW_GPU, _SLOW_NODE = 8.4, 7.2
_RATE = regex(r"_(?:tflops|gb_s|gib_s|samples_s|tokens_s)\Z")

Sweep = Mapping[str, Sequence[float | None]]
"""One look: the figure of each GPU by node."""


@dataclass(frozen=True, slots=True)
class Usual:
    """What is usual in a group: the node's figure, and that of a GPU as a share of its node's; with their spread."""

    node: float
    node_spread: float
    share: float
    share_spread: float


@dataclass(frozen=True, slots=True)
class Slow:
    """A GPU, or with None the whole node, that is slower than is usual: ``share`` is 0.93 for seven percent less."""

    node: str
    gpu: int | None
    share: float


def is_rate(name: str) -> bool:
    """Whether more of this figure is better, as its name says; others are not judged."""
    return _RATE.search(name) is not None


def usual(sweep: Sweep) -> Usual | None:
    """What is usual among the nodes of one group; None where they are too few."""
    medians = {node: _median(values) for node, values in sweep.items()}
    known = {node: value for node, value in medians.items() if value}
    if len(known) < FEWEST_NODES:
        return None
    # A node that claims more GPUs than its equals has no more voices than they have.
    voices = Counter(len(sweep[node]) for node in known).most_common(1)[0][0]
    shares = [one / known[node] for node in known for one in sweep[node][:voices] if one is not None]
    middle, share = median(known.values()), median(shares)
    return Usual(
        middle,
        deviation(list(known.values()), middle) / middle,
        share,
        deviation(shares, share) / share,
    )


def suspects(sweep: Sweep, among: Usual) -> list[Slow]:
    """Who is to be looked at again."""
    node_floor = 1 - max(_SUSPECT_SHARE, _SUSPECT_NODE * among.node_spread)
    gpu_floor = 1 - max(_SUSPECT_SHARE, _SUSPECT_GPU * among.share_spread)
    return [one for one in _all(sweep, among) if one.share < (node_floor if one.gpu is None else gpu_floor)]


def confirmed(looks: Sequence[tuple[Sweep, Usual]], node: str) -> list[Slow]:
    """What of a node is slow in each of the last looks, and by more than chance in their mean.

    A GPU at the edge of what is usual falls under the first bound now and then; that its mean does is far rarer.
    """
    looks = looks[-LOOKS:]
    if len(looks) < LOOKS:
        return []
    rows = [{one.gpu: one.share for one in suspects({node: sweep.get(node, ())}, among)} for sweep, among in looks]
    found: list[Slow] = []
    for gpu in set.intersection(*(set(row) for row in rows)):
        share = sum(row[gpu] for row in rows) / len(rows)
        bound = max(_SLOW_NODE * one.node_spread if gpu is None else _SLOW_GPU * one.share_spread for _, one in looks)
        if share < 1 - max(_SLOW_SHARE, bound):
            found.append(Slow(node, gpu, share))
    return sorted(found, key=lambda one: (one.gpu is not None, one.gpu or 0))


def _all(sweep: Sweep, among: Usual) -> list[Slow]:
    found: list[Slow] = []
    for node, values in sweep.items():
        middle = _median(values)
        if not middle:
            continue
        found.append(Slow(node, None, middle / among.node))
        if sum(one is not None for one in values) > 2:  # of two nobody knows which one is slow
            found += [Slow(node, n, one / middle / among.share) for n, one in enumerate(values) if one is not None]
    return found


def _median(values: Sequence[float | None]) -> float | None:
    known = [one for one in values if one is not None]
    return median(known) if known else None


def deviation(values: Sequence[float], middle: float) -> float:
    """How far values lie from their middle, in the median."""
    return median(abs(one - middle) for one in values)

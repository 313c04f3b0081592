"""What is usual between two nodes of a run, and which pairs are fast by it. Pure.

Pairs are compared with pairs of the same kind: on one leaf switch or across, and of interfaces that say the same speed.
Of each node its best pair counts, as a share of what the better pairs of that kind carry: a sound node shows what it
can do with whichever partner is sound, so half of the nodes may be bad before what is usual moves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median, median_high

from rocdoctor.fleet.statistics import deviation
from rocdoctor.train.smoke.nodes.pair_results import SMALL_BYTES, PairResult

# Our judgement; docs/fleet.md has what they reached in simulated networks.
_SLOW_SHARE, _DEVIATIONS, _UNEVEN = 0.20, 6.0, 0.5
_APART, _APART_OF_FEW, _FEW, _AGAIN = 4.0, 5.0, 8, 2.0
_LATE_TIMES, _LATE_MORE_US = 5.0, 1000.0
_GAP, _CLEAR, _REST = 1.5, 1.2, 3
_FEWEST = 8  # pairs from which on a kind has a usual of its own

Kind = tuple[bool, int]


@dataclass(frozen=True, slots=True)
class PairUsual:
    """``rates``: by kind, what the better pairs carry in Mbit/s; a pair below ``floor`` of that is slow.

    One whose short messages take longer than ``late_us`` is slow too. ``uneven``: sound pairs differ by so much that no
    pair can be called slow.
    """

    rates: Mapping[Kind, float]
    floor: float
    late_us: float | None
    uneven: bool

    def share(self, one: PairResult, leaves: Mapping[int, str]) -> float | None:
        """What a pair carries, as a share of what is usual; None where either is not known."""
        rate = one.rate
        usual = self.rates.get(kind_of(one, leaves)) or self.rates.get(_ANY)
        return None if rate is None or not usual else rate / usual

    def fast(self, one: PairResult, leaves: Mapping[int, str]) -> bool | None:
        """Whether a pair is as usual; None where nothing is known of it."""
        share = self.share(one, leaves)
        if share is None:
            return None
        rtt = one.rtt_us.get(SMALL_BYTES)
        late = rtt is not None and self.late_us is not None and rtt > self.late_us
        return share >= self.floor and not late


_ANY: Kind = (False, -1)


def shown_rates(among: PairUsual) -> list[tuple[bool | None, int | None, float]]:
    """(on one leaf, what the slower interface says, Mbit/s) of each kind; of few pairs one of all kinds."""
    kinds = [(same, speed or None, rate) for (same, speed), rate in sorted(among.rates.items()) if speed >= 0]
    return [*kinds] or [(None, None, rate) for rate in among.rates.values()]


def kind_of(one: PairResult, leaves: Mapping[int, str]) -> Kind:
    """Whether it is on one leaf, and the speed that the slower interface says (0: not told)."""
    a, b = leaves.get(one.a), leaves.get(one.b)
    return a is not None and a == b, one.speed_mbit_s or 0


def usual_of(results: Sequence[PairResult], leaves: Mapping[int, str], open_rounds: int | None = None) -> PairUsual:
    """What is usual in the rounds in which all met; in later ones suspects are many."""
    seen = [one for one in results if one.rate is not None and (open_rounds is None or one.round < open_rounds)]
    if not seen:
        return PairUsual({}, 0.0, None, True)
    by_kind: dict[Kind, list[float]] = {_ANY: []}
    for one in seen:
        rate = one.rate
        assert rate is not None
        by_kind.setdefault(kind_of(one, leaves), []).append(rate)
        by_kind[_ANY].append(rate)
    rates = {kind: _better(many) for kind, many in by_kind.items() if kind == _ANY or len(many) >= _FEWEST}
    rates = {kind: rate for kind, rate in rates.items() if rate > 0}
    raw = PairUsual(rates, 0.0, None, False)
    bests, firsts = _bests(raw, seen, leaves)
    if not bests:
        return PairUsual({}, 0.0, None, True)
    middle = median_high(bests.values())
    wide = _spread(raw, seen, leaves, bests, middle) / middle if middle else 1.0
    usual_rtt = median(firsts.values()) if firsts else None
    late = None if usual_rtt is None else max(_LATE_TIMES * usual_rtt, usual_rtt + _LATE_MORE_US)
    floor = 0.0 if wide > _UNEVEN else middle * (1 - max(_SLOW_SHARE, wide))
    gap = _gap(raw, seen, leaves, bests) if wide > _SLOW_SHARE else None
    return PairUsual(rates, max(floor, gap or 0.0), late, wide > _UNEVEN and gap is None)


def _gap(
    among: PairUsual, seen: Sequence[PairResult], leaves: Mapping[int, str], bests: Mapping[int, float]
) -> float | None:
    """Where few nodes lie far below all others, however much these differ: a share between them, else None."""
    ordered = sorted(bests.items(), key=lambda item: item[1])
    most = max(1, len(ordered) // _FEW)
    steps = [(ordered[at][1] / max(ordered[at - 1][1], 1e-9), at) for at in range(1, min(most, len(ordered) - 1) + 1)]
    step, at = max(steps, default=(0.0, 0))
    low = {node for node, _ in ordered[:at]}
    rest = sorted(
        share for one in seen if not low.intersection(one.ends) and (share := among.share(one, leaves)) is not None
    )
    if step < _GAP or len(rest) < _REST:
        return None
    below, above = ordered[at - 1][1], min(_at(rest, 0.05), ordered[at][1])
    return (max(below, above / 10) * above) ** 0.5 if above >= _CLEAR * below else None


def _spread(
    among: PairUsual,
    seen: Sequence[PairResult],
    leaves: Mapping[int, str],
    bests: Mapping[int, float],
    middle: float,
) -> float:
    """By how much sound pairs may well differ: by the nodes' best, by the better pairs, and by those measured twice."""
    by_pair: dict[frozenset[int], list[float]] = {}
    for one in seen:
        if (share := among.share(one, leaves)) is not None:
            by_pair.setdefault(frozenset(one.ends), []).append(share)
    shares = sorted(share for many in by_pair.values() for share in many)
    times = _APART_OF_FEW if len(bests) <= _FEW else _APART
    better = times * (_at(shares, 0.95) - _at(shares, 0.70))
    again = max((_AGAIN * (max(many) - min(many)) for many in by_pair.values() if len(bests) <= _FEW), default=0.0)
    return max(_DEVIATIONS * deviation(list(bests.values()), middle), better, again)


def _bests(
    among: PairUsual, seen: Sequence[PairResult], leaves: Mapping[int, str]
) -> tuple[dict[int, float], dict[int, float]]:
    """By node the share that its best pair carries, and its shortest time there and back."""
    bests: dict[int, float] = {}
    firsts: dict[int, float] = {}
    for one in seen:
        share, rtt = among.share(one, leaves), one.rtt_us.get(SMALL_BYTES)
        for node in one.ends:
            if share is not None:
                bests[node] = max(share, bests.get(node, 0.0))
            if rtt is not None:
                firsts[node] = min(rtt, firsts.get(node, rtt))
    return bests, firsts


def _at(ordered: Sequence[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def _better(rates: Sequence[float]) -> float:
    """Their upper tenth: where one uplink of three is bad, a third of the pairs across are sound.

    No node can raise it alone, since each end tells what came to it.
    """
    return _at(sorted(rates), 0.90)


@dataclass(frozen=True, slots=True)
class Meetings:
    """With whom each node was fast, with whom slow (a pair that failed is slow too). Nothing known is neither."""

    fast: Mapping[int, Sequence[int]]
    slow: Mapping[int, Sequence[int]]

    def doubtful(self, nodes: Sequence[int]) -> list[int]:
        """Those that were slow with somebody and fast with nobody."""
        return [node for node in nodes if node in self.slow and node not in self.fast]


def meetings(results: Sequence[PairResult], among: PairUsual, leaves: Mapping[int, str]) -> Meetings:
    """Who was fast and slow with whom."""
    fast: dict[int, list[int]] = {}
    slow: dict[int, list[int]] = {}
    for one in results:
        found = among.fast(one, leaves)
        if found is not None:
            for node in one.ends:
                (fast if found else slow).setdefault(node, []).append(one.other(node))
    return Meetings(fast, slow)

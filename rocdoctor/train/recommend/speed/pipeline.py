"""Pipeline schedules: who does what when, from which idle time and stored activations follow.

Orders of work are those of the public schedules: GPipe (Huang et al. 2019), 1F1B (Narayanan et al. 2019), interleaved
1F1B (Narayanan et al. 2021). They are played through; nothing is taken from a bubble formula. Zero-bubble schedules
(Qi et al. 2023) split the backward pass into input (B) and weight (W) halves; W fills the gaps.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

Op = tuple[str, int, int]  # "F" or "B", chunk of the rank, micro-batch

# A schedule of more operations is played with this many micro-batches and its idle time carried over.
_MOST_OPS = 6000
# Longer pipelines are not played but follow the closed form of their schedule.
_MOST_PLAYED = 40_000


@dataclass(frozen=True, slots=True)
class Schedule:
    """What a schedule costs: ``idle`` is lost time over working time; ``stored`` is the most chunks of activations that
    one rank keeps, each of 1/(p v) of the layers for one micro-batch."""

    name: str
    stages: int
    chunks: int
    microbatches: int
    idle: float
    stored: float


_NAMES = (
    (r"gpipe", "gpipe"),
    (r"interleav|loop|^vpp", "interleaved"),
    (r"zbv|dualpipe", "zbv"),
    (r"v-?half", "v-half"),
    (r"v-?min", "v-min"),
    (r"^zb|zero-?bubble", "zb1p"),
    (r"1f1b", "1f1b"),
)


def schedule_name(text: str, chunks: int) -> str | None:
    """The schedule that a text names (``Interleaved1F1B``, ``zbv``), by default 1F1B; None for one not known."""
    lowered = text.strip().lower()
    if not lowered:
        return "interleaved" if chunks > 1 else "1f1b"
    found = next((name for pattern, name in _NAMES if re.search(pattern, lowered)), None)
    return "interleaved" if found == "1f1b" and chunks > 1 else found


def orders(name: str, stages: int, chunks: int, microbatches: int) -> list[list[Op]]:
    """The order of work of every rank for GPipe, 1F1B and interleaved 1F1B."""
    p, v, m = stages, chunks, microbatches
    if name == "gpipe":
        one = [("F", c, i) for c in range(v) for i in range(m)] + [
            ("B", c, i) for c in reversed(range(v)) for i in range(m)
        ]
        return [list(one) for _ in range(p)]
    forward = [("F", c, i) for start in range(0, m, p) for c in range(v) for i in range(start, min(start + p, m))]
    backward = [("B", v - 1 - c, i) for _, c, i in forward]
    ranks: list[list[Op]] = []
    for rank in range(p):
        ahead = p - rank - 1 if v == 1 else (p - rank - 1) * 2 + (v - 1) * p
        ahead = min(ahead, len(forward))
        work: list[Op] = list(forward[:ahead])
        for i, back in enumerate(backward):
            if ahead + i < len(forward):
                work.append(forward[ahead + i])
            work.append(back)
        ranks.append(work)
    return ranks


def _play(work: Sequence[Sequence[Op]], chunks: int, costs: tuple[float, float]) -> float | None:
    """The time at which the last rank ends, or None for an order that deadlocks; ``costs`` of one F and one B."""
    p = len(work)
    done: dict[tuple[str, int, int], float] = {}
    clock, at = [0.0] * p, [0] * p
    left, last = sum(map(len, work)), p * chunks - 1
    while left:
        moved = False
        for rank in range(p):
            while at[rank] < len(work[rank]):
                kind, chunk, i = work[rank][at[rank]]
                stage = chunk * p + rank
                if kind == "F":
                    before = done.get(("F", stage - 1, i)) if stage else 0.0
                else:
                    before = done.get(("F", stage, i)) if stage == last else done.get(("B", stage + 1, i))
                if before is None:
                    break
                clock[rank] = max(clock[rank], before) + costs[kind == "B"]
                done[kind, stage, i] = clock[rank]
                at[rank] += 1
                left -= 1
                moved = True
        if not moved:
            return None
    return max(clock)


def _stored(work: Sequence[Sequence[Op]]) -> float:
    most = 0
    for one in work:
        now = 0
        for kind, _, _ in one:
            now += 1 if kind == "F" else -1
            most = max(most, now)
    return float(most)


@cache
def schedule(name: str, stages: int, chunks: int, microbatches: int, backward: float = 2.0) -> Schedule:
    """Idle time and stored activations of a schedule; ``backward`` is the time of B in units of F."""
    p, v, m = stages, max(1, chunks), max(1, microbatches)
    if p == 1:
        return Schedule(name, 1, v, m, 0.0, float(v))
    if name in {"zb1p", "zbv", "v-half", "v-min"}:
        return _zero_bubble(name, p, v, m, backward)
    if p * p * v > _MOST_PLAYED:
        ahead = {"gpipe": m * v, "1f1b": p}.get(name, 2 * (p - 1) + (v - 1) * p + 1)
        return Schedule(name, p, v, m, (p - 1) / (m * v), float(min(ahead, m * v)))
    played = m
    if m * p * v * 2 > _MOST_OPS:
        # Whole rounds of p, so that the lost time is that of the long run; idle time does not grow with rounds.
        played = max(p, min(m, _MOST_OPS // (2 * p * v)) // p * p) + m % p
    work = orders(name, p, v, played)
    end = _play(work, v, (1.0, backward))
    # A remainder of an incomplete round of micro-batches can deadlock the interleaved order: count a whole round.
    if end is None:
        played = -(-played // p) * p
        work = orders(name, p, v, played)
        end = _play(work, v, (1.0, backward))
    busy = played * v * (1 + backward)
    lost = max(0.0, (end if end is not None else busy * 2) - busy)
    stored = float(m * v) if name == "gpipe" else _stored(work)
    return Schedule(name, p, v, m, lost / (m * v * (1 + backward)), stored)


def _zero_bubble(name: str, p: int, v: int, m: int, backward: float) -> Schedule:
    """Idle F units of each schedule (Qi et al. 2023, 2024), stored chunks as AMD-AGI/Primus prints them.

    ZB-H1 leaves (p-1)(F + B - W), with B = W = backward/2; ZBV about none beyond the warm-up of half chunks; V-half and
    V-min trade idle time for memory. Figures for the V-shaped ones hold for two chunks a rank.
    """
    half = backward / 2
    if name == "zb1p":
        return Schedule(name, p, v, m, (p - 1) / (m * (1 + backward)), float(min(p, m) * v))
    chunks = 2
    lost = {"zbv": (p - 1) / 2, "v-half": (p - 1) * (1 + half) / 2, "v-min": (p - 1) * (1 + backward) * 2 / 3}[name]
    stored = {"zbv": p * 2.0, "v-half": p + 2.0, "v-min": 2 * p / 3 + 2.0}[name]
    return Schedule(name, p, chunks, m, lost / (m * (1 + backward)), min(stored, 2.0 * m))

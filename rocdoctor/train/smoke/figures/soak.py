"""Sustained load: what became of rate and clock from the first minute to the last. Pure.

A GPU that throttles does so after minutes, when heat has spread; one look at an idle card never shows it.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rocdoctor.train.smoke.figures.figure_math import TYPES, Entry, Figures
from rocdoctor.train.smoke.figures.sampler import Reading

_WINDOW_S = 60.0
PIECE_S = 5.0
_MAX_PIECES = 240


@dataclass(frozen=True, slots=True)
class SoakRow:
    """One piece of the load on one rank: when it began, its rate, and the median of what the sensors showed."""

    rank: int
    gpu: int | None
    pci: str | None
    at_s: float
    seconds: float
    tflops: float
    clock_mhz: float | None = None
    temp_c: float | None = None
    power_w: float | None = None
    slowed: tuple[str, ...] = ()
    dtype: str | None = None

    @classmethod
    def of(
        cls,
        rank: int,
        gpu: int | None,
        pci: str | None,
        at_s: float,
        record: Mapping[str, Any],
        looks: Sequence[Reading],
    ) -> SoakRow:
        """The row of a measurement and the looks at its device meanwhile."""
        seconds = float(record["seconds"][0])
        return cls(
            rank,
            gpu,
            pci,
            at_s,
            seconds,
            float(record["work"]) / seconds / 1e12,
            _middle([one.clock_mhz for one in looks]),
            _middle([one.temp_c for one in looks]),
            _middle([one.power_w for one in looks]),
            tuple(sorted({reason for one in looks for reason in one.slowed})),
            TYPES.get(str(record.get("dtype"))),
        )


def soak_figures(rows: Sequence[SoakRow]) -> Figures:
    """``soak_tflops``: the rate of the last minute beside that of the first (a third of the time each, when it was
    shorter than three minutes), clocks likewise; ``soak_log``: the pieces."""
    figures: Figures = {}
    for rank in sorted({one.rank for one in rows}):
        mine = [one for one in rows if one.rank == rank]
        total = mine[-1].at_s + mine[-1].seconds
        window = min(_WINDOW_S, total / 3)
        first = [one for one in mine if one.at_s < window] or mine[:1]
        last = [one for one in mine if one.at_s + one.seconds > total - window] or mine[-1:]
        rate_first, rate_last = _rate(first), _rate(last)
        clock_first, clock_last = (_middle([one.clock_mhz for one in some]) for some in (first, last))
        entry: Entry = {
            "gpu": mine[0].gpu,
            "rank": rank,
            "pci": mine[0].pci,
            "value": _short(rate_last),
            "expected": None,
            "share": None,
            "first": _short(rate_first),
            "of_first": _short(rate_last / rate_first),
            "slowest": _short(min(one.tflops for one in mine)),
            "seconds": round(total, 1),
            "dtype": mine[0].dtype,
            "clock_first_mhz": clock_first,
            "clock_last_mhz": clock_last,
            "clock_of_first": _short(clock_last / clock_first) if clock_first and clock_last else None,
            "temp_max_c": max((one.temp_c for one in mine if one.temp_c is not None), default=None),
            "power_max_w": max((one.power_w for one in mine if one.power_w is not None), default=None),
            "slowed": sorted({reason for one in mine for reason in one.slowed}),
        }
        figures.setdefault("soak_tflops", []).append(entry)
    ranks = max(1, len({one.rank for one in rows}))
    step = -(-len(rows) // (_MAX_PIECES * ranks))  # of hours, every so many pieces
    for one in [one for at, one in enumerate(rows) if (at // ranks) % max(1, step) == 0]:
        figures.setdefault("soak_log", []).append(
            {
                "gpu": one.gpu,
                "rank": one.rank,
                "at_s": round(one.at_s, 1),
                "value": _short(one.tflops),
                "clock_mhz": one.clock_mhz,
                "temp_c": one.temp_c,
                "power_w": one.power_w,
                "slowed": list(one.slowed),
            }
        )
    return figures


def _rate(rows: Sequence[SoakRow]) -> float:
    """Work over time, so that a long piece counts as what it is."""
    return sum(one.tflops * one.seconds for one in rows) / sum(one.seconds for one in rows)


def _middle(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round(statistics.median(known), 1) if known else None


def _short(value: float) -> float:
    return float(f"{value:.4g}")

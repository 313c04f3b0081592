"""What share of a published peak sound machines reach, from ``figures.yaml``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from rocdoctor.knowledge.load import load_table, words


@dataclass(frozen=True, slots=True)
class NormalShare:
    """``at_least`` of the peak of ``of`` (pcie, xgmi) is normal for a figure, and less than ``low_below`` is a fault.

    ``gfx`` empty: on any GPU.
    """

    figure: str
    at_least: float
    low_below: float
    of: str
    gfx: tuple[str, ...]
    sources: tuple[str, ...]


@cache
def _shares() -> tuple[NormalShare, ...]:
    return tuple(
        NormalShare(
            one["figure"],
            float(one["at_least"]),
            float(one["low_below"]),
            one["of"],
            words(one.get("gfx")),
            words(one["s"]),
        )
        for one in load_table("figures")["normal_shares"]
    )


def normal_share(figure: str, of: str, gfx: str | None) -> NormalShare | None:
    """The normal share of a figure over a kind of path; None where no source gives one."""
    return next(
        (one for one in _shares() if one.figure == figure and one.of == of and (not one.gfx or gfx in one.gfx)), None
    )

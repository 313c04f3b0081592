"""What ranks compare with, compared among themselves: a rank that expects something else proves nothing. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

from rocdoctor.train.smoke.run.pool import RankRecord
from rocdoctor.train.smoke.worker.compare import order_of

# Double precision on other processors differs in the last bits; a wrong element by far more.
_SHARE = 1e-9


def odd_references(ranks: Sequence[RankRecord]) -> list[RankRecord]:
    """Ranks whose reference differs from that of most. Of two it is the one that alone does not compute what it expects
    itself, or both: wrong numbers that came from the other tell nothing."""
    told = {one.rank: (one.result or {}).get("reference") or {} for one in ranks}
    for name in sorted({name for one in told.values() for name in one}):
        having = [one for one in ranks if name in told[one.rank]]
        columns = zip(*(told[one.rank][name] for one in having), strict=False)
        odd_rows = {row for column in columns for row in _outside([float(value) for value in column])}
        odd = [one for row, one in enumerate(having) if row in odd_rows]
        if odd and len(having) == 2:
            wrong = [one for one in having if _against_itself(one)]
            odd = wrong if len(wrong) == 1 else having
        if odd:
            return odd
    return []


def _against_itself(one: RankRecord) -> bool:
    """Whether the first that is wrong is what this rank computed by itself."""
    faults = (one.result or {}).get("faults") or ()
    return bool(faults) and min(faults, key=order_of)["stage"] in ("input", "local")


def _outside(values: Sequence[float]) -> set[int]:
    if not all(map(math.isfinite, values)):
        return {row for row, one in enumerate(values) if not math.isfinite(one)}
    middle = median(values)
    return {row for row, one in enumerate(values) if abs(one - middle) > _SHARE * max(1.0, abs(middle))}

"""GPUs that compute much more slowly than equal ones of the same test: right numbers, but a hint. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from rocdoctor.train.smoke.judge.rank_words import ranks_text
from rocdoctor.train.smoke.run.pool import RankRecord

# Equal GPUs differ by a few percent in clock; half of the pace is what a low power cap or heat does.
_TIMES = 2.0


def slow_gpus(ranks: Sequence[RankRecord]) -> str:
    """Words about ranks whose product took twice as long as that of most equal GPUs; empty where there are none.

    At least three equal ones: of two it cannot be told which is the usual one.
    """
    kinds: dict[str, list[tuple[RankRecord, float]]] = {}
    for one in ranks:
        facts = (one.result or {}).get("facts") or {}
        pace_ms = facts.get("pace_ms")
        if isinstance(pace_ms, (int, float)) and pace_ms > 0:
            kinds.setdefault(str(facts.get("gpu")), []).append((one, float(pace_ms)))
    for many in kinds.values():
        usual_ms = median(pace_ms for _, pace_ms in many)
        slow = [(one, pace_ms) for one, pace_ms in many if pace_ms > _TIMES * usual_ms]
        if len(many) >= 3 and slow:
            times = max(pace_ms for _, pace_ms in slow) / usual_ms
            who = ranks_text([one for one, _ in slow])
            takes = "takes" if len(slow) == 1 else "take"
            return (
                f"numbers are right, but {who} {takes} {times:.1f} times as long for a product as identical GPUs here: "
                "rocdoctor smoke --figures says why"
            )
    return ""

"""What a pair of nodes measured of the way between them, in one round. Plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

SMALL_BYTES, LARGE_BYTES = 64, 65536

PairState = Literal["measured", "failed", "silent"]
"""silent: node ``a``, which was to measure, gave no report in time, so that nothing is known of the pair."""


@dataclass(frozen=True, slots=True)
class PairResult:
    """Node ``a`` measured the way to node ``b`` in a round (from 0).

    ``out_mbit_s``, ``back_mbit_s``: what streams carried from a to b and back; ``rtt_us``: the median time there and
    back of messages, by their size in bytes; ``why``: of a pair that failed, in a few words; ``speed_mbit_s``: what
    the slower interface of the two says that it can do, None where one of them does not tell.
    """

    a: int
    b: int
    round: int
    state: PairState
    out_mbit_s: float | None = None
    back_mbit_s: float | None = None
    rtt_us: Mapping[int, float] = field(default_factory=dict)
    why: str = ""
    speed_mbit_s: int | None = None

    @property
    def ends(self) -> tuple[int, int]:
        """Both nodes."""
        return self.a, self.b

    @property
    def rate(self) -> float | None:
        """What the worse direction carries in Mbit/s; 0 where the pair failed, None where nothing is known."""
        if self.state == "silent":
            return None
        known = [one for one in (self.out_mbit_s, self.back_mbit_s) if one is not None]
        return min(known) if self.state == "measured" and len(known) == 2 else 0.0

    def other(self, node: int) -> int:
        """The partner of one of them."""
        return self.b if node == self.a else self.a

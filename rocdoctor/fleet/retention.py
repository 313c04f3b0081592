"""Which rounds of a store go once they are old. Pure: numbers, times and sizes in, numbers out.

All rounds of two days stay (and the newest 600 however old they seem, since a clock may be wrong), after that the first
of each hour for 30 days, then the first of each day for a year. Hours are thinned whole and from their end, so a round
that is left can be judged again from the state before the first of its hour.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_HOUR_S, _DAY_S = 3600, 86400


@dataclass(frozen=True, slots=True)
class Retention:
    """How long rounds stay, in seconds; ``newest`` of them always; all in ``most_bytes``, else old ones go."""

    all_s: int = 2 * _DAY_S
    hourly_s: int = 30 * _DAY_S
    daily_s: int = 366 * _DAY_S
    newest: int = 600
    most_bytes: int = 8 << 30


@dataclass(frozen=True, slots=True)
class KeptRound:
    """A round of the store: its number and when it was judged."""

    number: int
    at: int

    @property
    def hour(self) -> int:
        """The hour that it is in, counted from 1970."""
        return self.at // _HOUR_S


def begins(rounds: Sequence[KeptRound], span_s: int = _HOUR_S) -> set[int]:
    """The numbers of the rounds that are the first of their hour, or of another span."""
    before = [None, *(one.at // span_s for one in rounds)]
    return {one.number for one, last in zip(rounds, before, strict=False) if one.at // span_s != last}


def too_old(rounds: Sequence[KeptRound], now: int, keep: Retention) -> list[int]:
    """The rounds to be deleted, in the order in which to do it."""
    safe = {one.hour for one in rounds[-keep.newest :]} if keep.newest else set()
    firsts, first_of_day = begins(rounds), begins(rounds, _DAY_S)
    gone: list[int] = []
    for one in rounds:
        age = now - (one.hour + 1) * _HOUR_S
        if age < keep.all_s or one.hour in safe:
            continue
        stays = one.number in firsts and (age < keep.hourly_s or (age < keep.daily_s and one.number in first_of_day))
        if not stays:
            gone.append(one.number)
    return gone[::-1]


def too_large(rounds: Sequence[KeptRound], sizes: Mapping[int, int], most: int) -> list[int]:
    """The rounds of the oldest hours, as many as must go until the rest is small enough; never the last hour."""
    total = sum(sizes.get(one.number, 0) for one in rounds)
    gone: list[int] = []
    for hour in sorted({one.hour for one in rounds})[:-1]:
        if total <= most:
            break
        members = [one.number for one in rounds if one.hour == hour]
        total -= sum(sizes.get(one, 0) for one in members)
        gone += members[::-1]
    return gone

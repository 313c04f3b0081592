"""Temperatures that have reached a limit: which, on which GPU, since when. Without Textual.

The limit is the one that the card states for the sensor; below it, or where the card states none, the user's own.

Heat alone: a GPU that draws all the power that it may, or whose memory is full, is at work and not ill.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from rocdoctor.insight.gpus.gpu_health import readings
from rocdoctor.model.evidence import NotKnown
from rocdoctor.model.facts import Gpu
from rocdoctor.model.printable import one_line

# So far below its limit a temperature has left it; at the limit itself it comes and goes. A figure of our own.
LEFT_C = 2.0


@dataclass(frozen=True, slots=True)
class Alarm:
    """One temperature at its limit. ``clock``: when it was seen there first, as time of day."""

    gpu: int
    sensor: str
    input_c: float
    limit_c: float
    clock: str
    own: bool = False  # the limit is the user's

    @property
    def key(self) -> tuple[int, str, bool]:
        """What it is told by from look to look."""
        return self.gpu, self.sensor, self.own

    @property
    def words(self) -> str:
        """Which value, on which GPU, since when."""
        whose = ", your limit," if self.own else ""
        value = f"gpu {self.gpu} {self.sensor} {self.input_c:.0f} of {self.limit_c:.0f} °C{whose}"
        return (
            f"{value} since {self.clock}"
            if self.input_c >= self.limit_c
            else f"{value.rstrip(',')}, reached at {self.clock}"
        )


class Alarms:
    """The alarms of one machine, the farthest above its limit first."""

    def __init__(self) -> None:
        self.now: tuple[Alarm, ...] = ()
        self._own_c: float | None = None

    def see(self, gpus: Iterable[Gpu], clock: str, own_c: float | None = None) -> tuple[Alarm, ...]:
        """Take the values of a look at all GPUs; what is an alarm now, and was none before.

        ``own_c``: the user's limit of every sensor. Another one than at the look before begins every alarm anew.
        """
        before = {one.key: one for one in self.now} if own_c == self._own_c else {}
        self._own_c = own_c
        found: list[Alarm] = []
        for gpu in gpus:
            for limits in _near(gpu, clock, own_c):
                for one in limits:  # the card's first: to be past that is graver
                    was = before.get(one.key)
                    if was is not None or one.input_c >= one.limit_c:
                        found.append(replace(one, clock=was.clock) if was is not None else one)
                        break
        self.now = tuple(sorted(found, key=lambda one: (one.limit_c - one.input_c, one.gpu)))
        return tuple(one for one in self.now if one.key not in before)

    @property
    def words(self) -> str:
        """The gravest, and how many more GPUs there are; "" for none."""
        if not self.now:
            return ""
        others = len({one.gpu for one in self.now} - {self.now[0].gpu})
        return self.now[0].words + (f" (and {others} more GPU{'s' * (others > 1)})" if others else "")


def _near(gpu: Gpu, clock: str, own_c: float | None) -> Iterable[list[Alarm]]:
    """For each sensor the limits that it is at, or has not left: the card's, then the user's."""
    try:
        found = readings(gpu)
    except NotKnown:
        return
    for one in found:
        label = one_line(one.sensor.label)
        limits = ((one.crit_c, False), (own_c, True))
        yield [
            Alarm(gpu.index, label, one.input_c, limit_c, clock, own)
            for limit_c, own in limits
            if limit_c is not None and one.input_c > limit_c - LEFT_C
        ]


def limit_of(card_c: float | None, own_c: float | None) -> float | None:
    """The lower one of the card's limit and the user's; None where there is neither."""
    return min((one for one in (card_c, own_c) if one is not None), default=None)


def past_own(gpu: Gpu, own_c: float | None) -> bool:
    """Whether a sensor is at the user's limit."""
    try:
        return own_c is not None and any(one.input_c >= own_c for one in readings(gpu))
    except NotKnown:
        return False

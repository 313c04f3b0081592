"""What checks of sensors share: temperatures with the card's own limits, and what the reasons for low clocks mean."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rocdoctor.model.evidence import Known, NotKnown, unknown, value_or
from rocdoctor.model.facts import Gpu, Temperature

# A sensor that does not answer reads 0, 255, 511 or -273; silicon is never outside of this range.
_PLAUSIBLE_C = (-40.0, 200.0)
# Limits of 0 and of thousands of degrees stand in tables that nobody filled.
_PLAUSIBLE_LIMIT_C = (30.0, 200.0)
# So close to its critical limit a sensor is worth a word, and flags of heat are believed: a figure of our own.
NEAR_CRITICAL_C = 5.0


@dataclass(frozen=True, slots=True)
class TemperatureReading:
    """A temperature with the limits that the card states for this sensor, in degrees Celsius."""

    sensor: Temperature
    input_c: float
    crit_c: float | None
    emergency_c: float | None

    @property
    def margin_c(self) -> float | None:
        """How far below the critical limit it is; negative above it."""
        return None if self.crit_c is None else self.crit_c - self.input_c

    @property
    def near_critical(self) -> bool:
        """So close to the critical limit that it is worth a word, or above it."""
        return self.margin_c is not None and self.margin_c <= NEAR_CRITICAL_C


def readings(gpu: Gpu) -> tuple[TemperatureReading, ...]:
    """The plausible temperatures; raises ``NotKnown`` where no sensor answers."""
    found = []
    for sensor in gpu.temps:
        value = _within(value_or(sensor.input_c, None), _PLAUSIBLE_C)
        if value is not None:
            crit = _within(value_or(sensor.crit_c, None), _PLAUSIBLE_LIMIT_C)
            emergency = _within(value_or(sensor.emergency_c, None), _PLAUSIBLE_LIMIT_C)
            found.append(TemperatureReading(sensor, value, crit, emergency))
    if found:
        return tuple(found)
    if value_or(gpu.runtime_status, "") == "suspended":
        raise unknown("the GPU sleeps and was left asleep", "suspended")
    raise unknown("no temperature in this evidence")


def limited_readings(gpu: Gpu) -> tuple[TemperatureReading, ...]:
    """The temperatures whose limit the card states, nearest to it first; raises ``NotKnown`` when there is none."""
    limited = [reading for reading in readings(gpu) if reading.crit_c is not None]
    if not limited:
        raise unknown("the card's own temperature limits are not in this evidence")
    return tuple(sorted(limited, key=lambda one: one.margin_c if one.margin_c is not None else 0.0))


def _within(value: float | None, limits: tuple[float, float]) -> float | None:
    return value if value is not None and limits[0] <= value <= limits[1] else None


def nearest_to_limit(gpu: Gpu) -> TemperatureReading | None:
    """The temperature nearest to its limit, or None where no limit is known."""
    try:
        return limited_readings(gpu)[0]
    except NotKnown:
        return None


def telling(gpu: Gpu) -> TemperatureReading | None:
    """The temperature to show where one must do: nearest to its limit; where none is stated, the hottest."""
    try:
        return nearest_to_limit(gpu) or max(readings(gpu), key=lambda one: one.input_c)
    except NotKnown:
        return None


def is_laptop(laptop: object) -> bool:
    """True when the evidence says that this is a laptop."""
    return isinstance(laptop, Known) and laptop.value is True


def heat_reasons(names: Iterable[str]) -> tuple[str, ...]:
    """Of the reasons for low clocks those that name heat (amdgpu: temp_*, vrhot*; amd-smi, nvidia-smi: *thermal*)."""
    return tuple(
        name
        for name in names
        if name.lower().startswith(("temp_", "vrhot")) or "therm" in name.lower() or "thrm" in name.lower()
    )


def external_reasons(names: Iterable[str]) -> tuple[str, ...]:
    """Of the reasons for low clocks those that a signal from outside the GPU asks for (supply, regulator, board)."""
    return tuple(
        name
        for name in names
        if name.lower().startswith("prochot") or name.lower() in ("hw_power_brake_slowdown", "hw_slowdown")
    )

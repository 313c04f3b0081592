"""Sensors of one hwmon folder: temperatures, power, fans, clocks.

Units of the files: Documentation/hwmon/sysfs-interface.rst (m°C, uW, RPM, Hz). Drivers seen: amdgpu, nouveau, i915, xe.
Alarm and fault files are not read: some drivers raise them for no reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.text import to_int, value_of

_T = TypeVar("_T")

_MAX_FILES = 2000
_FILE = regex(r"(temp|power|fan|pwm|freq)([0-9]{1,3})(?:_([a-z0-9_]{1,40}))?\Z")
# The driver fills thresholds that it does not know with 0 K.
_ABSOLUTE_ZERO_MC = -273150


@dataclass(frozen=True, slots=True)
class HwmonTemperature:
    """A temperature sensor in °C; ``label`` "edge", "junction", "mem", "pkg", "vram" or None."""

    channel: int
    label: str | None
    temp_c: float | None
    crit_c: float | None
    emergency_c: float | None


@dataclass(frozen=True, slots=True)
class HwmonPower:
    """A power sensor in W: ``average_w`` over a window and ``input_w`` at once (either may be missing), and its caps.

    ``cap_w`` is the limit in force, ``cap_default_w`` the board's.
    """

    channel: int
    average_w: float | None
    input_w: float | None
    cap_w: float | None
    cap_default_w: float | None
    cap_max_w: float | None

    @property
    def power_w(self) -> float | None:
        """What it draws: the average where there is one, else the momentary figure."""
        return self.average_w if self.average_w is not None else self.input_w


@dataclass(frozen=True, slots=True)
class HwmonFan:
    """A fan: speeds in RPM; ``pwm`` 0 to 255, ``pwm_enable`` 0 full speed, 1 manual, 2 automatic."""

    channel: int
    rpm: int | None
    max_rpm: int | None
    pwm: int | None
    pwm_enable: int | None


@dataclass(frozen=True, slots=True)
class HwmonClock:
    """A clock in MHz under its label ("sclk", "mclk")."""

    channel: int
    label: str | None
    value: float


@dataclass(frozen=True, slots=True)
class Hwmon:
    """One hwmon folder."""

    temperatures: tuple[HwmonTemperature, ...]
    powers: tuple[HwmonPower, ...]
    fans: tuple[HwmonFan, ...]
    clocks_mhz: tuple[HwmonClock, ...]


def parse_hwmon(files: Mapping[str, str]) -> Hwmon:
    """The sensors from a mapping of file name to text; paths are cut to their last part, other files ignored."""
    texts = {path.rpartition("/")[2]: text for path, text in list(files.items())[:_MAX_FILES]}
    channels: dict[str, set[int]] = {}
    for name in texts:
        if match := _FILE.match(name):
            channels.setdefault(match.group(1), set()).add(int(match.group(2)))
    fans = sorted(channels.get("fan", set()) | channels.get("pwm", set()))
    return Hwmon(
        temperatures=_present(_temperature(texts, n) for n in _of(channels, "temp")),
        powers=_present(_power(texts, n) for n in _of(channels, "power")),
        fans=_present(_fan(texts, n) for n in fans),
        clocks_mhz=_clocks(texts, _of(channels, "freq")),
    )


def _present(found: Iterable[_T | None]) -> tuple[_T, ...]:
    return tuple(one for one in found if one is not None)


def _of(channels: dict[str, set[int]], kind: str) -> list[int]:
    return sorted(channels.get(kind, set()))


def _int(text: str | None) -> int | None:
    number = to_int(text.strip().strip("\x00")) if text is not None else None
    return number if number is not None and abs(number) < 1 << 63 else None


def _scaled(text: str | None, divisor: int) -> float | None:
    number = _int(text)
    return None if number is None else number / divisor


def _celsius(text: str | None) -> float | None:
    number = _int(text)
    return None if number is None or number <= _ABSOLUTE_ZERO_MC else number / 1000


def _watts(text: str | None) -> float | None:
    return _scaled(text, 1_000_000)


def _temperature(texts: Mapping[str, str], channel: int) -> HwmonTemperature | None:
    values = {key: _celsius(texts.get(f"temp{channel}_{key}")) for key in _TEMP_FILES}
    if all(value is None for value in values.values()):
        return None
    return HwmonTemperature(
        channel=channel,
        label=value_of(texts.get(f"temp{channel}_label")),
        temp_c=values["input"],
        crit_c=values["crit"],
        emergency_c=values["emergency"],
    )


_TEMP_FILES = ("input", "crit", "emergency")
_POWER_FILES = ("average", "input", "cap", "cap_default", "cap_max")


def _power(texts: Mapping[str, str], channel: int) -> HwmonPower | None:
    values = {key: _watts(texts.get(f"power{channel}_{key}")) for key in _POWER_FILES}
    if all(value is None for value in values.values()):
        return None
    return HwmonPower(channel, *(values[key] for key in _POWER_FILES))


def _fan(texts: Mapping[str, str], channel: int) -> HwmonFan | None:
    values = [_int(texts.get(f"fan{channel}_{key}")) for key in ("input", "max")]
    values += [_int(texts.get(f"pwm{channel}{key}")) for key in ("", "_enable")]
    return HwmonFan(channel, *values) if any(value is not None for value in values) else None


def _clocks(texts: Mapping[str, str], numbers: list[int]) -> tuple[HwmonClock, ...]:
    found = []
    for channel in numbers:
        value = _scaled(texts.get(f"freq{channel}_input"), 1_000_000)
        if value is not None:
            found.append(HwmonClock(channel, value_of(texts.get(f"freq{channel}_label")), value))
    return tuple(found)

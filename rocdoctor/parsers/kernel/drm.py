"""The small text files of an amdgpu device under /sys/class/drm/cardN/device: clocks, partitions, memory, links.

Formats: drivers/gpu/drm/amd/pm and amdgpu of the kernel (Linux 4.15 to 7.1). See ``ras`` and ``firmware`` for the rest.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeVar

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.text import hex_int, lines_of, pci_address, to_int, value_of

_T = TypeVar("_T")

_MAX_STATES = 64

_STATE = regex(r"\s{0,8}([0-9]{1,3}|[A-Z])\s{0,4}:(.{0,200})")
_CLOCK = regex(r"([0-9]{1,6})\s?mhz", re.IGNORECASE)
# Polaris and older kernels wrote "2.5GB, x8" for what is now "2.5GT/s, x8".
_RATE = regex(r"([0-9]{1,3}(?:\.[0-9])?)\s?G(?:T/s|B)", re.IGNORECASE)
_LANES = regex(r"\bx([0-9]{1,2})\b")
_FEATURE_NEW = regex(r"\s{0,4}[0-9]{1,3}\.\s{1,8}(\S{1,60})\s{0,40}\(\s{0,4}([0-9]{1,3})\)\s{0,8}:\s{0,8}(\w{1,20})")
_FEATURE_OLD = regex(r"\s{0,4}(\S{1,60})\s{1,60}0x([0-9a-fA-F]{1,16})\s{1,40}([YN])\s{0,8}\Z")
_MASK_NEW = regex(r"features high: 0x([0-9a-fA-F]{1,8}) low: 0x([0-9a-fA-F]{1,8})")
_MASK_OLD = regex(r"Current ppfeatures: 0x([0-9a-fA-F]{1,16})")
_THROTTLE_LOG = regex(r"thermal throttling logging (enabled|disabled)(?:, with interval ([0-9]{1,6}) seconds)?")

# GC (graphics and compute) block version -> processor, as drivers/gpu/drm/amd/amdkfd/kfd_device.c of Linux 7.1 has it.
_GC_TO_GFX = {
    (9, 0, 1): "gfx900", (9, 1, 0): "gfx902", (9, 2, 2): "gfx902", (9, 2, 1): "gfx904", (9, 3, 0): "gfx90c",
    (9, 4, 0): "gfx906", (9, 4, 1): "gfx908", (9, 4, 2): "gfx90a", (9, 4, 3): "gfx942", (9, 4, 4): "gfx942",
    (9, 5, 0): "gfx950", (10, 1, 10): "gfx1010", (10, 1, 2): "gfx1011", (10, 1, 1): "gfx1012", (10, 1, 3): "gfx1013",
    (10, 1, 4): "gfx1013", (10, 3, 0): "gfx1030", (10, 3, 2): "gfx1031", (10, 3, 1): "gfx1033", (10, 3, 4): "gfx1032",
    (10, 3, 5): "gfx1034", (10, 3, 3): "gfx1035", (10, 3, 6): "gfx1036", (10, 3, 7): "gfx1036", (11, 0, 0): "gfx1100",
    (11, 0, 1): "gfx1103", (11, 0, 4): "gfx1103", (11, 0, 2): "gfx1102", (11, 0, 3): "gfx1101", (11, 5, 0): "gfx1150",
    (11, 5, 1): "gfx1151", (11, 5, 2): "gfx1152", (11, 5, 3): "gfx1153", (11, 5, 4): "gfx1154", (12, 0, 0): "gfx1200",
    (12, 0, 1): "gfx1201", (12, 1, 0): "gfx1250",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class DpmState:
    """One line of a pp_dpm_* file: ``index`` "0", "1" ... or "S" (deep sleep)."""

    index: str
    clock_mhz: int | None
    speed_gt_s: float | None
    width: int | None
    active: bool
    line: int


@dataclass(frozen=True, slots=True)
class DpmTable:
    """A pp_dpm_* file. Where several lines are marked active, only what they agree on is current."""

    states: tuple[DpmState, ...]

    @property
    def active(self) -> tuple[DpmState, ...]:
        """The states marked with a star."""
        return tuple(state for state in self.states if state.active)

    @property
    def is_asleep(self) -> bool:
        """True where the clock domain is in deep sleep (the "S" line is the active one)."""
        return any(state.index == "S" for state in self.active)

    @property
    def current_mhz(self) -> int | None:
        """The clock now; None where no state is marked."""
        return _agreed([state.clock_mhz for state in self.active])

    @property
    def max_mhz(self) -> int | None:
        """The highest clock of the table, deep sleep left out."""
        return max((state.clock_mhz for state in self.states if state.clock_mhz and state.index != "S"), default=None)

    @property
    def min_mhz(self) -> int | None:
        """The lowest clock of the table above 0, deep sleep left out."""
        return min((state.clock_mhz for state in self.states if state.clock_mhz and state.index != "S"), default=None)

    @property
    def current_gt_s(self) -> float | None:
        """The PCIe rate per lane now (pp_dpm_pcie)."""
        return _agreed([state.speed_gt_s for state in self.active])

    @property
    def current_width(self) -> int | None:
        """The PCIe lanes now (pp_dpm_pcie)."""
        return _agreed([state.width for state in self.active])


def _agreed(values: list[_T]) -> _T | None:
    return values[0] if len(set(values)) == 1 else None


@dataclass(frozen=True, slots=True)
class PpFeatures:
    """Power management features by name (True: enabled), and their mask."""

    mask: int | None
    enabled: dict[str, bool]
    lines: dict[str, int]


@dataclass(frozen=True, slots=True)
class PcieTraffic:
    """pcie_bw: packets received and sent in the last second, and the largest payload of a packet in bytes."""

    received: int
    sent: int
    max_payload_bytes: int


@dataclass(frozen=True, slots=True)
class ThrottleLogging:
    """thermal_throttling_logging: whether the kernel logs thermal throttling, and how often."""

    address: str | None
    enabled: bool
    interval_s: int | None


@dataclass(frozen=True, slots=True)
class GcVersion:
    """The version of the graphics block from ip_discovery; ``gfx`` None for one that the kernel table lacks."""

    major: int
    minor: int
    revision: int
    gfx: str | None


def parse_dpm(text: str) -> DpmTable | None:
    """A pp_dpm_sclk, pp_dpm_mclk, pp_dpm_fclk, pp_dpm_socclk or pp_dpm_pcie file; None where no state is in it.

    Lines: "1: 1302Mhz *", "S: 19Mhz *", "0: 615Mhz", "1: 16.0GT/s, x16 619Mhz *", "0: 8.0GT/s, x16 *".
    """
    states: list[DpmState] = []
    for number, line in enumerate(lines_of(text, 1000), start=1):
        match = _STATE.match(line)
        if match is None or len(states) >= _MAX_STATES:
            continue
        body = match.group(2)
        clock, rate, lanes = _CLOCK.search(body), _RATE.search(body), _LANES.search(body)
        if clock is None and rate is None:
            continue
        states.append(
            DpmState(
                index=match.group(1),
                clock_mhz=int(clock.group(1)) if clock else None,
                speed_gt_s=float(rate.group(1)) if rate else None,
                width=int(lanes.group(1)) if lanes and 1 <= int(lanes.group(1)) <= 32 else None,
                active=body.rstrip().endswith("*"),
                line=number,
            )
        )
    return DpmTable(tuple(states)) if states else None


def parse_word(text: str) -> str | None:
    """A one-word file: performance level, vbios_version, memory vendor, power state; no value is None."""
    value = value_of(text)
    return value if value is not None and "\n" not in value else None


def parse_words(text: str) -> tuple[str, ...] | None:
    """Words separated by commas or blanks: reset_method "flr bus", available_compute_partition "SPX, DPX, CPX"."""
    value = parse_word(text)
    return tuple(value.replace(",", " ").split()[:64]) if value is not None else None


def parse_partition(text: str) -> str | None:
    """current_compute_partition ("SPX", "CPX") or current_memory_partition ("NPS1"); "UNKNOWN" is None."""
    value = parse_word(text)
    return value.upper() if value is not None and re.match(r"[A-Za-z]{1,8}[0-9]{0,2}\Z", value) else None


def parse_count(text: str) -> int | None:
    """A file with one number that is not negative: mem_info_*_total and _used (bytes), gpu_busy_percent, replays."""
    number = to_int(text.strip().strip("\x00").removesuffix("%"))
    return number if number is not None and number >= 0 else None


def parse_unique_id(text: str) -> int | None:
    """The device's id, hexadecimal without 0x ("0123456789abcdef"); the same number as KFD's decimal unique_id."""
    number = hex_int(text)
    return number if number is not None and 0 < number < 1 << 64 else None


def parse_pcie_bw(text: str) -> PcieTraffic | None:
    """pcie_bw: "85 0 256"."""
    words = text.split()
    numbers = [to_int(word) for word in words[:4]]
    if len(numbers) != 3 or any(number is None or number < 0 for number in numbers):
        return None
    received, sent, payload = (number or 0 for number in numbers)
    return PcieTraffic(received, sent, payload)


def parse_throttle_logging(text: str) -> ThrottleLogging | None:
    """thermal_throttling_logging: "0000:0c:00.0: thermal throttling logging enabled, with interval 60 seconds"."""
    head = text[:400]
    match = _THROTTLE_LOG.search(head)
    if match is None:
        return None
    interval = int(match.group(2)) if match.group(2) else None
    return ThrottleLogging(pci_address(head[: match.start()]), match.group(1) == "enabled", interval)


def parse_board_type(text: str) -> str | None:
    """board_info: "type : oam" -> "oam" (an accelerator module) or "cem" (a card)."""
    name, separator, value = text.strip().partition(":")
    return value_of(value) if separator and name.strip() == "type" and "\n" not in value.strip() else None


def parse_gc_version(major: str, minor: str, revision: str) -> GcVersion | None:
    """The graphics block of ip_discovery/die/0/GC/0 (hardware id 11) from its major, minor and revision files."""
    numbers = [to_int(part) for part in (major, minor, revision)]
    if any(number is None or not 0 <= number <= 255 for number in numbers):
        return None
    first, second, third = (number or 0 for number in numbers)
    return GcVersion(first, second, third, _GC_TO_GFX.get((first, second, third)))


def parse_pp_features(text: str) -> PpFeatures | None:
    """pp_features in the newer form, a numbered table, or in the older one with Y and N."""
    mask: int | None = None
    enabled: dict[str, bool] = {}
    lines: dict[str, int] = {}
    for number, line in enumerate(lines_of(text, 1000), start=1):
        if new := _MASK_NEW.match(line):
            mask = int(new.group(1), 16) << 32 | int(new.group(2), 16)
        elif old := _MASK_OLD.match(line):
            mask = int(old.group(1), 16)
        elif match := _FEATURE_NEW.match(line):
            if match.group(3) in ("enabled", "disabled"):
                enabled[match.group(1)] = match.group(3) == "enabled"
                lines[match.group(1)] = number
        elif match := _FEATURE_OLD.match(line):
            enabled[match.group(1)] = match.group(3) == "Y"
            lines[match.group(1)] = number
    return PpFeatures(mask, enabled, lines) if mask is not None or enabled else None

"""The small text files of an amdgpu device under /sys/class/drm/cardN/device: clocks, partitions, memory.

Formats: drivers/gpu/drm/amd/pm and amdgpu of the kernel (Linux 4.15 to 7.1).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.text import hex_int, lines_of, to_int, value_of

_MAX_STATES = 64

_STATE = regex(r"\s{0,8}(?:[0-9]{1,3}|[A-Z])\s{0,4}:(.{0,200})")
_CLOCK = regex(r"([0-9]{1,6})\s?mhz", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class DpmState:
    """One line of a pp_dpm_* file; ``active`` where it is marked with a star."""

    clock_mhz: int
    active: bool


def parse_dpm(text: str) -> tuple[DpmState, ...] | None:
    """The clocks of a pp_dpm_sclk, pp_dpm_mclk, pp_dpm_fclk or pp_dpm_socclk file; None where there is none in it.

    Lines: "1: 1302Mhz *", "S: 19Mhz *" (deep sleep), "0: 615Mhz".
    """
    states = [
        DpmState(int(clock.group(1)), line.rstrip().endswith("*"))
        for line in lines_of(text, 1000)
        if (state := _STATE.match(line)) and (clock := _CLOCK.search(state.group(1)))
    ]
    return tuple(states[:_MAX_STATES]) or None


def parse_word(text: str) -> str | None:
    """A one-word file: performance level, vbios_version, memory vendor, power state; no value is None."""
    value = value_of(text)
    return value if value is not None and "\n" not in value else None


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


def parse_pcie_bw(text: str) -> tuple[int, int] | None:
    """Bytes at most (received, sent) in a second, from pcie_bw: packets received, packets sent, bytes of the largest.

    Which of them were smaller the hardware does not count, so the truth lies below.
    """
    numbers = [to_int(word) for word in text[:200].split()]
    if len(numbers) != 3 or any(one is None or one < 0 for one in numbers):
        return None
    received, sent, largest = (one or 0 for one in numbers)
    return (received * largest, sent * largest) if largest else None

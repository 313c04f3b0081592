"""The key spellings of rocm-smi over its releases, each brought to one field in one unit."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.text import (
    gfx_name,
    hex_int,
    is_no_value,
    number,
    pci_address,
    quantity,
    to_bytes,
    to_celsius,
    to_gt_s,
    to_int,
    to_watts,
    to_width,
    value_of,
)


def _pci_id(text: str) -> str | None:
    value = hex_int(text)
    return None if value is None or not 0 <= value <= 0xFFFF else f"1002:{value:04x}"


def _unique(text: str) -> str | None:
    value = hex_int(text)
    # 0 is what boards without the register show.
    return f"{value:016x}" if value else None


def _percent(text: str) -> int | None:
    value = number(text) if not is_no_value(text) else None
    return round(value) if value is not None else None


def _level_word(text: str) -> str | None:
    word = value_of(text)
    return word.lower() if word else None


def _affinity(text: str) -> int | None:
    value = to_int(text)
    # The library returns an unsigned 32-bit number in some releases: all bits set is the kernel's -1, "no node".
    return -1 if value == 0xFFFFFFFF else value if value is not None and -1 <= value < 4096 else None


def _node(text: str) -> int | None:
    value = to_int(text)
    return value if value is not None and 0 <= value < 4096 else None


def _count(text: str) -> int | None:
    value = number(text) if not is_no_value(text) else None
    return int(value) if value is not None and value >= 0 else None


FIELDS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "gpu id": ("pci_id", _pci_id),
    "device id": ("pci_id", _pci_id),
    "device name": ("name", value_of),
    "card series": ("name", value_of),
    "guid": ("gpu_id", to_int),
    "node id": ("kfd_node", _node),
    "gfx version": ("gfx", gfx_name),
    "unique id": ("unique_id", _unique),
    "vbios version": ("vbios", value_of),
    "pci bus": ("bdf", pci_address),
    "average graphics package power (w)": ("power.now_w", to_watts),
    "current socket graphics package power (w)": ("power.now_w", to_watts),
    "max graphics package power (w)": ("power.cap_w", to_watts),
    "performance level": ("performance_level", _level_word),
    "pcie replay count": ("pcie.replay_count", _count),
    "gpu use (%)": ("busy_percent", _percent),
    "gpu memory allocated (vram%)": ("vram_used_percent", _percent),
    "vram total memory (b)": ("vram_bytes", to_bytes),
    "vram total used memory (b)": ("vram_used_bytes", to_bytes),
    "vis_vram total memory (b)": ("visible_vram_bytes", to_bytes),
    "gtt total memory (b)": ("gtt_bytes", to_bytes),
    "(topology) numa node": ("numa", _affinity),
    "(topology) numa affinity": ("numa_affinity", _affinity),
    "compute partition": ("partition.compute", value_of),
    "memory partition": ("partition.memory", value_of),
}

_TEMPERATURE = regex(r"temperature \(sensor (.{1,40})\) \(c\)\Z")
_CLOCK = regex(r"([a-z0-9]{1,12}) clock (level|speed)\Z")
_IN_BRACKETS = regex(r"\(\s{0,3}([0-9.]{1,12}\s{0,2}[A-Za-z/]{0,6})[^)]{0,20}\)")


def read_key(key: str, value: str) -> dict[str, Any]:
    """The fields that one "key: value" of rocm-smi gives; empty for an unknown key or a value that says nothing."""
    if len(key) > 200 or len(value) > 1000:
        return {}
    word = " ".join(key.lower().split()).rstrip(":").strip()
    if word in FIELDS:
        name, read = FIELDS[word]
        if is_no_value(value):
            return {}
        parsed = read(value)
        if parsed is None:
            return {}
        return {name: parsed}
    temperature = _TEMPERATURE.match(word)
    if temperature:
        degrees = to_celsius(value)
        return {} if degrees is None else {"temps_c": {temperature.group(1): degrees}}
    clock = _CLOCK.match(word.split(": ")[0].rstrip(":"))
    if clock:
        return _clock(clock.group(1), value)
    return {}


def _clock(name: str, value: str) -> dict[str, Any]:
    """ "0 (300Mhz)", "S: (137Mhz)", "(300Mhz)" or, for PCIe, "1 (16.0GT/s x16)"."""
    inside = _IN_BRACKETS.search(value)
    if inside is None:
        return {}
    if name == "pcie":
        width = re.search(r"x(\d{1,2})", value)
        speed, lanes = to_gt_s(inside.group(1)), to_width(width.group(1)) if width else None
        found = {"pcie.device.speed_gt_s": speed, "pcie.device.width": lanes}
        return {key: entry for key, entry in found.items() if entry is not None}
    found_clock = quantity(inside.group(1))
    if found_clock is None or found_clock[1].lower() not in ("", "mhz"):
        return {}
    return {f"clocks_mhz.{name}": found_clock[0]}

"""Where each field of a GPU stands in the tree of amd-smi, over its releases, and how its value is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from rocdoctor.parsers.formats.json_text import Json
from rocdoctor.parsers.formats.text import (
    gfx_name,
    hex_int,
    is_no_value,
    number,
    pci_address,
    to_bytes,
    to_celsius,
    to_gt_s,
    to_int,
    to_mhz,
    to_watts,
    to_width,
    value_of,
)

Places = tuple[tuple[str, ...], ...]
# A library value with all bits of its type set means "not available".
_ALL_BITS = {0xFFFF, 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF}


def _word(value: Json) -> str | None:
    return value_of(value) if isinstance(value, str) else None


def _text(value: Json) -> str | None:
    return _word(value) if isinstance(value, str) else str(value) if to_int(value) is not None else None


def _id4(value: Json) -> str | None:
    number_ = hex_int(value) if isinstance(value, str) else to_int(value)
    return f"{number_:04x}" if number_ is not None and 0 <= number_ < 0xFFFF else None


def _serial(value: Json) -> str | None:
    number_ = hex_int(value)
    return f"{number_:016x}" if number_ and 0 < number_ < 1 << 64 else None


def _count(value: Json) -> int | None:
    amount = number(value) if not (isinstance(value, str) and is_no_value(value)) else None
    return int(amount) if amount is not None and amount >= 0 and int(amount) not in _ALL_BITS else None


def _node(value: Json) -> int | None:
    whole = to_int(value)
    return -1 if whole == 0xFFFFFFFF else whole if whole is not None and -1 <= whole < 4096 else None


def _watts(value: Json) -> float | None:
    watts = to_watts(value)
    # 65535 is the library's "not available" for powers; no GPU is near it.
    return watts if watts is not None and 0 <= watts < 65535 else None


def _megabytes(value: Json) -> int | None:
    return to_bytes(value, "MB")


def _perf(value: Json) -> str | None:
    word = _word(value)
    return word.upper().removeprefix("AMDSMI_DEV_PERF_LEVEL_").lower() if word else None


# field -> (the places where releases put it, its reader)
FIELDS: dict[str, tuple[Places, Callable[[Any], Any]]] = {
    "bdf": ((("bus", "bdf"), ("bdf",)), pci_address),
    "gpu_id": ((("kfd_id",),), _count),
    "kfd_node": ((("node_id",),), _count),
    "hip_index": ((("hip_id",),), _count),
    "name": ((("asic", "market_name"),), _word),
    "vendor_id": ((("asic", "vendor_id"),), _id4),
    "device_id": ((("asic", "device_id"),), _id4),
    "subvendor_id": ((("asic", "subvendor_id"),), _id4),
    "subdevice_id": ((("asic", "subsystem_id"),), _id4),
    "unique_id": ((("asic", "asic_serial"),), _serial),
    "compute_units": ((("asic", "num_compute_units"), ("asic", "num_of_compute_units")), _count),
    "gfx": ((("asic", "target_graphics_version"),), gfx_name),
    "pcie.device.max_width": ((("bus", "max_pcie_width"), ("bus", "max_pcie_lanes")), to_width),
    "pcie.device.max_speed_gt_s": ((("bus", "max_pcie_speed"),), to_gt_s),
    # The part number says more than the version.
    "vbios": (
        (
            ("vbios", "part_number"),
            ("vbios", "vbios_part_number"),
            ("ifwi", "part_number"),
            ("vbios", "version"),
            ("vbios", "vbios_version"),
            ("ifwi", "version"),
        ),
        _text,
    ),
    "driver": ((("driver", "name"), ("driver", "driver_name")), _word),
    "driver_version": ((("driver", "version"), ("driver", "driver_version")), _text),
    "vram_bytes": ((("vram", "size"), ("vram", "vram_size_mb"), ("mem_usage", "total_vram")), _megabytes),
    "vram_used_bytes": ((("mem_usage", "used_vram"),), _megabytes),
    "visible_vram_bytes": ((("mem_usage", "total_visible_vram"),), _megabytes),
    "power.cap_w": (
        (
            ("limit", "socket_power"),
            ("limit", "ppt0", "socket_power_limit"),
            ("limit", "current_power"),
            ("limit", "power_cap"),
        ),
        _watts,
    ),
    "power.cap_max_w": ((("limit", "max_power"), ("limit", "ppt0", "max_power_limit")), _watts),
    "numa": ((("numa", "node"),), _node),
    "numa_affinity": ((("numa", "affinity"),), _node),
    "partition.compute": (
        (("partition", "compute_partition"), ("partition", "accelerator_partition"), ("accelerator_type",)),
        _word,
    ),
    "partition.memory": (
        (("partition", "memory_partition"), ("current_memory_partition",), ("memory",)),
        _word,
    ),
    "power.now_w": (
        (
            ("power", "socket_power"),
            ("power", "current_socket_power"),
            ("power", "average_socket_power"),
            ("power", "current_power"),
        ),
        _watts,
    ),
    "pcie.device.width": ((("pcie", "width"), ("pcie", "current_lanes"), ("pcie", "pcie_width")), to_width),
    "pcie.device.speed_gt_s": ((("pcie", "speed"), ("pcie", "current_speed"), ("pcie", "pcie_speed")), to_gt_s),
    "pcie.replay_count": ((("pcie", "replay_count"), ("pcie", "pcie_replay_count")), _count),
    "performance_level": ((("perf_level",),), _perf),
}

# The SMI libraries say hotspot and mem, the kernel's sensors junction and memory.
SENSORS = {"hotspot": "junction", "mem": "memory", "vram": "memory"}


def read_fields(gpu: dict[str, Json]) -> Iterator[tuple[str, Any, tuple[str | int, ...]]]:
    """Each field that the tree of one GPU gives: its name, its value, its path in the tree."""
    for name, (places, read) in FIELDS.items():
        for place in places:
            raw = _at(gpu, place)
            if raw is None or (isinstance(raw, str) and is_no_value(raw)):
                continue
            value = read(raw)
            if value is not None:
                yield name, value, place
                break
    yield from _groups(gpu)


def _at(tree: Json, place: tuple[str, ...]) -> Json:
    for step in place:
        if not isinstance(tree, dict):
            return None
        tree = tree.get(step)
    return tree


def _items(tree: Json) -> list[tuple[str, Json]]:
    return list(tree.items())[:256] if isinstance(tree, dict) else []


def _groups(gpu: dict[str, Json]) -> Iterator[tuple[str, Any, tuple[str | int, ...]]]:
    """The fields that hold a value per sensor, clock, block, ..."""
    for key, raw in _items(gpu.get("temperature")):
        if (degrees := to_celsius(raw)) is not None and degrees < 65535:
            yield "temps_c", {SENSORS.get(key, key): degrees}, ("temperature", key)
    for key, raw in _items(gpu.get("limit")):
        match = re.match(r"(slowdown|shutdown)_(edge|hotspot|vram|mem)_temperature\Z", key)
        if match and (degrees := to_celsius(raw)) is not None and degrees < 65535:
            sensor = SENSORS.get(match.group(2), match.group(2))
            yield "limit_temps_c", {f"{match.group(1)}_{sensor}": degrees}, ("limit", key)
    for key, raw in _items(gpu.get("clock")):
        for inner in ("clk", "cur_clk"):
            if (clock := to_mhz(_at(raw, (inner,)))) is not None and clock < 65535:
                yield f"clocks_mhz.{key}", clock, ("clock", key, inner)
    for key, raw in _items(gpu.get("throttle")):
        state = _active(raw)
        if key.endswith("_violation_status") and state is not None:
            yield "violations", {key.removesuffix("_violation_status"): state}, ("throttle", key)
    for key, raw in _items(gpu.get("ecc_blocks")):
        if count := _ecc(raw):
            yield "blocks", {key.upper(): count}, ("ecc_blocks", key)
    yield from _firmware(gpu.get("fw_list"))


def _firmware(entries: Json) -> Iterator[tuple[str, Any, tuple[str | int, ...]]]:
    pairs: list[tuple[str | int, Json]] = list(_items(entries))
    if isinstance(entries, list):
        pairs = list(enumerate(entries[:256]))
    for key, entry in pairs:
        name = _word(_at(entry, ("fw_id",))) or _word(_at(entry, ("fw_name",)))
        version = _text(_at(entry, ("fw_version",)))
        if name and version:
            yield "firmware", {name: version}, ("fw_list", key)


def _ecc(tree: Json) -> tuple[int | None, int | None] | None:
    """The correctable and the uncorrectable count of a block."""

    def count(kind: str) -> int | None:
        found = _at(tree, (f"{kind}_count",))
        return _count(found if found is not None else _at(tree, (kind,)))

    found = (count("correctable"), count("uncorrectable"))
    return None if found == (None, None) else found


def _active(raw: Json) -> bool | None:
    """True for ACTIVE, also where only one of the partitions' entries says so; None where none says anything."""
    words: list[str] = []
    todo: list[Json] = [raw]
    while todo and len(words) < 4096:
        entry = todo.pop()
        if isinstance(entry, dict):
            todo.extend(entry.values())
        elif isinstance(entry, list):
            todo.extend(entry)
        elif isinstance(entry, str):
            words.extend(part.strip(" []\"'").upper() for part in entry[:4096].split(","))
    if "ACTIVE" in words:
        return True
    return False if "NOT ACTIVE" in words else None

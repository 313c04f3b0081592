"""Where each field of a GPU stands in the tree of amd-smi, over its releases, and how its value is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from rocdoctor.parsers.amd.amd_smi_records import EccCount
from rocdoctor.parsers.formats.json_text import Json
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


def _percent(value: Json) -> float | None:
    amount = number(value)
    return amount if amount is not None and 0 <= amount <= 100 else None


def _megabytes(value: Json) -> int | None:
    return to_bytes(value, "MB")


def _generation(value: Json) -> int | None:
    generation = _count(value)
    return generation if generation is not None and 1 <= generation <= 7 else None


def _render(value: Json) -> int | None:
    match = re.match(r"(?:/dev/dri/)?renderD(\d{1,4})\Z", value) if isinstance(value, str) else None
    return int(match.group(1)) if match else None


def _perf(value: Json) -> str | None:
    word = _word(value)
    return word.upper().removeprefix("AMDSMI_DEV_PERF_LEVEL_").lower() if word else None


def _rate(value: Json) -> float | None:
    found = quantity(value)
    return found[0] if found and found[0] > 0 and found[1].lower() in ("gb/s", "gbps", "") else None


def _throttled(value: Json) -> bool | None:
    word = (_word(value) or "").upper()
    return {"UNTHROTTLED": False, "THROTTLED": True}.get(word)


# field -> (the places where releases put it, its reader)
FIELDS: dict[str, tuple[Places, Callable[[Any], Any]]] = {
    "pci_address": ((("bus", "bdf"), ("bdf",)), pci_address),
    "uuid": ((("uuid",),), _word),
    "kfd_id": ((("kfd_id",),), _count),
    "node": ((("node_id",),), _count),
    "hip_index": ((("hip_id",),), _count),
    "render_minor": ((("render",),), _render),
    "partition_id": ((("partition", "partition_id"), ("partition_id",)), to_int),
    "name": ((("asic", "market_name"),), _word),
    "vendor_id": ((("asic", "vendor_id"),), _id4),
    "device_id": ((("asic", "device_id"),), _id4),
    "subvendor_id": ((("asic", "subvendor_id"),), _id4),
    "subsystem_id": ((("asic", "subsystem_id"),), _id4),
    "revision": ((("asic", "rev_id"),), hex_int),
    "unique_id": ((("asic", "asic_serial"),), _serial),
    "oam_id": ((("asic", "oam_id"), ("asic", "xgmi_physical_id")), _count),
    "compute_units": ((("asic", "num_compute_units"), ("asic", "num_of_compute_units")), _count),
    "gfx": ((("asic", "target_graphics_version"),), gfx_name),
    "max_pcie_width": ((("bus", "max_pcie_width"), ("bus", "max_pcie_lanes")), to_width),
    "max_pcie_speed_gt_s": ((("bus", "max_pcie_speed"),), to_gt_s),
    "pcie_interface_gen": ((("bus", "pcie_interface_version"),), _generation),
    "slot_type": ((("bus", "slot_type"),), _word),
    "vbios_name": ((("vbios", "name"), ("vbios", "vbios_name"), ("ifwi", "name")), _word),
    "vbios_build_date": ((("vbios", "build_date"), ("vbios", "vbios_build_date"), ("ifwi", "build_date")), _word),
    "vbios_part_number": ((("vbios", "part_number"), ("vbios", "vbios_part_number"), ("ifwi", "part_number")), _word),
    "vbios_version": ((("vbios", "version"), ("vbios", "vbios_version"), ("ifwi", "version")), _text),
    "driver_name": ((("driver", "name"), ("driver", "driver_name")), _word),
    "driver_version": ((("driver", "version"), ("driver", "driver_version")), _text),
    "vram_type": ((("vram", "type"), ("vram", "vram_type")), _word),
    "vram_vendor": ((("vram", "vendor"), ("vram", "vram_vendor")), _word),
    "vram_bytes": ((("vram", "size"), ("vram", "vram_size_mb"), ("mem_usage", "total_vram")), _megabytes),
    "vram_used_bytes": ((("mem_usage", "used_vram"),), _megabytes),
    "visible_vram_bytes": ((("mem_usage", "total_visible_vram"),), _megabytes),
    "vram_bit_width": ((("vram", "bit_width"), ("vram", "vram_bit_width")), _count),
    "vram_max_bandwidth_gb_s": ((("vram", "max_bandwidth"),), _rate),
    "board_model_number": ((("board", "model_number"),), _text),
    "board_product_serial": ((("board", "product_serial"),), _text),
    "board_fru_id": ((("board", "fru_id"),), _text),
    "board_product_name": ((("board", "product_name"),), _word),
    "board_manufacturer": ((("board", "manufacturer_name"),), _word),
    "ras_eeprom_version": ((("ras", "eeprom_version"),), _text),
    "power_cap_w": (
        (
            ("limit", "socket_power"),
            ("limit", "ppt0", "socket_power_limit"),
            ("limit", "current_power"),
            ("limit", "power_cap"),
        ),
        _watts,
    ),
    "max_power_w": ((("limit", "max_power"), ("limit", "ppt0", "max_power_limit")), _watts),
    "min_power_w": ((("limit", "min_power"), ("limit", "ppt0", "min_power_limit")), _watts),
    "numa_node": ((("numa", "node"),), _node),
    "numa_affinity": ((("numa", "affinity"),), _node),
    "compute_partition": (
        (("partition", "compute_partition"), ("partition", "accelerator_partition"), ("accelerator_type",)),
        _word,
    ),
    "memory_partition": (
        (("partition", "memory_partition"), ("current_memory_partition",), ("memory",)),
        _word,
    ),
    "process_isolation": ((("process_isolation",),), _word),
    "gfx_busy_percent": ((("usage", "gfx_activity"), ("usage", "gfx_usage")), _percent),
    "memory_busy_percent": ((("usage", "umc_activity"), ("usage", "mem_usage")), _percent),
    "power_w": (
        (
            ("power", "socket_power"),
            ("power", "current_socket_power"),
            ("power", "average_socket_power"),
            ("power", "current_power"),
        ),
        _watts,
    ),
    "throttle_status": ((("power", "throttle_status"),), _word),
    "throttled": ((("power", "throttle_status"),), _throttled),
    "pcie_width": ((("pcie", "width"), ("pcie", "current_lanes"), ("pcie", "pcie_width")), to_width),
    "pcie_speed_gt_s": ((("pcie", "speed"), ("pcie", "current_speed"), ("pcie", "pcie_speed")), to_gt_s),
    "pcie_replay_count": ((("pcie", "replay_count"), ("pcie", "pcie_replay_count")), _count),
    "pcie_l0_to_recovery_count": (
        (("pcie", "l0_to_recovery_count"), ("pcie", "pcie_l0_to_recovery_count")),
        _count,
    ),
    "pcie_replay_rollover_count": (
        (("pcie", "replay_roll_over_count"), ("pcie", "pcie_replay_roll_over_count")),
        _count,
    ),
    "pcie_nak_sent_count": ((("pcie", "nak_sent_count"), ("pcie", "pcie_nak_sent_count")), _count),
    "pcie_nak_received_count": ((("pcie", "nak_received_count"), ("pcie", "pcie_nak_received_count")), _count),
    "fan_percent": ((("fan", "usage"),), _percent),
    "fan_rpm": ((("fan", "rpm"),), number),
    "perf_level": ((("perf_level",),), _perf),
    "xgmi_speed_gbit_s": ((("link_metrics", "bit_rate"),), _rate),
    "xgmi_max_bandwidth_gbit_s": ((("link_metrics", "max_bandwidth"),), _rate),
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
        for inner, name in (("clk", "clocks_mhz"), ("cur_clk", "clocks_mhz"), ("max_clk", "max_clocks_mhz")):
            if (clock := to_mhz(_at(raw, (inner,)))) is not None and clock < 65535:
                yield name, {key: clock}, ("clock", key, inner)
    for key, raw in _items(gpu.get("throttle")):
        state = _active(raw)
        if key.endswith("_violation_status") and state is not None:
            yield "violations", {key.removesuffix("_violation_status"): state}, ("throttle", key)
    for key, raw in _items(gpu.get("ras")):
        word = _word(raw)
        if key.endswith("_schema") and word:
            yield "ras_schemas", {key.removesuffix("_schema"): word.upper()}, ("ras", key)
    states = _at(gpu, ("ras", "ecc_block_state"))
    for key, raw in _items(states):
        if word := _word(raw):
            yield "ecc_block_states", {key.upper(): word.upper()}, ("ras", "ecc_block_state", key)
    for place, entry in enumerate(states[:256] if isinstance(states, list) else []):
        block, word = _word(_at(entry, ("block",))), _word(_at(entry, ("status",)))
        if block and word:
            yield "ecc_block_states", {block.upper(): word.upper()}, ("ras", "ecc_block_state", place)
    for key, raw in _items(gpu.get("ecc_blocks")):
        if count := _ecc(raw, ""):
            yield "ecc_blocks", {key.upper(): count}, ("ecc_blocks", key)
    if total := _ecc(gpu.get("ecc"), "total_"):
        yield "ecc_total", total, ("ecc",)
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


def _ecc(tree: Json, prefix: str) -> EccCount | None:
    def count(kind: str) -> int | None:
        found = _at(tree, (f"{prefix}{kind}_count",))
        return _count(found if found is not None else _at(tree, (f"{prefix}{kind}",)))

    total = EccCount(count("correctable"), count("uncorrectable"), count("deferred"))
    return None if total == EccCount() else total


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

"""The names that ``nvidia-smi -q`` and ``-q -x`` give to each value of a GPU, and the readers of the values.

Both outputs are read into the same kind of tree (``xml.Element``); the listing's names stand in lower case with
underscores. Names changed between driver generations: all known ones are tried, the newest first.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.text import (
    PCIE_GEN_GT_S,
    hex_int,
    is_no_value,
    number,
    pci_address,
    quantity,
    to_bytes,
    to_celsius,
    to_int,
    to_mhz,
    to_watts,
    to_width,
    value_of,
)

_NVIDIA = 0x10DE
_DEPRECATED = "requested functionality has been deprecated"
_SIZE = regex(r"\d{1,15}(?:\.\d{1,6})? ?[KMGT]?i?B\Z")
_YES_NO = {
    "enabled": True,
    "disabled": False,
    "yes": True,
    "no": False,
    "active": True,
    "not active": False,
    "on": True,
    "off": False,
}


def read_name(text: str) -> str | None:
    """A text, None where the tool says that it has none."""
    return None if text.strip().lower() == _DEPRECATED else value_of(text)


def _word(text: str) -> str | None:
    # Where "None" is an answer (no recovery needed, no virtualisation), not a missing one.
    return "None" if text.strip() == "None" else read_name(text)


def _is_vgpu(text: str) -> bool | None:
    """None, Pass-Through, VGPU, and of hosts Host VGPU and Host VSGA (nvmlGpuVirtualizationMode_t of NVML)."""
    mode = _word(text)
    return None if mode is None else mode.upper() == "VGPU"


def yes_no(text: str) -> bool | None:
    """True for Enabled, Yes, Active, On; False for their opposites; a pending mark ("Enabled*") is ignored."""
    return _YES_NO.get(text.strip().rstrip("*").lower())


def read_count(text: str) -> int | None:
    """A count; negative numbers are None."""
    found = to_int(text)
    return found if found is not None and found >= 0 else None


def read_mib(text: str) -> int | None:
    """Bytes from "81920 MiB"; a number without a unit is None."""
    return to_bytes(text) if _SIZE.match(text.strip()) else None


def _state(text: str) -> str | None:
    return text.strip() if re.match(r"P\d{1,2}\Z", text.strip()) else None


def _pci_id(text: str) -> str | None:
    """ "10de:20b2" from 20B210DE or 0x20B210DE (device, then vendor)."""
    found = hex_int(text)
    return None if not found or found > 0xFFFFFFFF else f"{found & 0xFFFF:04x}:{found >> 16:04x}"


def _gpu_pci_id(text: str) -> str | None:
    # Another vendor in this place is an identifier that somebody blanked out.
    found = _pci_id(text)
    return found if found is not None and found.startswith(f"{_NVIDIA:04x}:") else None


def _gt_s(text: str) -> float | None:
    """The rate a lane of a generation, GT/s (PCI Express Base Specification)."""
    return PCIE_GEN_GT_S.get(to_int(text) or 0)


def _percent(text: str) -> int | None:
    found = number(text)
    return round(found) if found is not None else None


def _kb_s(text: str) -> int | None:
    """KB/s over 20 ms, seen from the GPU (nvmlDeviceGetPcieThroughput); "N/A" before Maxwell and of a vGPU."""
    found = None if is_no_value(text) else quantity(text)
    return int(found[0]) if found is not None and found[0] >= 0 and found[1].lower() == "kb/s" else None


_Reader = Callable[[str], object]

FIELDS: tuple[tuple[str, _Reader, tuple[str, ...]], ...] = (
    ("bdf", pci_address, ("pci/pci_bus_id", "pci/bus_id")),
    ("name", read_name, ("product_name",)),
    ("unique_id", read_name, ("uuid", "gpu_uuid")),
    ("pci_id", _gpu_pci_id, ("pci/pci_device_id", "pci/device_id")),
    ("subsystem_id", _pci_id, ("pci/pci_sub_system_id", "pci/sub_system_id")),
    ("vbios", read_name, ("vbios_version",)),
    ("numa_node", read_count, ("numa_node", "gpu_numa_id", "pci/numa_node")),
    ("persistence", yes_no, ("persistence_mode",)),
    ("compute_mode", read_name, ("compute_mode",)),
    ("performance_level", _state, ("performance_state",)),
    ("vram_bytes", read_mib, ("fb_memory_usage/total", "memory_usage/total")),
    ("vram_used_bytes", read_mib, ("fb_memory_usage/used", "memory_usage/used")),
    ("busy_percent", _percent, ("utilization/gpu_util", "utilization/gpu")),
    ("temp_c", to_celsius, ("temperature/gpu_temp", "temperature/gpu_current_temp", "temperature/gpu")),
    ("temp_shutdown_c", to_celsius, ("temperature/gpu_temp_max_threshold", "temperature/gpu_shutdown_temp")),
    ("temp_slowdown_c", to_celsius, ("temperature/gpu_temp_slow_threshold", "temperature/gpu_slowdown_temp")),
    ("temp_memory_c", to_celsius, ("temperature/memory_temp", "temperature/memory_current_temp")),
    (
        "temp_memory_max_operating_c",
        to_celsius,
        ("temperature/gpu_temp_max_mem_threshold", "temperature/memory_max_operating_temp"),
    ),
    (
        "power.now_w",
        to_watts,
        (
            "gpu_power_readings/power_draw",
            "gpu_power_readings/instant_power_draw",
            "gpu_power_readings/instantaneous_power_draw",
            "gpu_power_readings/average_power_draw",
            "power_readings/power_draw",
        ),
    ),
    (
        "power.cap_w",
        to_watts,
        (
            "gpu_power_readings/current_power_limit",
            "power_readings/enforced_power_limit",
            "power_readings/power_limit",
        ),
    ),
    (
        "power.cap_default_w",
        to_watts,
        ("gpu_power_readings/default_power_limit", "power_readings/default_power_limit"),
    ),
    ("power.cap_max_w", to_watts, ("gpu_power_readings/max_power_limit", "power_readings/max_power_limit")),
    ("clocks_mhz.graphics", to_mhz, ("clocks/graphics_clock", "clocks/graphics")),
    ("max_clocks_mhz.graphics", to_mhz, ("max_clocks/graphics_clock", "max_clocks/graphics")),
    (
        "pcie.device.speed_gt_s",
        _gt_s,
        ("pci/pci_gpu_link_info/pcie_gen/current_link_gen", "pci/gpu_link_info/pcie_generation/current"),
    ),
    (
        "pcie.device.max_speed_gt_s",
        _gt_s,
        ("pci/pci_gpu_link_info/pcie_gen/max_link_gen", "pci/gpu_link_info/pcie_generation/max"),
    ),
    (
        "pcie.device.width",
        to_width,
        ("pci/pci_gpu_link_info/link_widths/current_link_width", "pci/gpu_link_info/link_width/current"),
    ),
    (
        "pcie.device.max_width",
        to_width,
        ("pci/pci_gpu_link_info/link_widths/max_link_width", "pci/gpu_link_info/link_width/max"),
    ),
    ("pcie.replay_count", read_count, ("pci/replay_counter", "pci/replays_since_reset")),
    ("traffic.pcie_received_kb_s", _kb_s, ("pci/rx_util", "pci/rx_throughput")),
    ("traffic.pcie_sent_kb_s", _kb_s, ("pci/tx_util", "pci/tx_throughput")),
    ("ecc_enabled", yes_no, ("ecc_mode/current_ecc", "ecc_mode/current")),
    ("ecc_pending", yes_no, ("ecc_mode/pending_ecc", "ecc_mode/pending")),
    (
        "retired_pages_single_bit",
        read_count,
        ("retired_pages/multiple_single_bit_retirement/retired_count", "retired_pages/single_bit_ecc"),
    ),
    (
        "retired_pages_double_bit",
        read_count,
        ("retired_pages/double_bit_retirement/retired_count", "retired_pages/double_bit_ecc"),
    ),
    (
        "retired_pages_pending",
        yes_no,
        (
            "retired_pages/pending_retirement",
            "retired_pages/pending_blacklist",
            "retired_pages/pending_page_blacklist",
            "retired_pages/pending",
        ),
    ),
    ("remapped_rows_pending", yes_no, ("remapped_rows/remapped_row_pending", "remapped_rows/pending")),
    (
        "remap_failure",
        yes_no,
        ("remapped_rows/remapped_row_failure", "remapped_rows/remapping_failure_occurred"),
    ),
    ("reset_required", yes_no, ("gpu_reset_status/reset_required",)),
    ("drain_and_reset_recommended", yes_no, ("gpu_reset_status/drain_and_reset_recommended",)),
    ("recovery_action", _word, ("gpu_recovery_action",)),
    ("mig", yes_no, ("mig_mode/current_mig", "mig_mode/current")),
    ("vgpu", _is_vgpu, ("gpu_virtualization_mode/virtualization_mode",)),
    ("vgpu_license", read_name, ("vgpu_software_licensed_product/license_status",)),
    ("fabric_state", read_name, ("fabric/state",)),
    ("fabric_status", read_name, ("fabric/status",)),
)

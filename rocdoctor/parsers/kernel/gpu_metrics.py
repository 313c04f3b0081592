"""Throttling in the binary ``gpu_metrics`` table of an amdgpu device.

Units: comments in kgd_pp_interface.h and in the firmware interfaces under drivers/gpu/drm/amd/pm/swsmu/inc/pmfw_if
(Linux 7.1). A field with all bits set is not provided: None. Throttle bits are handed on by name but are no alarm by
themselves: idle GPUs were seen with a temperature bit set at 54 °C.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from rocdoctor.parsers.kernel.gpu_metrics_layout import Raw, fields_of, parse_attributes, read_fields

# SMU_THROTTLER_*_BIT (drivers/gpu/drm/amd/pm/swsmu/inc/amdgpu_smu.h), the same for all GPUs.
THROTTLER_BITS = {
    0: "ppt0",
    1: "ppt1",
    2: "ppt2",
    3: "ppt3",
    4: "spl",
    5: "fppt",
    6: "sppt",
    7: "sppt_apu",
    16: "tdc_gfx",
    17: "tdc_soc",
    18: "tdc_mem",
    19: "tdc_vdd",
    20: "tdc_cvip",
    21: "edc_cpu",
    22: "edc_gfx",
    23: "apcc",
    32: "temp_gpu",
    33: "temp_core",
    34: "temp_mem",
    35: "temp_edge",
    36: "temp_hotspot",
    37: "temp_soc",
    38: "temp_vr_gfx",
    39: "temp_vr_soc",
    40: "temp_vr_mem0",
    41: "temp_vr_mem1",
    42: "temp_liquid0",
    43: "temp_liquid1",
    44: "vrhot0",
    45: "vrhot1",
    46: "prochot_cpu",
    47: "prochot_gfx",
    56: "ppm",
    57: "fit",
}


@dataclass(frozen=True, slots=True)
class GpuMetrics:
    """What one table says of throttling.

    ``throttlers``: the reasons at this moment, also () where the table has no such field. ``residencies``: counters of
    the time spent throttled by reason ("ppt", "prochot"), comparable between two looks alone.
    """

    throttlers: tuple[str, ...]
    residencies: dict[str, int]


def parse_gpu_metrics(data: bytes) -> GpuMetrics | None:
    """The table in the bytes of a ``gpu_metrics`` file; None for one of unknown version or size.

    Bytes after the table are ignored; of one that breaks off the fields that are there count.
    """
    if len(data) < 4:
        return None
    size, major, minor = struct.unpack_from("<HBB", data)
    if size < 8 or not 1 <= major <= 15:
        return None
    if (major, minor) == (1, 9):
        values = parse_attributes(data[:size])
    else:
        layout = fields_of((major, minor))
        if layout is None or size != layout[1]:
            return None
        values = read_fields(data[:size], layout[0])
    status = values.get("indep_throttle_status")
    return GpuMetrics(throttler_names(status) if isinstance(status, int) else (), _residencies(values))


def throttler_names(status: int) -> tuple[str, ...]:
    """The names of the bits set in ``indep_throttle_status`` ("temp_hotspot", "ppt0"), unknown ones as "bit 50"."""
    return tuple(THROTTLER_BITS.get(bit, f"bit {bit}") for bit in range(64) if status >> bit & 1)


def _named(name: str, value: Raw) -> list[tuple[str, int]]:
    if isinstance(value, tuple):
        return [(f"{name}{index}", one) for index, one in enumerate(value) if one is not None]
    return [(name, value)] if value is not None else []


def _residencies(values: dict[str, Raw]) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, value in values.items():
        if name.endswith("_residency_acc"):
            found.update(_named(name.removesuffix("_residency_acc"), value))
        elif name.startswith("throttle_residency_"):
            found.update(_named(name.removeprefix("throttle_residency_"), value))
    return found

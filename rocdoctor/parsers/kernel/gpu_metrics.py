"""Throttling and traffic in the binary ``gpu_metrics`` table of an amdgpu device.

Units: comments in kgd_pp_interface.h and in the firmware interfaces under drivers/gpu/drm/amd/pm/swsmu/inc/pmfw_if
(Linux 7.1). A field with all bits set is not provided: None. Throttle bits are handed on by name but are no alarm by
themselves: idle GPUs were seen with a temperature bit set at 54 °C.

The unit of ``pcie_bandwidth_inst`` is disputed. The same number of the firmware is in GB/s by the comments of tables
1.4, 1.5 and 1.8 and by the unit that 1.9 states for it, in Mb/s by the comment of 1.6, and in Mb/s as amd-smi and RDC
print it (ROCm/amdsmi include/amd_smi/amdsmi.h and CHANGELOG.md, ROCm/rocm-systems projects/rdc/include/rdc/rdc.h, read
2026-11-29). Only where kernel and tools agree it has a unit here.
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
    """What one table says of throttling and of what moves over the links.

    ``throttlers``: the reasons at this moment, also () where the table has no such field. ``residencies``: counters of
    the time spent throttled by reason ("ppt", "prochot"), comparable between two looks alone. ``pcie_bandwidth``: now,
    in both directions, in a unit that not all agree on. The counters of XGMI are those of all links together.
    """

    throttlers: tuple[str, ...]
    residencies: dict[str, int]
    version: tuple[int, int] = (0, 0)
    pcie_bandwidth: int | None = None
    xgmi_read_kb: int | None = None
    xgmi_written_kb: int | None = None

    @property
    def pcie_unit_settled(self) -> bool:
        """Whether ``pcie_bandwidth`` is in Mb/s by all who name its unit."""
        return self.version == (1, 6)


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
    pcie = values.get("pcie_bandwidth_inst")
    if isinstance(pcie, tuple):  # one for each die with a link; table 1.9
        pcie = pcie[0]
    return GpuMetrics(
        throttler_names(status) if isinstance(status, int) else (),
        _residencies(values),
        (major, minor),
        pcie,
        _sum(values.get("xgmi_read_data_acc")),
        _sum(values.get("xgmi_write_data_acc")),
    )


def throttler_names(status: int) -> tuple[str, ...]:
    """The names of the bits set in ``indep_throttle_status`` ("temp_hotspot", "ppt0"), unknown ones as "bit 50"."""
    return tuple(THROTTLER_BITS.get(bit, f"bit {bit}") for bit in range(64) if status >> bit & 1)


def _named(name: str, value: Raw) -> list[tuple[str, int]]:
    if isinstance(value, tuple):
        return [(f"{name}{index}", one) for index, one in enumerate(value) if one is not None]
    return [(name, value)] if value is not None else []


def _sum(value: Raw) -> int | None:
    known = [one for one in (value if isinstance(value, tuple) else (value,)) if one is not None]
    return sum(known) if known else None


def _residencies(values: dict[str, Raw]) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, value in values.items():
        if name.endswith("_residency_acc"):
            found.update(_named(name.removesuffix("_residency_acc"), value))
        elif name.startswith("throttle_residency_"):
            found.update(_named(name.removeprefix("throttle_residency_"), value))
    return found

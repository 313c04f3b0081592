"""The binary ``gpu_metrics`` table of an amdgpu device: temperatures, power, clocks, links, throttling.

Units: comments in kgd_pp_interface.h and in the firmware interfaces under drivers/gpu/drm/amd/pm/swsmu/inc/pmfw_if
(Linux 7.1). A field with all bits set is not provided: None. Throttle bits are handed on by name but are no alarm by
themselves: idle GPUs were seen with a temperature bit set at 54 °C.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Literal

from rocdoctor.parsers.formats.text import PCIE_GEN_GT_S
from rocdoctor.parsers.kernel.gpu_metrics_layout import Raw, fields_of, parse_attributes, read_fields

# Joule per unit of the energy accumulator where the header gives the unit (2**-16 J, from table 1.4 on).
_ENERGY_UNIT_J = 2.0**-16

# SMU_THROTTLER_*_BIT (drivers/gpu/drm/amd/pm/swsmu/inc/amdgpu_smu.h), the same for all GPUs.
THROTTLER_BITS = {
    0: "ppt0", 1: "ppt1", 2: "ppt2", 3: "ppt3", 4: "spl", 5: "fppt", 6: "sppt", 7: "sppt_apu",
    16: "tdc_gfx", 17: "tdc_soc", 18: "tdc_mem", 19: "tdc_vdd", 20: "tdc_cvip", 21: "edc_cpu", 22: "edc_gfx",
    23: "apcc", 32: "temp_gpu", 33: "temp_core", 34: "temp_mem", 35: "temp_edge", 36: "temp_hotspot", 37: "temp_soc",
    38: "temp_vr_gfx", 39: "temp_vr_soc", 40: "temp_vr_mem0", 41: "temp_vr_mem1", 42: "temp_liquid0",
    43: "temp_liquid1", 44: "vrhot0", 45: "vrhot1", 46: "prochot_cpu", 47: "prochot_gfx", 56: "ppm", 57: "fit",
}  # fmt: skip

State = Literal["ok", "truncated", "unknown-version", "unexpected-size", "not-a-table"]


@dataclass(frozen=True, slots=True)
class GpuMetrics:
    """One table. ``state`` other than "ok" or "truncated" means that no value was read; ``note`` says why.

    ``temps_c``: by name without "temperature_" ("edge", "hotspot", "mem", "hbm0", "gfx", "core3", "vrsoc" ...), in °C;
    0 is left out, since tables fill absent sensors with it. Clocks are MHz by name ("gfxclk", "uclk", "gfxclk0" for
    the first of several). ``xgmi_link_status``: 1 active, 0 inactive, None not available. ``residencies``: accumulated
    throttling counters, comparable only with ``accumulation_counter``. ``values``: every field as the table has it.
    """

    version: str | None
    state: State
    note: str | None = None
    structure_size: int | None = None
    temps_c: dict[str, float] = field(default_factory=dict)
    average_socket_power_w: float | None = None
    current_socket_power_w: float | None = None
    gfx_activity_percent: float | None = None
    umc_activity_percent: float | None = None
    mm_activity_percent: float | None = None
    average_clocks_mhz: dict[str, int] = field(default_factory=dict)
    current_clocks_mhz: dict[str, int] = field(default_factory=dict)
    voltages_mv: dict[str, int] = field(default_factory=dict)
    fan_rpm: int | None = None
    pcie_width: int | None = None
    pcie_speed_gt_s: float | None = None
    xgmi_width: int | None = None
    xgmi_speed_gbit_s: int | None = None
    xgmi_link_status: tuple[int | None, ...] = ()
    xgmi_read_kib: tuple[int | None, ...] = ()
    xgmi_write_kib: tuple[int | None, ...] = ()
    pcie_replay_count: int | None = None
    pcie_replay_rollover_count: int | None = None
    pcie_l0_to_recovery_count: int | None = None
    pcie_nak_sent_count: int | None = None
    pcie_nak_received_count: int | None = None
    throttle_status_raw: int | None = None
    indep_throttle_status_raw: int | None = None
    throttlers: tuple[str, ...] = ()
    residencies: dict[str, int] = field(default_factory=dict)
    accumulation_counter: int | None = None
    gfx_activity_acc: int | None = None
    mem_activity_acc: int | None = None
    energy_accumulator_raw: int | None = None
    energy_j: float | None = None
    system_clock_ns: int | None = None
    partition_count: int | None = None
    values: dict[str, Raw] = field(default_factory=dict)


def parse_gpu_metrics(data: bytes) -> GpuMetrics:
    """The table in the bytes of a ``gpu_metrics`` file; bytes after the table are ignored."""
    if len(data) < 4:
        return GpuMetrics(None, "not-a-table", f"{len(data)} bytes are too few for a table")
    size, major, minor = struct.unpack_from("<HBB", data)
    version = f"{major}.{minor}"
    if size < 8 or not 1 <= major <= 15:
        return GpuMetrics(None, "not-a-table", "the first bytes are no table header", size)
    whole = len(data) >= size
    if (major, minor) == (1, 9):
        values, complete = parse_attributes(data[:size])
        whole = whole and complete
    else:
        layout = fields_of((major, minor))
        if layout is None:
            return GpuMetrics(version, "unknown-version", f"table version {version} is not known", size)
        fields, expected = layout
        if size != expected:
            note = f"table version {version} has {size} bytes, not {expected}: its layout is not known"
            return GpuMetrics(version, "unexpected-size", note, size)
        values = read_fields(data[:size], fields)
    cut = None if whole else f"the table breaks off after {len(data)} of {size} bytes"
    return _typed((major, minor), size, "ok" if whole else "truncated", cut, values)


def _typed(version: tuple[int, int], size: int, state: State, note: str | None, values: dict[str, Raw]) -> GpuMetrics:
    def number(*names: str) -> int | None:
        return next((value for name in names if isinstance(value := values.get(name), int)), None)

    def several(name: str) -> tuple[int | None, ...]:
        value = values.get(name)
        return value if isinstance(value, tuple) else ()

    is_apu = version[0] in (2, 3)
    energy = number("energy_accumulator")
    status = number("indep_throttle_status")
    gfx, umc = number("average_gfx_activity"), number("average_umc_activity")
    media = number("average_mm_activity", "average_vcn_activity")
    speed = number("pcie_link_speed")
    width = number("pcie_link_width")
    speed_gt_s = speed / 10 if speed is not None else None
    return GpuMetrics(
        version=f"{version[0]}.{version[1]}",
        state=state,
        note=note,
        structure_size=size,
        temps_c=_temperatures(values, 100 if is_apu else 1),
        average_socket_power_w=_socket_power(version, number("average_socket_power")),
        current_socket_power_w=_float(number("curr_socket_power")),
        gfx_activity_percent=_percent(version, gfx),
        umc_activity_percent=_percent(version, umc),
        mm_activity_percent=_percent(version, media),
        average_clocks_mhz=_clocks(values, "average_"),
        current_clocks_mhz=_clocks(values, "current_"),
        voltages_mv=_voltages(values),
        fan_rpm=number("current_fan_speed"),
        pcie_width=width if width is not None and 1 <= width <= 32 else None,
        pcie_speed_gt_s=speed_gt_s if speed_gt_s in PCIE_GEN_GT_S.values() else None,
        xgmi_width=number("xgmi_link_width") or None,
        xgmi_speed_gbit_s=number("xgmi_link_speed") or None,
        xgmi_link_status=tuple(one if one in (0, 1) else None for one in several("xgmi_link_status")),
        xgmi_read_kib=several("xgmi_read_data_acc"),
        xgmi_write_kib=several("xgmi_write_data_acc"),
        pcie_replay_count=number("pcie_replay_count_acc"),
        pcie_replay_rollover_count=number("pcie_replay_rover_count_acc"),
        pcie_l0_to_recovery_count=number("pcie_l0_to_recov_count_acc"),
        pcie_nak_sent_count=number("pcie_nak_sent_count_acc"),
        pcie_nak_received_count=number("pcie_nak_rcvd_count_acc"),
        throttle_status_raw=number("throttle_status"),
        indep_throttle_status_raw=status,
        throttlers=throttler_names(status) if status is not None else (),
        residencies=_residencies(values),
        accumulation_counter=number("accumulation_counter"),
        gfx_activity_acc=number("gfx_activity_acc"),
        mem_activity_acc=number("mem_activity_acc"),
        energy_accumulator_raw=energy,
        energy_j=energy * _ENERGY_UNIT_J if energy is not None and (1, 4) <= version < (2, 0) else None,
        system_clock_ns=number("system_clock_counter"),
        partition_count=number("num_partition"),
        values=values,
    )


def throttler_names(status: int) -> tuple[str, ...]:
    """The names of the bits set in ``indep_throttle_status`` ("temp_hotspot", "ppt0"), unknown ones as "bit 50"."""
    return tuple(THROTTLER_BITS.get(bit, f"bit {bit}") for bit in range(64) if status >> bit & 1)


def _float(value: int | None) -> float | None:
    return None if value is None else float(value)


def _socket_power(version: tuple[int, int], value: int | None) -> float | None:
    if value is None:
        return None
    if version[0] == 1:
        return float(value)
    # Renoir's firmware counts in W (older: mW) in tables 2.0 to 2.2, every other APU in mW. Running sockets draw
    # more than 1 W and less than 1 kW, so only a small figure is ambiguous.
    if version < (2, 3) and value < 1000:
        return None
    return value / 1000


def _percent(version: tuple[int, int], value: int | None) -> float | None:
    if value is None:
        return None
    if version[0] == 1:
        return float(value) if value <= 100 else None
    # APU tables hold hundredths up to 2.1; later ones hundredths or percent, depending on the firmware.
    if version <= (2, 1) or value > 100 or value == 0:
        return value / 100 if value <= 10_000 else None
    return None


def _named(name: str, value: Raw) -> list[tuple[str, int]]:
    if isinstance(value, tuple):
        return [(f"{name}{index}", one) for index, one in enumerate(value) if one is not None]
    return [(name, value)] if value is not None else []


def _temperatures(values: dict[str, Raw], divisor: int) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, value in values.items():
        if name.startswith("temperature_"):
            for label, raw in _named(name.removeprefix("temperature_"), value):
                if raw:
                    found[label] = raw / divisor
    return found


def _clocks(values: dict[str, Raw], prefix: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, value in values.items():
        short = name.removeprefix(prefix).removesuffix("_frequency")
        if name.startswith(prefix) and ("clk" in short or name.endswith("_frequency")):
            found.update(_named(short, value))
    return found


def _voltages(values: dict[str, Raw]) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, value in values.items():
        if name.startswith("voltage_"):
            found.update(_named(name.removeprefix("voltage_"), value))
        elif name.endswith("_voltage"):
            found.update(_named(name.removeprefix("average_").removesuffix("_voltage"), value))
    return {name: value for name, value in found.items() if value}


def _residencies(values: dict[str, Raw]) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, value in values.items():
        if name.endswith("_residency_acc"):
            found.update(_named(name.removesuffix("_residency_acc"), value))
        elif name.startswith("throttle_residency_"):
            found.update(_named(name.removeprefix("throttle_residency_"), value))
    return found

"""Where each field of the amdgpu ``gpu_metrics`` table stands, by version.

Source: struct gpu_metrics_v* in drivers/gpu/drm/amd/include/kgd_pp_interface.h of Linux 7.1. The compiler aligns each
field to its own size, which ``fields_of`` repeats. Notation: "H" 16-bit, "I" 32-bit, "Q" 64-bit, "B" 8-bit, followed by
names, "name*8" for an array; "_" is padding. From 1.9 on the table describes itself (``parse_attributes``).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import lru_cache

_SIZES = {"B": 1, "H": 2, "I": 4, "Q": 8}

_DISCRETE_TEMPS = (
    "H temperature_edge temperature_hotspot temperature_mem temperature_vrgfx temperature_vrsoc temperature_vrmem"
)
_DISCRETE_USE = "H average_gfx_activity average_umc_activity average_mm_activity average_socket_power"
_DISCRETE_CLOCKS = (
    "H average_gfxclk_frequency average_socclk_frequency average_uclk_frequency average_vclk0_frequency "
    "average_dclk0_frequency average_vclk1_frequency average_dclk1_frequency current_gfxclk current_socclk "
    "current_uclk current_vclk0 current_dclk0 current_vclk1 current_dclk1 I throttle_status"
)
_V1_1 = (
    f"{_DISCRETE_TEMPS} {_DISCRETE_USE} Q energy_accumulator system_clock_counter {_DISCRETE_CLOCKS} "
    "H current_fan_speed pcie_link_width pcie_link_speed _ I gfx_activity_acc mem_activity_acc H temperature_hbm*4"
)
_V1_2 = f"{_V1_1} Q firmware_timestamp"

_ACCELERATOR_HEAD = (
    "H temperature_hotspot temperature_mem temperature_vrsoc curr_socket_power average_gfx_activity "
    "average_umc_activity"
)
_LINKS = (
    "I gfxclk_lock_status H pcie_link_width pcie_link_speed xgmi_link_width xgmi_link_speed "
    "I gfx_activity_acc mem_activity_acc Q pcie_bandwidth_acc pcie_bandwidth_inst pcie_l0_to_recov_count_acc "
    "pcie_replay_count_acc pcie_replay_rover_count_acc"
)
_NAKS = "I pcie_nak_sent_count_acc pcie_nak_rcvd_count_acc"
_XGMI = "Q xgmi_read_data_acc*8 xgmi_write_data_acc*8"
_CLOCKS = "Q firmware_timestamp H current_gfxclk*8 current_socclk*4 current_vclk0*4 current_dclk0*4 current_uclk"
_RESIDENCIES = (
    "I accumulation_counter prochot_residency_acc ppt_residency_acc socket_thm_residency_acc vr_thm_residency_acc "
    "hbm_thm_residency_acc"
)
_ENERGY = "Q energy_accumulator system_clock_counter"
# The statistics of eight partitions (amdgpu_xcp_metrics*), in 64-bit words; not decoded.
_PARTITIONS = "H num_partition Q _*{words} I pcie_lc_perf_other_end_recovery"

_APU_TEMPS = "H temperature_gfx temperature_soc temperature_core*8 temperature_l3*2"
_APU_USE = "H average_gfx_activity average_mm_activity"
_APU_POWER = "H average_socket_power average_cpu_power average_soc_power average_gfx_power average_core_power*8"
_APU_CLOCKS = (
    "H average_gfxclk_frequency average_socclk_frequency average_uclk_frequency average_fclk_frequency "
    "average_vclk_frequency average_dclk_frequency current_gfxclk current_socclk current_uclk current_fclk "
    "current_vclk current_dclk current_coreclk*8 current_l3clk*2 I throttle_status H fan_pwm"
)
_V2_1 = f"{_APU_TEMPS} {_APU_USE} Q system_clock_counter {_APU_POWER} {_APU_CLOCKS} _*3"
_V2_2 = f"{_V2_1} Q indep_throttle_status"
_V2_3 = f"{_V2_2} H average_temperature_gfx average_temperature_soc average_temperature_core*8 average_temperature_l3*2"

LAYOUTS: dict[tuple[int, int], str] = {
    (1, 0): (
        f"Q system_clock_counter {_DISCRETE_TEMPS} {_DISCRETE_USE} I energy_accumulator {_DISCRETE_CLOCKS} "
        "H current_fan_speed B pcie_link_width pcie_link_speed"
    ),
    (1, 1): _V1_1,
    (1, 2): _V1_2,
    (1, 3): f"{_V1_2} H voltage_soc voltage_gfx voltage_mem _ Q indep_throttle_status",
    (1, 4): f"{_ACCELERATOR_HEAD} vcn_activity*4 {_ENERGY} I throttle_status {_LINKS} {_XGMI} {_CLOCKS} _",
    (1, 5): (
        f"{_ACCELERATOR_HEAD} vcn_activity*4 jpeg_activity*32 {_ENERGY} I throttle_status {_LINKS} {_NAKS} {_XGMI} "
        f"{_CLOCKS} _"
    ),
    (1, 6): (
        f"{_ACCELERATOR_HEAD} {_ENERGY} {_RESIDENCIES} {_LINKS} {_NAKS} {_XGMI} {_CLOCKS} "
        f"{_PARTITIONS.format(words=168)}"
    ),
    (1, 7): (
        f"{_ACCELERATOR_HEAD} Q mem_max_bandwidth {_ENERGY} {_RESIDENCIES} {_LINKS} {_NAKS} {_XGMI} "
        f"H xgmi_link_status*8 _ {_CLOCKS} {_PARTITIONS.format(words=232)}"
    ),
    (1, 8): (
        f"{_ACCELERATOR_HEAD} Q mem_max_bandwidth {_ENERGY} {_RESIDENCIES} {_LINKS} {_NAKS} {_XGMI} "
        f"H xgmi_link_status*8 _ {_CLOCKS} {_PARTITIONS.format(words=440)}"
    ),
    (2, 0): f"Q system_clock_counter {_APU_TEMPS} {_APU_USE} {_APU_POWER} {_APU_CLOCKS} _",
    (2, 1): _V2_1,
    (2, 2): _V2_2,
    (2, 3): _V2_3,
    (2, 4): (
        f"{_V2_3} H average_cpu_voltage average_soc_voltage average_gfx_voltage average_cpu_current "
        "average_soc_current average_gfx_current"
    ),
    (3, 0): (
        "H temperature_gfx temperature_soc temperature_core*16 temperature_skin average_gfx_activity "
        "average_vcn_activity average_ipu_activity*8 average_core_c0_activity*16 average_dram_reads "
        "average_dram_writes average_ipu_reads average_ipu_writes Q system_clock_counter I average_socket_power "
        "H average_ipu_power "
        "I average_apu_power average_gfx_power average_dgpu_power average_all_core_power H average_core_power*16 "
        "average_sys_power stapm_power_limit current_stapm_power_limit average_gfxclk_frequency "
        "average_socclk_frequency average_vpeclk_frequency average_ipuclk_frequency average_fclk_frequency "
        "average_vclk_frequency average_uclk_frequency average_mpipu_frequency current_coreclk*16 current_core_maxfreq "
        "current_gfx_maxfreq I throttle_residency_prochot throttle_residency_spl throttle_residency_fppt "
        "throttle_residency_sppt throttle_residency_thm_core throttle_residency_thm_gfx throttle_residency_thm_soc "
        "time_filter_alphavalue"
    ),
}

# Names by number of the attributes of table 1.9 (enum amdgpu_metrics_attr_id); later ones are board sensors.
ATTRIBUTES = (
    "temperature_hotspot",
    "temperature_mem",
    "temperature_vrsoc",
    "curr_socket_power",
    "average_gfx_activity",
    "average_umc_activity",
    "mem_max_bandwidth",
    "energy_accumulator",
    "system_clock_counter",
    "accumulation_counter",
    "prochot_residency_acc",
    "ppt_residency_acc",
    "socket_thm_residency_acc",
    "vr_thm_residency_acc",
    "hbm_thm_residency_acc",
    "gfxclk_lock_status",
    "pcie_link_width",
    "pcie_link_speed",
    "xgmi_link_width",
    "xgmi_link_speed",
    "gfx_activity_acc",
    "mem_activity_acc",
    "pcie_bandwidth_acc",
    "pcie_bandwidth_inst",
    "pcie_l0_to_recov_count_acc",
    "pcie_replay_count_acc",
    "pcie_replay_rover_count_acc",
    "pcie_nak_sent_count_acc",
    "pcie_nak_rcvd_count_acc",
    "xgmi_read_data_acc",
    "xgmi_write_data_acc",
    "xgmi_link_status",
    "firmware_timestamp",
    "current_gfxclk",
    "current_socclk",
    "current_vclk0",
    "current_dclk0",
    "current_uclk",
    "num_partition",
    "pcie_lc_perf_other_end_recovery",
    "gfx_busy_inst",
    "jpeg_busy",
    "vcn_busy",
    "gfx_busy_acc",
    "gfx_below_host_limit_ppt_acc",
    "gfx_below_host_limit_thm_acc",
    "gfx_low_utilization_acc",
    "gfx_below_host_limit_total_acc",
    "temperature_hbm",
    "temperature_mid",
    "temperature_aid",
    "temperature_xcd",
)
_ATTRIBUTE_TYPES = "BbHhIiQq"

Raw = int | None | tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Field:
    """One field: byte offset, type code of ``struct``, number of elements (``is_array`` also for one)."""

    name: str
    offset: int
    code: str
    count: int
    is_array: bool


@lru_cache(maxsize=32)
def fields_of(version: tuple[int, int]) -> tuple[tuple[Field, ...], int] | None:
    """The fields of a version and the size of its table in bytes; None for a version without a fixed layout."""
    layout = LAYOUTS.get(version)
    if layout is None:
        return None
    fields = []
    code, offset, widest = "H", 4, 2
    for word in layout.split():
        if word in _SIZES:
            code = word
            continue
        name, star, count = word.partition("*")
        size = _SIZES[code]
        widest = max(widest, size)
        offset = -(-offset // size) * size
        number = int(count) if star else 1
        if name != "_":
            fields.append(Field(name, offset, code, number, bool(star)))
        offset += size * number
    return tuple(fields), -(-offset // widest) * widest


def read_fields(data: bytes, fields: tuple[Field, ...]) -> dict[str, Raw]:
    """The values by name; all bits set means "not provided": None. Fields beyond the end are left out."""
    values: dict[str, Raw] = {}
    for field in fields:
        size = _SIZES[field.code]
        if field.offset + size * field.count > len(data):
            continue
        numbers = struct.unpack_from(f"<{field.count}{field.code}", data, field.offset)
        empty = (1 << (8 * size)) - 1
        found = tuple(None if number == empty else int(number) for number in numbers)
        values[field.name] = found if field.is_array else found[0]
    return values


def parse_attributes(data: bytes) -> dict[str, Raw]:
    """The values of a self-describing table (1.9); of one that breaks off those before the break.

    After the 4-byte header and a 32-bit count come packed pairs of a 64-bit description and its values. Bits of the
    description: 31-24 unit, 23-20 type, 19-10 attribute, 9-0 number of values.
    """
    values: dict[str, Raw] = {}
    if len(data) < 8:
        return values
    total = struct.unpack_from("<i", data, 4)[0]
    offset = 8
    for _ in range(min(max(total, 0), 1024)):
        if offset + 8 > len(data):
            return values
        description = struct.unpack_from("<Q", data, offset)[0]
        offset += 8
        kind, attribute, count = description >> 20 & 0xF, description >> 10 & 0x3FF, description & 0x3FF
        if kind >= len(_ATTRIBUTE_TYPES) or count == 0:
            return values
        code = _ATTRIBUTE_TYPES[kind]
        size = _SIZES[code.upper()]
        if offset + size * count > len(data):
            return values
        numbers = struct.unpack_from(f"<{count}{code}", data, offset)
        offset += size * count
        empty = -1 if code.islower() else (1 << (8 * size)) - 1
        found = tuple(None if number == empty else int(number) for number in numbers)
        name = ATTRIBUTES[attribute] if attribute < len(ATTRIBUTES) else f"attribute_{attribute}"
        values[name] = found if count > 1 else found[0]
    return values

"""The records that the reader of amd-smi gives back."""

from __future__ import annotations

from dataclasses import dataclass, field

from rocdoctor.parsers.amd.smi_links import SmiLink


@dataclass(frozen=True, slots=True)
class EccCount:
    """Error counts of one block (or of the whole GPU) since the driver was loaded."""

    correctable: int | None = None
    uncorrectable: int | None = None
    deferred: int | None = None


@dataclass(frozen=True, slots=True)
class AmdSmiProcess:
    """One process on one GPU."""

    gpu: int
    pid: int
    line: int
    name: str | None = None
    vram_bytes: int | None = None
    gtt_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class BadPage:
    """A retired page of GPU memory; ``state`` is "retired", "pending" or "unreservable"."""

    gpu: int
    state: str
    line: int
    address: str | None = None
    size_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class AmdSmiGpu:
    """One GPU (or partition) of amd-smi; ``index`` is the tool's own number.

    ``vendor_id``, ``device_id``, ``subvendor_id`` and ``subsystem_id`` are 4 hex digits as lspci prints them;
    ``unique_id`` is asic_serial as the 16 hex digits of sysfs ``unique_id``. ``numa_node`` and ``numa_affinity`` are -1
    where the tool says that there is none. ``violations`` holds each throttle reason (prochot, ppt, socket_thermal,
    vr_thermal, hbm_thermal, gfx_clk_below_host_limit, ...) with True while it limits the GPU. ``temps_c`` has a value
    per sensor under the kernel's names (edge, junction, memory). ``lines`` gives the 1-based line of each field.
    """

    index: int
    line: int
    pci_address: str | None = None
    uuid: str | None = None
    kfd_id: int | None = None
    node: int | None = None
    hip_index: int | None = None
    render_minor: int | None = None
    partition_id: int | None = None
    name: str | None = None
    vendor_id: str | None = None
    device_id: str | None = None
    subvendor_id: str | None = None
    subsystem_id: str | None = None
    revision: int | None = None
    unique_id: str | None = None
    oam_id: int | None = None
    compute_units: int | None = None
    gfx: str | None = None
    max_pcie_width: int | None = None
    max_pcie_speed_gt_s: float | None = None
    pcie_interface_gen: int | None = None
    slot_type: str | None = None
    vbios_name: str | None = None
    vbios_build_date: str | None = None
    vbios_part_number: str | None = None
    vbios_version: str | None = None
    driver_name: str | None = None
    driver_version: str | None = None
    vram_type: str | None = None
    vram_vendor: str | None = None
    vram_bytes: int | None = None
    vram_used_bytes: int | None = None
    visible_vram_bytes: int | None = None
    vram_bit_width: int | None = None
    vram_max_bandwidth_gb_s: float | None = None
    board_model_number: str | None = None
    board_product_serial: str | None = None
    board_fru_id: str | None = None
    board_product_name: str | None = None
    board_manufacturer: str | None = None
    ras_eeprom_version: str | None = None
    ras_schemas: dict[str, str] = field(default_factory=dict)
    ecc_block_states: dict[str, str] = field(default_factory=dict)
    power_cap_w: float | None = None
    max_power_w: float | None = None
    min_power_w: float | None = None
    limit_temps_c: dict[str, float] = field(default_factory=dict)
    numa_node: int | None = None
    numa_affinity: int | None = None
    compute_partition: str | None = None
    memory_partition: str | None = None
    process_isolation: str | None = None
    gfx_busy_percent: float | None = None
    memory_busy_percent: float | None = None
    power_w: float | None = None
    throttle_status: str | None = None
    throttled: bool | None = None
    violations: dict[str, bool] = field(default_factory=dict)
    clocks_mhz: dict[str, float] = field(default_factory=dict)
    max_clocks_mhz: dict[str, float] = field(default_factory=dict)
    temps_c: dict[str, float] = field(default_factory=dict)
    pcie_width: int | None = None
    pcie_speed_gt_s: float | None = None
    pcie_replay_count: int | None = None
    pcie_l0_to_recovery_count: int | None = None
    pcie_replay_rollover_count: int | None = None
    pcie_nak_sent_count: int | None = None
    pcie_nak_received_count: int | None = None
    ecc_total: EccCount | None = None
    ecc_blocks: dict[str, EccCount] = field(default_factory=dict)
    fan_percent: float | None = None
    fan_rpm: float | None = None
    perf_level: str | None = None
    xgmi_speed_gbit_s: float | None = None
    xgmi_max_bandwidth_gbit_s: float | None = None
    xgmi_link_states: tuple[str, ...] = ()
    firmware: dict[str, str] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AmdSmi:
    """What one run of amd-smi said.

    ``driver_loaded`` is False where it found no amdgpu, True where it printed GPUs, else None. ``no_bad_pages`` and
    ``no_processes`` are True only where it said so. ``complete`` is None for text: it has no end mark.
    """

    form: str  # "json", "text", "table" or "none"
    gpus: tuple[AmdSmiGpu, ...] = ()
    links: tuple[SmiLink, ...] = ()
    processes: tuple[AmdSmiProcess, ...] = ()
    no_processes: bool = False
    bad_pages: tuple[BadPage, ...] = ()
    no_bad_pages: bool = False
    tool_version: str | None = None
    library_version: str | None = None
    rocm_version: str | None = None
    driver_version: str | None = None
    driver_loaded: bool | None = None
    missing_groups: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    complete: bool | None = None
    lines: dict[str, int] = field(default_factory=dict)

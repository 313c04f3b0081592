"""The records that the reader of amd-smi gives back."""

from __future__ import annotations

from dataclasses import dataclass, field

from rocdoctor.parsers.amd.smi_links import SmiLink


@dataclass(frozen=True, slots=True)
class EccCount:
    """Error counts of one block since the driver was loaded."""

    correctable: int | None = None
    uncorrectable: int | None = None


@dataclass(frozen=True, slots=True)
class AmdSmiProcess:
    """One process on one GPU, and the memory that it holds there."""

    gpu: int
    line: int
    vram_bytes: int | None = None


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
    kfd_id: int | None = None
    node: int | None = None
    hip_index: int | None = None
    name: str | None = None
    vendor_id: str | None = None
    device_id: str | None = None
    subvendor_id: str | None = None
    subsystem_id: str | None = None
    unique_id: str | None = None
    compute_units: int | None = None
    gfx: str | None = None
    max_pcie_width: int | None = None
    max_pcie_speed_gt_s: float | None = None
    vbios_part_number: str | None = None
    vbios_version: str | None = None
    driver_name: str | None = None
    driver_version: str | None = None
    vram_bytes: int | None = None
    vram_used_bytes: int | None = None
    visible_vram_bytes: int | None = None
    power_cap_w: float | None = None
    max_power_w: float | None = None
    limit_temps_c: dict[str, float] = field(default_factory=dict)
    numa_node: int | None = None
    numa_affinity: int | None = None
    compute_partition: str | None = None
    memory_partition: str | None = None
    power_w: float | None = None
    violations: dict[str, bool] = field(default_factory=dict)
    clocks_mhz: dict[str, float] = field(default_factory=dict)
    temps_c: dict[str, float] = field(default_factory=dict)
    pcie_width: int | None = None
    pcie_speed_gt_s: float | None = None
    pcie_replay_count: int | None = None
    ecc_blocks: dict[str, EccCount] = field(default_factory=dict)
    perf_level: str | None = None
    firmware: dict[str, str] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AmdSmi:
    """What one run of amd-smi said.

    ``no_processes`` is True only where it said so. ``complete`` is None for text: it has no end mark.
    """

    gpus: tuple[AmdSmiGpu, ...] = ()
    links: tuple[SmiLink, ...] = ()
    processes: tuple[AmdSmiProcess, ...] = ()
    no_processes: bool = False
    driver_version: str | None = None
    complete: bool | None = None
    lines: dict[str, int] = field(default_factory=dict)

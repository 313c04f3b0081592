"""The records that the reader of rocm-smi gives back."""

from __future__ import annotations

from dataclasses import dataclass, field

from rocdoctor.parsers.amd.smi_links import SmiLink


@dataclass(frozen=True, slots=True)
class RasCounts:
    """Error counts of one block since the driver was loaded."""

    line: int
    correctable: int | None = None
    uncorrectable: int | None = None


@dataclass(frozen=True, slots=True)
class RocmSmiGpu:
    """One device of rocm-smi; ``index`` is its own number (cardN, GPU[N]), ordered by PCI address.

    ``device_id`` is 4 hex digits as lspci prints it; ``unique_id`` 16 hex digits as in sysfs. ``numa_node`` and
    ``numa_affinity`` are -1 where the tool says that the device has no NUMA node. ``temps_c`` has a value per sensor
    name (edge, junction, memory, hbm 0, ...). ``lines`` gives the 1-based line of each field.
    """

    index: int
    line: int
    node: int | None = None
    guid: int | None = None
    name: str | None = None
    device_id: str | None = None
    gfx: str | None = None
    unique_id: str | None = None
    vbios: str | None = None
    pci_address: str | None = None
    temps_c: dict[str, float] = field(default_factory=dict)
    power_w: float | None = None
    power_cap_w: float | None = None
    perf_level: str | None = None
    clocks_mhz: dict[str, float] = field(default_factory=dict)
    pcie_speed_gt_s: float | None = None
    pcie_width: int | None = None
    pcie_replay_count: int | None = None
    gpu_busy_percent: float | None = None
    vram_used_percent: float | None = None
    vram_total_bytes: int | None = None
    vram_used_bytes: int | None = None
    visible_vram_total_bytes: int | None = None
    gtt_total_bytes: int | None = None
    numa_node: int | None = None
    numa_affinity: int | None = None
    compute_partition: str | None = None
    memory_partition: str | None = None
    ras: dict[str, RasCounts] = field(default_factory=dict)
    retired_pages: int | None = None
    lines: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RocmSmi:
    """What one run of rocm-smi said."""

    form: str  # "table", "sections", "json" or "none"
    gpus: tuple[RocmSmiGpu, ...] = ()
    links: tuple[SmiLink, ...] = ()
    driver_version: str | None = None
    complete: bool = False
    lines: dict[str, int] = field(default_factory=dict)

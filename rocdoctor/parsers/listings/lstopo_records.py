"""The records that ``lstopo --of xml`` is read into."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class HwlocNumaNode:
    """One NUMA node; ``cpulist`` is "" for a node without CPUs (GPU or other attached memory).

    ``memory_bytes`` is 0 only where hwloc says that the node has no memory.
    """

    os_index: int | None
    cpulist: str | None
    memory_bytes: int | None
    line: int


@dataclass(frozen=True, slots=True)
class HwlocDistances:
    """A matrix between objects: ``name`` NUMALatency, XGMIBandwidth (MB/s), XGMIHops, NVLinkBandwidth (MB/s), ...

    ``labels`` are NUMA node numbers or names of OS devices, one a row; a row that could not be matched to an object has
    None. Values of NUMALatency are those of ACPI's SLIT (10 is local).
    """

    name: str | None
    labels: tuple[str | None, ...]
    values: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class HwlocOsDevice:
    """What the operating system or a GPU library calls a device.

    ``kind`` is block, gpu, network, openfabrics, dma, coproc or memory; ``backend`` CUDA, NVML, RSMI, OpenCL, LevelZero
    where a library named it. ``vram_bytes`` is from that library. ``model`` may be cut by the library. Serial numbers,
    network addresses and GUIDs are not kept in ``infos``.
    """

    name: str
    kind: str | None
    backend: str | None
    model: str | None
    vram_bytes: int | None
    xgmi_hive_id: str | None
    xgmi_peers: tuple[str, ...]
    infos: Mapping[str, str]
    line: int


@dataclass(frozen=True, slots=True)
class HwlocPciDevice:
    """One PCI device (hwloc leaves out most kinds: GPUs, network, storage and accelerators are listed).

    ``numa_node`` is None where the device is near more than one.
    """

    bdf: str | None
    pci_class: str | None
    pci_id: str | None
    subsystem_id: str | None
    revision: str | None
    name: str | None
    numa_node: int | None
    os_devices: tuple[HwlocOsDevice, ...]
    line: int

    @property
    def is_display_or_accelerator(self) -> bool:
        """PCI base class 03 (display) or 12 (processing accelerator)."""
        return (self.pci_class or "")[:2] in ("03", "12")


@dataclass(frozen=True, slots=True)
class HwlocTopology:
    """One export. CPU sets are list text ("0-15,128-143").

    ``allowed_cpulist`` are the CPUs that the exporting process may use. ``packages``, ``cores`` and ``pus`` count what
    stands in the file: without disallowed ones unless the export asked for them, and where ``truncated`` only those
    before the cut. ``infos`` leaves the host name and serial numbers out.
    """

    packages: int | None = None
    cores: int | None = None
    pus: int | None = None
    cpu_models: tuple[str, ...] = ()
    allowed_cpulist: str | None = None
    numa_nodes: tuple[HwlocNumaNode, ...] = ()
    distances: tuple[HwlocDistances, ...] = ()
    pci_devices: tuple[HwlocPciDevice, ...] = ()
    infos: Mapping[str, str] = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict)
    truncated: bool = False

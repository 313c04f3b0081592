"""The compute topology of the amdgpu driver: /sys/class/kfd/kfd/topology.

Formats: drivers/gpu/drm/amd/amdkfd/kfd_topology.c (Linux 4.9 to 7.1) and kfd_crat.h. Every file is "name value" a line,
all decimal. A node that a device cgroup closes gives an empty text: nothing is known of it, not that it is no GPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rocdoctor.parsers.formats.text import format_pci, lines_of, to_int

_U32 = 0xFFFFFFFF

# CRAT_IOLINK_TYPE_* (kfd_crat.h).
LINK_TYPES = {
    0: "undefined",
    1: "hypertransport",
    2: "pcie",
    3: "amba",
    4: "mipi",
    5: "qpi",
    8: "rapidio",
    9: "infiniband",
    11: "xgmi",
    12: "xgop",
    13: "gz",
    14: "ethernet-rdma",
    15: "rdma",
    16: "other",
}
# CRAT_IOLINK_FLAGS_* (kfd_crat.h).
_NON_COHERENT, _NO_ATOMICS_32, _NO_ATOMICS_64, _NO_PEER_TO_PEER = 0x2, 0x4, 0x8, 0x10


@dataclass(frozen=True, slots=True)
class KfdNode:
    """One node of the topology; a field that this kernel does not print is None.

    ``hive_id`` 0 means: in no hive. ``gfx`` is "gfx90a" or None (CPU, or a kernel before 5.14). ``pci`` is the address
    as the kernel gives it: on a partitioned GPU its function number is the partition's (see ``device_pci``).
    ``compute_units`` is simd_count / simd_per_cu, already the sum over the node's XCCs. ``partition_id`` comes from
    location_id bits 31-28, which some driver releases fill. ``gpu_id`` 0 is a CPU.
    """

    gpu_id: int | None = None
    is_gpu: bool | None = None
    is_cpu: bool | None = None
    gfx: str | None = None
    pci: str | None = None
    partition_id: int | None = None
    compute_units: int | None = None
    vendor_id: int | None = None
    device_id: int | None = None
    drm_render_minor: int | None = None
    hive_id: int | None = None
    unique_id: int | None = None
    lines: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class KfdLink:
    """An io_links or p2p_links entry; bandwidths in MB/s, None where the kernel prints 0 (it does not know).

    ``type_name`` is "pcie" (2), "xgmi" (11) and so on; the other flags tell what this link cannot do.
    """

    type_name: str | None
    node_from: int | None
    node_to: int | None
    weight: int | None
    lines: dict[str, int]


@dataclass(frozen=True, slots=True)
class KfdMemBank:
    """A memory bank: ``heap`` is "system", "vram-visible" (all of it reachable by the CPU) or "vram-private"."""

    heap_type: int | None
    size_bytes: int | None

    @property
    def is_vram(self) -> bool:
        """True for memory of the GPU."""
        return self.heap_type in (1, 2)


def parse_properties(text: str) -> tuple[dict[str, int], dict[str, int]]:
    """Every "name value" line as numbers, and the line each stands on (the first one counts)."""
    values: dict[str, int] = {}
    lines: dict[str, int] = {}
    for number, line in enumerate(lines_of(text, 10_000), start=1):
        words = line.split()
        if len(words) != 2 or len(words[0]) > 80 or words[0] in values:
            continue
        value = to_int(words[1])
        if value is not None and 0 <= value < 1 << 64:
            values[words[0]] = value
            lines[words[0]] = number
    return values, lines


def parse_node(properties: str, gpu_id: str | None = None, name: str | None = None) -> KfdNode:
    """A node from the texts of its ``properties``, ``gpu_id`` and ``name`` files."""
    values, lines = parse_properties(properties)
    get = values.get
    number = to_int(gpu_id) if gpu_id is not None else None
    simd_count, simd_per_cu = get("simd_count"), get("simd_per_cu")
    location, version = get("location_id"), get("gfx_target_version")
    is_gpu = _is_gpu(simd_count, number)
    return KfdNode(
        gpu_id=number,
        is_gpu=is_gpu,
        is_cpu=None if get("cpu_cores_count") is None else get("cpu_cores_count") != 0,
        gfx=gfx_from_target_version(version),
        pci=pci_from_location(location, get("domain")) if is_gpu else None,
        partition_id=location >> 28 & 0xF if is_gpu and location is not None and location >> 28 else None,
        compute_units=simd_count // simd_per_cu if simd_count and simd_per_cu else None,
        vendor_id=get("vendor_id"),
        device_id=get("device_id"),
        # Render nodes count from 128; 0 stands on CPU nodes.
        drm_render_minor=minor if (minor := get("drm_render_minor")) is not None and 128 <= minor < 1 << 20 else None,
        hive_id=get("hive_id"),
        unique_id=get("unique_id") or None,
        # Kernels since 4.20 always print 0 here; the memory banks have the size.
        lines=lines,
    )


def _is_gpu(simd_count: int | None, gpu_id: int | None) -> bool | None:
    if simd_count is not None:
        return simd_count > 0
    return None if gpu_id is None else gpu_id != 0


def gfx_from_target_version(version: int | None) -> str | None:
    """ "gfx90a" from 90010: two decimal digits each of minor and stepping, both printed in hexadecimal; 0 is None."""
    if version is None or not 10_000 <= version < 1_000_000:
        return None
    major, minor, stepping = version // 10_000, version // 100 % 100, version % 100
    return f"gfx{major}{minor:x}{stepping:x}" if minor < 16 and stepping < 16 else None


def pci_from_location(location_id: int | None, domain: int | None = None) -> str | None:
    """The PCI address in location_id (bits 15-8 bus, 7-3 device, 2-0 function); a kernel without domain means 0.

    The function may be the index of a partition: kfd_topology.c ors it in where a device has several nodes.
    """
    if location_id is None or not 0 <= location_id <= _U32 or (domain is not None and domain > _U32):
        return None
    return format_pci(domain or 0, location_id >> 8 & 0xFF, location_id >> 3 & 0x1F, location_id & 7)


def device_groups(nodes: Sequence[KfdNode]) -> tuple[tuple[int, ...], ...]:
    """Indexes into ``nodes`` of the GPU nodes, those of one physical device together, in order of PCI address.

    Nodes are partitions of one device when they share domain, bus and device number and differ in the function or in
    ``partition_id``: no GPU with KFD support has a second compute function of its own. Nodes without an address stay
    alone, at the end.
    """
    slots: dict[str, list[list[int]]] = {}
    alone: list[tuple[int, ...]] = []
    for index, node in enumerate(nodes):
        if not node.is_gpu:
            continue
        if node.pci is None:
            alone.append((index,))
            continue
        groups = slots.setdefault(node.pci.rpartition(".")[0], [[]])
        if any((nodes[one].pci, nodes[one].partition_id) == (node.pci, node.partition_id) for one in groups[-1]):
            groups.append([])
        groups[-1].append(index)
    ordered = sorted(slots, key=lambda slot: [int(part, 16) for part in slot.split(":")])
    return (*(tuple(group) for slot in ordered for group in slots[slot]), *alone)


def device_pci(group: Sequence[KfdNode]) -> str | None:
    """The PCI address of the device whose nodes these are: the lowest one, which for partitions is function 0."""
    addresses = sorted(node.pci for node in group if node.pci is not None)
    return addresses[0] if addresses else None


def parse_link(text: str) -> KfdLink | None:
    """The properties of an io_links or p2p_links entry; None where neither type nor node is in it."""
    values, lines = parse_properties(text)
    get = values.get
    if get("type") is None and get("node_to") is None:
        return None
    kind = get("type")
    return KfdLink(
        type_name=LINK_TYPES.get(kind, "other") if kind is not None else None,
        node_from=get("node_from"),
        node_to=get("node_to"),
        weight=get("weight"),
        lines=lines,
    )


def parse_mem_bank(text: str) -> KfdMemBank | None:
    """The properties of a mem_banks entry; None where neither heap nor size is in it."""
    get = parse_properties(text)[0].get
    heap = get("heap_type")
    if heap is None and get("size_in_bytes") is None:
        return None
    return KfdMemBank(
        heap_type=heap,
        size_bytes=get("size_in_bytes"),
    )


def vram_bytes(banks: Sequence[KfdMemBank]) -> int | None:
    """Device memory of a node: the sum of its VRAM banks, None where there is none (or it was not read)."""
    sizes = [bank.size_bytes for bank in banks if bank.is_vram and bank.size_bytes]
    return sum(sizes) if sizes else None

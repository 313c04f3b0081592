"""GPUs as listings of the machine show them: lspci, hwloc, the topology dump of RCCL and NCCL, the kernel log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocdoctor.collect.gpus.pci import VENDORS, gpu_vendor, is_plain_display
from rocdoctor.collect.gpus.records import GpuRecord
from rocdoctor.model.evidence import NOT_ASKED, Fact, Known, Source
from rocdoctor.model.facts import ComputeNode, Display, LinkState, PcieHop
from rocdoctor.parsers.formats.text import whole_number
from rocdoctor.parsers.kernel.pci import PciClass, is_virtual_bridge, parse_class

if TYPE_CHECKING:
    from rocdoctor.parsers.listings.lspci import LspciDevice, UpstreamPaths
    from rocdoctor.parsers.listings.lstopo_records import HwlocOsDevice, HwlocPciDevice, HwlocTopology
    from rocdoctor.parsers.listings.rccl_topo import RcclPci, RcclTopology

_CLASS_BY_NAME = {
    "vga compatible controller": "0300",
    "3d controller": "0302",
    "display controller": "0380",
    "processing accelerators": "1200",
    "xga compatible controller": "0301",
}
_VENDOR_WORDS = (
    ("advanced micro devices", 0x1002),
    ("[amd/ati]", 0x1002),
    ("nvidia", 0x10DE),
    ("intel corporation", 0x8086),
)


def _class_of(device: LspciDevice) -> PciClass | None:
    return parse_class(device.class_code or _CLASS_BY_NAME.get((device.class_name or "").lower()))


def _vendor_id(device: LspciDevice) -> int | None:
    if device.vendor_id:
        return int(device.vendor_id, 16)
    name = (device.name or device.vendor_name or "").lower()
    return next((number for words, number in _VENDOR_WORDS if words in name), None)


def _link(device: LspciDevice, question: str) -> LinkState:
    def fact(value: object, field: str) -> Fact[object]:
        return NOT_ASKED if value is None else Known(value, Source(question, device.lines.get(field, device.line)))

    cap, status = device.link_cap, device.link_status
    return LinkState(
        fact(status.speed_gt_s if status else None, "link_status"),  # type: ignore[arg-type]
        fact(status.width if status else None, "link_status"),  # type: ignore[arg-type]
        fact(cap.speed_gt_s if cap else None, "link_cap"),  # type: ignore[arg-type]
        fact(cap.width if cap else None, "link_cap"),  # type: ignore[arg-type]
    )


def lspci_records(devices: tuple[LspciDevice, ...], question: str) -> tuple[list[GpuRecord], list[Display]]:
    """GPUs and plain displays of an lspci output."""
    # Without a driver line anywhere the output was made without -k or -v, and says nothing of drivers.
    tells_drivers = any(device.driver or device.modules for device in devices)
    from rocdoctor.parsers.listings.lspci import UpstreamPaths

    paths = UpstreamPaths(devices)
    found: list[GpuRecord] = []
    displays: list[Display] = []
    for device in devices:
        vendor_id, pci_class = _vendor_id(device), _class_of(device)
        source = Source(question, device.line)
        if is_plain_display(vendor_id, pci_class):
            identifier: Fact[str] = NOT_ASKED
            if device.vendor_id and device.device_id:
                identifier = Known(f"{device.vendor_id}:{device.device_id}", source)
            name: Fact[str] = Known(device.name, source) if device.name else NOT_ASKED
            driver: Fact[str | None] = Known(device.driver, source) if tells_drivers else NOT_ASKED
            displays.append(Display(Known(device.bdf, source), identifier, name, driver))
            continue
        vendor = gpu_vendor(vendor_id, pci_class)
        if vendor is not None:
            found.append(_lspci_record(device, paths, vendor, question, tells_drivers))
    return found, displays


def _lspci_record(
    device: LspciDevice, paths: UpstreamPaths, vendor: str, question: str, tells_drivers: bool
) -> GpuRecord:
    record = GpuRecord("lspci", vendor, bdf=device.bdf)

    def put(key: str, value: object, field: str) -> None:
        record.put(key, value, question, device.lines.get(field, device.line))

    put("bdf", device.bdf, "bdf")
    put("name", device.device_name or device.name, "name")
    if device.vendor_id and device.device_id:
        put("pci_id", f"{device.vendor_id}:{device.device_id}", "device_id")
    if device.subsystem_vendor_id and device.subsystem_device_id:
        put("subsystem_id", f"{device.subsystem_vendor_id}:{device.subsystem_device_id}", "subsystem_device_id")
    put("revision", device.revision, "revision")
    put("numa_node", device.numa_node, "numa_node")
    if device.driver or tells_drivers:
        record.facts["driver"] = Known(device.driver, Source(question, device.lines.get("driver", device.line)))
    link = _link(device, question)
    for key in ("speed_gt_s", "width", "max_speed_gt_s", "max_width"):
        record.put_fact(f"pcie.device.{key}", getattr(link, key))
    if device.regions:
        sizes = [region.size_bytes for region in device.regions if region.size_bytes]
        put("pcie.bar_bytes", max(sizes, default=None), "regions")
    path = paths.of(device.bdf)
    if path:
        put("pcie.hops", tuple(_hop(bridge, question) for bridge in path), "bdf")
        put("pcie.path_complete", True, "bdf")
    return record


def _hop(bridge: LspciDevice, question: str) -> PcieHop:
    source = Source(question, bridge.line)
    vendor: Fact[str] = Known(bridge.vendor_id, source) if bridge.vendor_id else NOT_ASKED
    device: Fact[str] = Known(bridge.device_id, source) if bridge.device_id else NOT_ASKED
    number = int(bridge.vendor_id, 16) if bridge.vendor_id else None
    redirect: Fact[bool] = NOT_ASKED
    if bridge.acs_enabled is not None:
        redirect = Known(
            "ReqRedir" in bridge.acs_enabled, Source(question, bridge.lines.get("acs_enabled", bridge.line))
        )
    return PcieHop(bridge.bdf, vendor, device, _link(bridge, question), bool(is_virtual_bridge(number)), redirect)


def rccl_records(topology: RcclTopology, question: str) -> list[GpuRecord]:
    """GPUs of a topology dump. Its link figures come from max_link_* files, so they are no present state."""
    found: list[GpuRecord] = []
    for gpu in topology.gpus:
        vendor = "amd" if gpu.gfx else "nvidia" if gpu.compute_capability else "other"
        if gpu.pci is not None and gpu.pci.pci_id:
            vendor = VENDORS.get(int(gpu.pci.pci_id.split(":")[0], 16), vendor)
        record = GpuRecord("rccl", vendor, bdf=gpu.bdf)
        record.put("bdf", gpu.bdf, question, gpu.line)
        record.put("gfx", gpu.gfx, question, gpu.line)
        record.put("compute_capability", gpu.compute_capability, question, gpu.line)
        record.put("compute_units", gpu.compute_units, question, gpu.line)
        record.put("numa_node", gpu.numa_node, question, gpu.line)
        if gpu.pci is not None:
            record.put("pci_id", gpu.pci.pci_id, question, gpu.pci.line)
            record.put("subsystem_id", gpu.pci.subsystem_id, question, gpu.pci.line)
            record.put("pcie.device.max_speed_gt_s", gpu.pci.max_speed_gt_s, question, gpu.pci.line)
            record.put("pcie.device.max_width", gpu.pci.max_width, question, gpu.pci.line)
        hops = tuple(_rccl_hop(pci, question) for pci in reversed(gpu.upstream) if pci.bdf)
        if hops:
            record.put("pcie.hops", hops, question, gpu.line)
        found.append(record)
    return found


def _rccl_hop(pci: RcclPci, question: str) -> PcieHop:
    source = Source(question, pci.line)
    speed: Fact[float] = Known(pci.max_speed_gt_s, source) if pci.max_speed_gt_s is not None else NOT_ASKED
    width: Fact[int] = Known(pci.max_width, source) if pci.max_width is not None else NOT_ASKED
    return PcieHop(pci.bdf or "", link=LinkState(max_speed_gt_s=speed, max_width=width))


def lstopo_records(topology: HwlocTopology, question: str) -> tuple[list[GpuRecord], list[Display]]:
    """GPUs and plain displays of an hwloc export; several ROCm devices of one PCI device are its partitions."""
    found: list[GpuRecord] = []
    displays: list[Display] = []
    kfd_base = _kfd_base(topology)
    for device in topology.pci_devices:
        if not device.is_display_or_accelerator or device.bdf is None:
            continue
        vendor_id = int(device.pci_id.split(":")[0], 16) if device.pci_id else None
        pci_class = parse_class(device.pci_class)
        source = Source(question, device.line)
        if is_plain_display(vendor_id, pci_class):
            identifier: Fact[str] = Known(device.pci_id, source) if device.pci_id else NOT_ASKED
            displays.append(Display(Known(device.bdf, source), identifier))
            continue
        vendor = gpu_vendor(vendor_id, pci_class)
        if vendor is not None:
            found.append(_lstopo_record(device, vendor, question, kfd_base))
    return found, displays


def _lstopo_record(device: HwlocPciDevice, vendor: str, question: str, kfd_base: int | None) -> GpuRecord:
    record = GpuRecord("lstopo", vendor, bdf=device.bdf)
    line = device.line
    record.put("bdf", device.bdf, question, line)
    record.put("pci_id", device.pci_id, question, line)
    record.put("subsystem_id", device.subsystem_id, question, line)
    record.put("revision", device.revision, question, line)
    record.put("numa_node", device.numa_node, question, line)
    libraries = [one for one in device.os_devices if one.backend in ("RSMI", "NVML", "CUDA")]
    models = [one.model for one in device.os_devices if one.backend in ("NVML", "CUDA") and one.model]
    record.put("name", models[0] if models else device.name, question, line)
    rsmi = [one for one in libraries if one.backend == "RSMI"]
    sizes = [one.vram_bytes for one in libraries if one.vram_bytes]
    if len(rsmi) > 1:
        if len([one for one in rsmi if one.vram_bytes]) == len(rsmi):
            record.put("vram_bytes", sum(one.vram_bytes or 0 for one in rsmi), question, line)
    elif sizes:
        record.put("vram_bytes", sizes[0], question, line)
    record.nodes = [_partition(one, kfd_base, question) for one in rsmi] if kfd_base is not None else []
    hives = [one.xgmi_hive_id for one in rsmi if one.xgmi_hive_id]
    if hives:
        record.put("hive_id", hives[0].removeprefix("0x").rjust(16, "0"), question, rsmi[0].line)
    if rsmi and _rsmi_number(rsmi[0]) >= 0:
        record.put("smi_index", _rsmi_number(rsmi[0]), question, rsmi[0].line)
    return record


def _partition(device: HwlocOsDevice, kfd_base: int, question: str) -> ComputeNode:
    source = Source(question, device.line)
    vram: Fact[int] = Known(device.vram_bytes, source) if device.vram_bytes else NOT_ASKED
    return ComputeNode(Known(kfd_base + _rsmi_number(device), source), vram_bytes=vram)


def _rsmi_number(device: HwlocOsDevice) -> int:
    number = whole_number(device.name.removeprefix("rsmi"), 99_999)
    return -1 if number is None else number


def _kfd_base(topology: HwlocTopology) -> int | None:
    """The KFD node of ROCm device 0: KFD lists the NUMA nodes with CPUs first, then the GPUs in the library's order.

    (kfd_topology.c adds CPU nodes from the CRAT table before any GPU.) None when the numbers of the devices have gaps,
    or when a restricted export may hide nodes.
    """
    devices = [one for device in topology.pci_devices for one in device.os_devices if one.backend == "RSMI"]
    numbers = sorted(_rsmi_number(one) for one in devices)
    cpu_nodes = sum(bool(node.cpulist) for node in topology.numa_nodes)
    return cpu_nodes if cpu_nodes and numbers == list(range(len(numbers))) else None

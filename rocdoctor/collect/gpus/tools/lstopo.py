"""GPUs and plain displays of an hwloc export; several ROCm devices of one PCI device are its partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocdoctor.collect.gpus.pci import gpu_vendor, is_plain_display
from rocdoctor.collect.gpus.records import GpuRecord, RecordSource
from rocdoctor.collect.gpus.tool import Tool
from rocdoctor.host.base import Answer
from rocdoctor.model.evidence import NOT_ASKED, Fact, Known, Source
from rocdoctor.model.facts import ComputeNode, Display
from rocdoctor.parsers.formats.text import whole_number
from rocdoctor.parsers.kernel.pci import parse_class

if TYPE_CHECKING:
    from rocdoctor.parsers.listings.lstopo_records import HwlocOsDevice, HwlocPciDevice, HwlocTopology

_SOURCE = RecordSource(220, "lstopo")


def _parse(answer: Answer) -> HwlocTopology:
    from rocdoctor.parsers.listings.lstopo import parse_lstopo

    return parse_lstopo(answer.text)


def _records(topology: HwlocTopology, answer: Answer) -> list[GpuRecord | Display]:
    question = answer.question
    found: list[GpuRecord | Display] = []
    kfd_base = _kfd_base(topology)
    for device in topology.pci_devices:
        if not device.is_display_or_accelerator or device.bdf is None:
            continue
        vendor_id = int(device.pci_id.split(":")[0], 16) if device.pci_id else None
        pci_class = parse_class(device.pci_class)
        source = Source(question, device.line)
        if is_plain_display(vendor_id, pci_class):
            identifier: Fact[str] = Known(device.pci_id, source) if device.pci_id else NOT_ASKED
            found.append(Display(Known(device.bdf, source), identifier))
            continue
        vendor = gpu_vendor(vendor_id, pci_class)
        if vendor is not None:
            found.append(_lstopo_record(device, vendor, question, kfd_base))
    return found


def _lstopo_record(device: HwlocPciDevice, vendor: str, question: str, kfd_base: int | None) -> GpuRecord:
    record = GpuRecord(_SOURCE, vendor, bdf=device.bdf)
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


TOOL = Tool(220, _parse, dump=lambda text: "<topology" in text[:5000], records=_records)

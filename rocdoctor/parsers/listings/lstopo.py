"""``lstopo --of xml``: the XML of hwloc 1, 2 and 3."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.cpuset import mask_to_list, mask_to_set
from rocdoctor.parsers.formats.text import pci_address, to_bytes, to_int, value_of
from rocdoctor.parsers.formats.xml import Element, parse_xml
from rocdoctor.parsers.listings.lstopo_distances import read_distances
from rocdoctor.parsers.listings.lstopo_records import (
    HwlocNumaNode,
    HwlocOsDevice,
    HwlocPciDevice,
    HwlocTopology,
)

_MAX_DEVICES = 8192
_PCI_TYPE = regex(
    r"([0-9a-f]{4}) \[([0-9a-f]{4}):([0-9a-f]{4})\](?: \[([0-9a-f]{4}):([0-9a-f]{4})\](?: ([0-9a-f]{2}))?)?"
)
# hwloc_obj_osdev_type_e of hwloc 1 and 2.
_OSDEV_KINDS = {0: "block", 1: "gpu", 2: "network", 3: "openfabrics", 4: "dma", 5: "coproc", 6: "memory"}
_BACKENDS = {"cuda": "CUDA", "nvml": "NVML", "rsmi": "RSMI", "opencl": "OpenCL", "ze": "LevelZero"}
# Values without a unit in these are KiB (hwloc's documentation, "Object attributes and info").
_VRAM_INFOS = (
    "RSMIVRAMSize",
    "CUDAGlobalMemorySize",
    "LevelZeroHBMSize",
    "LevelZeroDDRSize",
    "LevelZeroMemorySize",
    "OpenCLGlobalMemorySize",
)
_SIZE = regex(r"\d{1,15}(?: ?[KMGT]?i?B)?\Z")
# What names a machine, a person's device or a place in a network.
_IDENTITY = regex(r"Serial|GUID|^Port\d+GID|^Address$|^HostName$|AssetTag|^LinuxCgroup$|ProductUUID")


def parse_lstopo(text: str) -> HwlocTopology:
    """Reads one export; damaged XML gives what stood before the damage, other text an empty result."""
    document = parse_xml(text)
    root = document.root
    if root is None or root.tag not in ("topology", "root"):
        return HwlocTopology(truncated=document.truncated)
    machine = root.child("object", "info")
    if machine is None or machine.tag != "object":
        machine = next(iter(root.find_all("object")), None)
    if machine is None:
        return HwlocTopology(truncated=document.truncated)
    nodes = [one for one in root.walk() if one.tag == "object" and one.get("type") == "NUMANode"]
    infos = {**_infos(root), **_infos(machine)}
    counts, models = _count(machine)
    allowed = mask_to_list(machine.get("allowed_cpuset"))
    nodes_with_cpus = {
        node for one in nodes if (node := _natural(one.get("os_index"))) is not None and mask_to_set(one.get("cpuset"))
    }
    return HwlocTopology(
        packages=counts["Package"],
        cores=counts["Core"],
        pus=counts["PU"],
        cpu_models=models,
        allowed_cpulist=allowed or None,
        numa_nodes=tuple(_numa_node(one) for one in nodes[:_MAX_DEVICES]),
        distances=read_distances(root),
        pci_devices=tuple(_pci_devices(machine, nodes_with_cpus)),
        infos=infos,
        lines={"allowed_cpulist": machine.line} if allowed else {},
        truncated=document.truncated,
    )


def _infos(element: Element) -> dict[str, str]:
    found: dict[str, str] = {}
    for one in [*element.children, *element.find_all("infos/info")]:
        name, value = one.get("name"), value_of(one.get("value"))
        if one.tag == "info" and name and value is not None and not _IDENTITY.search(name):
            found.setdefault(name[:100], value)
    return found


def _count(machine: Element) -> tuple[dict[str, int | None], tuple[str, ...]]:
    counts: dict[str, int] = {"Package": 0, "Core": 0, "PU": 0}
    models: list[str] = []
    for one in machine.walk():
        kind = {"Socket": "Package"}.get(one.get("type") or "", one.get("type") or "")
        if one.tag != "object" or kind not in counts:
            continue
        counts[kind] += 1
        model = _infos(one).get("CPUModel") if kind == "Package" else None
        if model is not None and model not in models:
            models.append(model)
    if not models and (model := _infos(machine).get("CPUModel")):
        models.append(model)
    return {kind: count or None for kind, count in counts.items()}, tuple(models)


def _numa_node(one: Element) -> HwlocNumaNode:
    memory = _natural(one.get("local_memory"))
    if memory is None and (inner := one.child("memory")) is not None:
        memory = _natural(inner.get("local_memory"))
    if memory is None and mask_to_set(one.get("nodeset")) == frozenset():
        # hwloc 1 takes a node without memory out of its own node set, and writes no size of 0.
        memory = 0
    return HwlocNumaNode(
        os_index=_natural(one.get("os_index")),
        cpulist=mask_to_list(one.get("cpuset")),
        memory_bytes=memory,
        line=one.line,
    )


def _pci_devices(machine: Element, nodes_with_cpus: set[int]) -> Iterator[HwlocPciDevice]:
    stack: list[tuple[Element, tuple[Element, ...]]] = [(machine, ())]
    found = 0
    while stack:
        one, around = stack.pop()
        kind = one.get("type")
        inner_around = around
        if kind == "PCIDev":
            found += 1
            if found > _MAX_DEVICES:
                return
            yield _pci_device(one, around, nodes_with_cpus)
        elif kind != "Bridge":
            inner_around = (one, *around)
        stack.extend((child, inner_around) for child in reversed(one.children) if child.tag == "object")


def _pci_device(one: Element, around: tuple[Element, ...], nodes_with_cpus: set[int]) -> HwlocPciDevice:
    ids = _PCI_TYPE.match((one.get("pci_type") or "").lower())
    infos = _infos(one)
    subsystem = f"{ids.group(4)}:{ids.group(5)}" if ids and ids.group(4) else None
    devices = [child for child in one.walk() if child.tag == "object" and child.get("type") == "OSDev"]
    return HwlocPciDevice(
        bdf=pci_address(one.get("pci_busid")),
        pci_class=ids.group(1) if ids else None,
        pci_id=f"{ids.group(2)}:{ids.group(3)}" if ids else None,
        subsystem_id=None if subsystem == "0000:0000" else subsystem,
        revision=ids.group(6) if ids else None,
        name=infos.get("PCIDevice") or value_of(one.get("name")),
        numa_node=_near_node(around, nodes_with_cpus),
        os_devices=tuple(_os_device(child) for child in devices[:_MAX_DEVICES]),
        line=one.line,
    )


def _near_node(around: tuple[Element, ...], nodes_with_cpus: set[int]) -> int | None:
    """The one NUMA node with CPUs that the object around the device belongs to."""
    for other in around:
        # hwloc 1 nests packages and devices in NUMA nodes; a node without memory is in no node set.
        if other.get("type") == "NUMANode":
            return _natural(other.get("os_index"))
        near = mask_to_set(other.get("nodeset"))
        if near:
            # Memory of GPUs (POWER9, Grace) is a node without CPUs in the same package.
            with_cpus = near & nodes_with_cpus
            return next(iter(with_cpus)) if len(with_cpus) == 1 else None
    return None


def _os_device(one: Element) -> HwlocOsDevice:
    infos = _infos(one)
    kind = _natural(one.get("osdev_type"))
    name = (one.get("name") or "")[:200]
    peers = (infos.get("XGMIPeers") or "").split()[:_MAX_DEVICES]
    hive = infos.get("XGMIHiveID")
    backend = infos.get("Backend") or _BACKENDS.get(re.sub(r"\d.*", "", name))
    return HwlocOsDevice(
        name=name,
        kind=None if kind is None else _OSDEV_KINDS.get(kind),
        backend=backend,
        model=infos.get("GPUModel") or infos.get("CoProcModel"),
        vram_bytes=_vram(infos),
        xgmi_hive_id=hive if hive and hive.strip("0") else None,
        xgmi_peers=tuple(peers),
        infos=infos,
        line=one.line,
    )


def _vram(infos: Mapping[str, str]) -> int | None:
    sizes = (to_bytes(infos[name], "KiB") for name in _VRAM_INFOS if _SIZE.match(infos.get(name, "")))
    return next((size for size in sizes if size), None)


def _natural(text: str | None) -> int | None:
    found = to_int(text)
    return found if found is not None and found >= 0 else None

"""How GPUs reach each other: XGMI, NVLink, PCIe peer to peer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rocdoctor.collect.gpus.kfd import KfdTopology
from rocdoctor.collect.gpus.records import Device
from rocdoctor.collect.gpus.tool import Tools
from rocdoctor.collect.gpus.tools import amd_smi, lstopo, nvidia_topo, rccl_topo, rocm_smi
from rocdoctor.model.evidence import NOT_ASKED, Fact, Known, Source, value_or
from rocdoctor.model.facts import Gpu, GpuLink

# amdgpu gives one XGMI hop the weight 15, and 13 from kernel 6.x on for GPUs with coherent links (kfd_crat.c).
_XGMI_HOP_WEIGHTS = (15, 13)


@dataclass(slots=True)
class _Found:
    type: str
    weight: Fact[int] = NOT_ASKED
    hops: Fact[int] = NOT_ASKED
    count: Fact[int] = NOT_ASKED


class _Table:
    """One entry a pair of GPUs; a fast link stands before PCIe, an earlier source before a later one."""

    def __init__(self) -> None:
        self.pairs: dict[tuple[int, int], _Found] = {}

    def add(self, a: int | None, b: int | None, found: _Found) -> None:
        if a is None or b is None or a == b:
            return
        key = (min(a, b), max(a, b))
        old = self.pairs.get(key)
        if old is None or (old.type == "pcie" and found.type != "pcie"):
            self.pairs[key] = found
        elif old.type == found.type:
            for name in ("weight", "hops", "count"):
                if not isinstance(getattr(old, name), Known):
                    setattr(old, name, getattr(found, name))


def gpu_links(
    gpus: Sequence[Gpu], devices: Sequence[Device], topology: KfdTopology, tools: Tools
) -> tuple[GpuLink, ...]:
    """Links between physical GPUs, each pair once, from KFD, the tools and topology dumps."""
    table = _Table()
    _from_kfd(table, gpus, topology)
    _from_smi(table, devices, tools)
    by_bdf = {gpu.bdf.value: gpu.index for gpu in gpus if isinstance(gpu.bdf, Known)}
    for dump, answer in tools.of(rccl_topo.TOOL):
        for one in dump.gpus:
            for link in one.links:
                source = Source(answer.question, link.line)
                count: Fact[int] = Known(link.count, source) if link.count is not None else NOT_ASKED
                kind = "xgmi" if link.kind == "xgmi" else "nvlink"
                table.add(by_bdf.get(one.bdf or ""), by_bdf.get(link.target or ""), _Found(kind, count=count))
    for hwloc, _ in tools.of(lstopo.TOOL):
        owner = {os.name: by_bdf.get(device.bdf or "") for device in hwloc.pci_devices for os in device.os_devices}
        for device in hwloc.pci_devices:
            for os_device in device.os_devices:
                for peer in os_device.xgmi_peers:
                    table.add(by_bdf.get(device.bdf or ""), owner.get(peer), _Found("xgmi"))
    for matrix, answer in tools.of(nvidia_topo.TOOL):
        from rocdoctor.parsers.nvidia.nvidia_links import nvlink_count

        places = {f"GPU{value_or(gpu.smi_index, gpu.index)}": gpu.index for gpu in gpus if gpu.vendor == "nvidia"}
        for row in matrix.rows:
            for other, kind in row.links.items():
                bonded = nvlink_count(kind)
                if bonded and row.name in places and other in places:
                    source = Source(answer.question, row.line)
                    table.add(places[row.name], places[other], _Found("nvlink", count=Known(bonded, source)))
    return tuple(
        GpuLink(a, b, found.type, found.weight, found.hops, found.count)
        for (a, b), found in sorted(table.pairs.items())
    )


def _from_kfd(table: _Table, gpus: Sequence[Gpu], topology: KfdTopology) -> None:
    owner = {
        node.kfd_node.value: gpu.index for gpu in gpus for node in gpu.compute_nodes if isinstance(node.kfd_node, Known)
    }
    for one in topology.links:
        link = one.link
        if link.type_name not in ("xgmi", "pcie") or link.node_from is None or link.node_to is None:
            continue
        weight: Fact[int] = NOT_ASKED
        hops: Fact[int] = NOT_ASKED
        if link.weight is not None:
            weight = Known(link.weight, Source(one.question, link.lines.get("weight")))
            step = next((base for base in _XGMI_HOP_WEIGHTS if link.weight and link.weight % base == 0), None)
            if link.type_name == "xgmi" and step is not None:
                hops = Known(link.weight // step, weight.source)
        table.add(owner.get(link.node_from), owner.get(link.node_to), _Found(link.type_name, weight, hops))


def _from_smi(table: _Table, devices: Sequence[Device], tools: Tools) -> None:
    owner = {
        (record.source, record.position): index
        for index, device in enumerate(devices)
        for record in device.records
        if record.position is not None
    }
    for origin, outputs in (
        (rocm_smi.SOURCE, tools.of(rocm_smi.TOOL)),
        (amd_smi.SOURCE, tools.of(amd_smi.TOOL)),
    ):
        for output, answer in outputs:
            for link in output.links:
                if link.type not in ("xgmi", "pcie"):
                    continue
                source = Source(answer.question, link.line)
                weight: Fact[int] = Known(link.weight, source) if link.weight is not None else NOT_ASKED
                hops: Fact[int] = Known(link.hops, source) if link.hops is not None else NOT_ASKED
                a, b = owner.get((origin, link.a)), owner.get((origin, link.b))
                table.add(a, b, _Found(link.type, weight, hops))

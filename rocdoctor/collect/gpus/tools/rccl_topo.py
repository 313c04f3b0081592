"""GPUs of a topology dump of RCCL or NCCL; its link figures come from max_link_* files: no present state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocdoctor.collect.gpus.pci import VENDORS
from rocdoctor.collect.gpus.records import GpuRecord, RecordSource
from rocdoctor.collect.gpus.tool import Tool, told
from rocdoctor.host.base import Answer
from rocdoctor.model.facts import LinkState, PcieHop

if TYPE_CHECKING:
    from rocdoctor.parsers.listings.rccl_topo import RcclPci, RcclTopology

SOURCE = RecordSource(230, "rccl", compared=False)


def _is_dump(text: str) -> bool:
    return "<system" in text[:4000] and ("<cpu " in text[:20_000] or "<gpu " in text[:200_000])


def _parse(answer: Answer) -> RcclTopology:
    from rocdoctor.parsers.listings.rccl_topo import parse_rccl_topo

    return parse_rccl_topo(answer.text)


def _records(topology: RcclTopology, answer: Answer) -> list[GpuRecord]:
    question = answer.question
    found: list[GpuRecord] = []
    for gpu in topology.gpus:
        vendor = "amd" if gpu.gfx else "nvidia" if gpu.compute_capability else "other"
        if gpu.pci is not None and gpu.pci.pci_id:
            vendor = VENDORS.get(int(gpu.pci.pci_id.split(":")[0], 16), vendor)
        record = GpuRecord(SOURCE, vendor, bdf=gpu.bdf)
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
    speed, width = told(pci.max_speed_gt_s, question, pci.line), told(pci.max_width, question, pci.line)
    return PcieHop(pci.bdf or "", link=LinkState(max_speed_gt_s=speed, max_width=width))


TOOL = Tool(230, _parse, dump=_is_dump, records=_records)

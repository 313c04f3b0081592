"""GPUs, their partitions and links as the compute driver (KFD) lists them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from rocdoctor.collect.gpus.records import KFD, GpuRecord
from rocdoctor.collect.reading import names_in
from rocdoctor.host.base import Host
from rocdoctor.model.evidence import NOT_ASKED, Fact, Known, Source, Unknown
from rocdoctor.model.facts import ComputeNode
from rocdoctor.parsers.formats.text import whole_number
from rocdoctor.parsers.kernel.kfd import (
    KfdLink,
    KfdNode,
    device_groups,
    device_pci,
    parse_link,
    parse_mem_bank,
    parse_node,
)
from rocdoctor.parsers.kernel.kfd import vram_bytes as bank_bytes

TOPOLOGY = "/sys/class/kfd/kfd/topology"


@dataclass(frozen=True, slots=True)
class NodeLink:
    """A link between two KFD nodes, and the question that gave it."""

    link: KfdLink
    question: str


@dataclass(slots=True)
class KfdTopology:
    """What KFD lists. ``complete``: no node is missing here; ``links_complete``: no link of the listed GPUs is."""

    present: Fact[bool] = NOT_ASKED
    gpu_nodes: Fact[int] = NOT_ASKED
    records: list[GpuRecord] = field(default_factory=list)
    links: list[NodeLink] = field(default_factory=list)
    cpu_nodes: list[int] = field(default_factory=list)
    complete: bool = False
    links_complete: bool = False
    hidden: Fact[int] = NOT_ASKED


# A node is a CPU socket or a partition of a GPU: one machine has far fewer.
_MAX_NODES = 512


def topology(host: Host) -> KfdTopology:
    """Read the whole topology."""
    listed = host.ask(f"list {TOPOLOGY}/nodes/*")
    result = KfdTopology()
    folders = sorted(listed.lines(), key=lambda path: (len(path), path))[:_MAX_NODES] if listed.ok else []
    if not folders:
        if listed.ok and listed.complete:
            result.present = Known(False, listed.source())
            result.complete = True
        else:
            result.present = Unknown(f"no KFD topology in this evidence ({TOPOLOGY})", "not-asked", listed.source())
        result.gpu_nodes = Unknown("no KFD topology", "absent" if listed.complete else "not-asked", listed.source())
        return result
    host.prefetch(f"read {folder}/{name}" for folder in folders for name in ("properties", "gpu_id", "name"))
    numbers: list[int] = []
    nodes: list[KfdNode] = []
    hidden, whole = 0, listed.complete and len(listed.lines()) <= _MAX_NODES
    for folder in folders:
        number = folder.rsplit("/", 1)[-1]
        properties = host.ask(f"read {folder}/properties")
        # A device cgroup (containers, schedulers) refuses the properties of nodes that it hides, or leaves them empty.
        hidden += properties.status == "denied" or (properties.ok and not properties.data.strip())
        whole = whole and (properties.status == "denied" or (properties.ok and properties.complete))
        if (place := whole_number(number, 999_999)) is None or not properties.ok:
            continue
        gpu_id, name = host.ask(f"read {folder}/gpu_id"), host.ask(f"read {folder}/name")
        node = parse_node(properties.text, gpu_id.text if gpu_id.ok else None, name.text if name.ok else None)
        numbers.append(place)
        nodes.append(node)
        if node.is_cpu:
            result.cpu_nodes.append(place)
    result.present = Known(True, listed.source())
    result.complete = whole
    result.hidden = Known(hidden, listed.source())
    for group in device_groups(nodes):
        result.records.append(_record(host, [(numbers[index], nodes[index]) for index in group]))
    count = sum(len(record.nodes) for record in result.records)
    result.gpu_nodes = Known(count, listed.source())
    result.links_complete = whole and hidden == 0
    for gpu_number, node in zip(numbers, nodes, strict=True):
        if node.is_gpu:
            links, all_read = _links(host, gpu_number)
            result.links += links
            result.links_complete = result.links_complete and all_read
    return result


def _record(host: Host, members: list[tuple[int, KfdNode]]) -> GpuRecord:
    number, first = members[0]
    ask = f"read {TOPOLOGY}/nodes/{number}/properties"
    bdf = device_pci([node for _, node in members])
    record = GpuRecord(
        KFD,
        "amd",
        bdf=bdf,
        unique_id=first.unique_id or None,
        kfd_node=number,
        gpu_id=first.gpu_id,
        render_minor=first.drm_render_minor or None,
        partition_of_address=len(members) > 1,
    )
    line = first.lines.get
    record.put("bdf", bdf, ask, line("location_id"))
    record.put("gfx", first.gfx, ask, line("gfx_target_version"))
    record.put("kfd_node", number, ask)
    if first.vendor_id == 0x1002 and first.device_id:
        record.put("pci_id", f"1002:{first.device_id:04x}", ask, line("device_id"))
    if first.unique_id:
        record.put("unique_id", f"{first.unique_id:016x}", ask, line("unique_id"))
    if first.hive_id is not None:
        hive = f"{first.hive_id:016x}" if first.hive_id else None
        record.facts["hive_id"] = Known(hive, Source(ask, line("hive_id")))
    if first.drm_render_minor:
        record.put("render_minor", first.drm_render_minor, ask, line("drm_render_minor"))
    units = [node.compute_units for _, node in members]
    if all(unit is not None for unit in units):
        record.put("compute_units", sum(unit or 0 for unit in units), ask, line("simd_count"))
    sizes: list[int | None] = []
    for node_number, node in members:
        size = _vram(host, node_number)
        sizes.append(size.value if isinstance(size, Known) else None)
        record.nodes.append(_node(node_number, node, size))
    if all(size is not None for size in sizes):
        question = f"read {TOPOLOGY}/nodes/{number}/mem_banks/0/properties"
        record.put("vram_bytes", sum(size or 0 for size in sizes), question)
    return record


def _node(number: int, node: KfdNode, vram: Fact[int]) -> ComputeNode:
    ask = f"read {TOPOLOGY}/nodes/{number}/properties"

    def fact(value: int | None, name: str) -> Fact[int]:
        if value is None:
            return Unknown(f"{ask} does not state it", "absent", Source(ask))
        return Known(value, Source(ask, node.lines.get(name)))

    return ComputeNode(
        Known(number, Source(ask)),
        fact(node.gpu_id, "gpu_id"),
        fact(node.compute_units, "simd_count"),
        vram,
        fact(node.drm_render_minor or None, "drm_render_minor"),
    )


def _vram(host: Host, number: int) -> Fact[int]:
    folder = f"{TOPOLOGY}/nodes/{number}/mem_banks"
    answers = [host.ask(f"read {path}/properties") for path in names_in(host, f"{folder}/*")]
    banks = [bank for answer in answers if answer.ok and (bank := parse_mem_bank(answer.text)) is not None]
    total = bank_bytes(banks)
    if total is None:
        return Unknown(f"no memory bank under {folder}", "not-asked", Source(f"list {folder}/*"))
    return Known(total, answers[0].source())


def _links(host: Host, number: int) -> tuple[list[NodeLink], bool]:
    """The links of a node, and whether these are all of them."""
    found: list[NodeLink] = []
    whole = True
    for kind in ("io_links", "p2p_links"):
        listed = host.ask(f"list {TOPOLOGY}/nodes/{number}/{kind}/*")
        whole = whole and listed.complete and listed.status in ("ok", "absent")
        paths = listed.lines()[:_MAX_NODES] if listed.ok else []
        host.prefetch(f"read {path}/properties" for path in paths)
        for path in paths:
            answer = host.ask(f"read {path}/properties")
            link = parse_link(answer.text) if answer.ok and re.search(r"/\d+$", path) else None
            whole = whole and answer.ok and answer.complete
            if link is not None:
                found.append(NodeLink(link, answer.question))
    return found, whole

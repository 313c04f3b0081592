"""NUMA nodes: sysfs first, then the listings that show them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rocdoctor.collect.gpus.tool import Tools
from rocdoctor.collect.gpus.tools import lstopo, rccl_topo
from rocdoctor.collect.reading import as_fact, names_in
from rocdoctor.collect.recorded_outputs import outputs, stated
from rocdoctor.host.base import Answer, Host
from rocdoctor.model.evidence import Fact, Known, Source, Unknown, first_known
from rocdoctor.model.facts import NumaNode
from rocdoctor.parsers.formats.cpuset import canonical_list, list_to_set, mask_to_list
from rocdoctor.parsers.system.cpu import parse_lscpu
from rocdoctor.parsers.system.numa import parse_distances, parse_node_meminfo, parse_numactl_hardware

if TYPE_CHECKING:
    from rocdoctor.parsers.listings.lstopo_records import HwlocTopology

_SYSFS = "/sys/devices/system/node"
_GAP = Unknown("not stated in this evidence")


def collect_numa(host: Host, tools: Tools) -> tuple[NumaNode, ...]:
    """The NUMA nodes in order of their numbers; empty when nothing in the evidence shows any."""
    found: dict[int, list[NumaNode]] = {}
    for node in [*_from_sysfs(host), *_from_listings(host, tools)]:
        found.setdefault(node.node, []).append(node)
    return tuple(_merged(nodes) for _, nodes in sorted(found.items()))


def _merged(nodes: list[NumaNode]) -> NumaNode:
    """Each field from the first source that knows it."""
    if len(nodes) == 1:
        return nodes[0]
    return NumaNode(
        nodes[0].node,
        first_known(*(node.cpulist for node in nodes)),
        first_known(*(node.memory_bytes for node in nodes)),
        first_known(*(node.distances for node in nodes)),
    )


def _from_sysfs(host: Host) -> list[NumaNode]:
    numbers = {
        int(match[1])
        for path in names_in(host, f"{_SYSFS}/node[0-9]*")
        if (match := re.search(r"/node(\d{1,6})$", path))
    }
    online = host.ask(f"read {_SYSFS}/online")
    numbers |= (list_to_set(online.text) if online.ok else None) or set()
    host.prefetch(
        f"read {_SYSFS}/node{number}/{name}"
        for number in sorted(numbers)
        for name in ("cpulist", "meminfo", "distance")
    )
    return [
        NumaNode(
            number,
            _cpulist(host, number),
            _memory(host.ask(f"read {_SYSFS}/node{number}/meminfo")),
            as_fact(host.ask(f"read {_SYSFS}/node{number}/distance"), parse_distances),
        )
        for number in sorted(numbers)
    ]


def _cpulist(host: Host, number: int) -> Fact[str]:
    """The node's CPUs as a list; "" for a node of memory alone. Old kernels and some excerpts have the mask only."""
    listed = as_fact(host.ask(f"read {_SYSFS}/node{number}/cpulist"), _canonical)
    if isinstance(listed, Known):
        return listed
    return first_known(as_fact(host.ask(f"read {_SYSFS}/node{number}/cpumap"), mask_to_list), listed)


def _canonical(text: str) -> str | None:
    return canonical_list(text) if text.strip() else ""


def _memory(answer: Answer) -> Fact[int]:
    if not answer.ok:
        return answer.unknown()
    meminfo = parse_node_meminfo(answer.text)
    return stated(meminfo.memory_bytes, answer, meminfo.lines.get("MemTotal"))


def _from_listings(host: Host, tools: Tools) -> list[NumaNode]:
    found: list[NumaNode] = []
    for topology, answer in tools.of(lstopo.TOOL):
        found += _from_lstopo(topology, answer.question)
    for _, answer in outputs(host, "numactl"):
        for node in parse_numactl_hardware(answer.text):
            found.append(_node(answer.question, node.line, node.node, node.cpulist, node.memory_bytes, node.distances))
    for _, answer in outputs(host, "lscpu"):
        for number, cpulist in parse_lscpu(answer.text).numa_cpulists.items():
            found.append(_node(answer.question, None, number, cpulist, None, None))
    for dump, answer in tools.of(rccl_topo.TOOL):
        for cpu in dump.cpus:
            if cpu.numa_node is not None and cpu.numa_node >= 0:
                found.append(_node(answer.question, cpu.line, cpu.numa_node, cpu.cpulist, None, None))
    return found


def _node(
    question: str, line: int | None, number: int, cpulist: str | None, memory: int | None, row: tuple[int, ...] | None
) -> NumaNode:
    source = Source(question, line)
    return NumaNode(
        number,
        Known(cpulist, source) if cpulist is not None else _GAP,
        Known(memory, source) if memory is not None else _GAP,
        Known(row, source) if row is not None else _GAP,
    )


def _from_lstopo(topology: HwlocTopology, question: str) -> list[NumaNode]:
    rows: dict[str | None, tuple[int, ...]] = {}
    for matrix in topology.distances:
        if matrix.name == "NUMALatency":
            order = sorted(
                range(len(matrix.labels)), key=lambda at: (len(matrix.labels[at] or ""), matrix.labels[at] or "")
            )
            for label, row in zip(matrix.labels, matrix.values, strict=False):
                if len(row) == len(order):
                    rows[label] = tuple(round(row[at]) for at in order)
    return [
        _node(question, node.line, node.os_index, node.cpulist, node.memory_bytes, rows.get(str(node.os_index)))
        for node in topology.numa_nodes
        if node.os_index is not None
    ]

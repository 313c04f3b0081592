"""GPUs as rocminfo shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocdoctor.collect.gpus.amd_tools import groups, number
from rocdoctor.collect.gpus.records import GpuRecord, RecordSource
from rocdoctor.collect.gpus.tool import Tool, told
from rocdoctor.host.base import Answer
from rocdoctor.model.facts import ComputeNode, ToolFailure

if TYPE_CHECKING:
    from rocdoctor.parsers.amd.rocminfo import Agent, RocmInfo

_SOURCE = RecordSource(140, "rocminfo")


def _parse(answer: Answer) -> RocmInfo:
    from rocdoctor.parsers.amd.rocminfo import parse_rocminfo

    return parse_rocminfo(answer.text)


def _failures(info: RocmInfo, answer: Answer) -> list[ToolFailure]:
    if not (info.errors or info.hsa_status or info.kfd_error):
        return []
    said = info.errors[0] if info.errors else info.kfd_error or info.hsa_status or ""
    line = info.lines.get("kfd_error") or info.lines.get("hsa_status")
    return [ToolFailure(answer.question, "rocminfo ended with an error", said[:200], line)]


def _records(info: RocmInfo, answer: Answer) -> list[GpuRecord]:
    """One record a physical GPU; agents that share bus and device are its partitions."""
    question = answer.question
    order = {id(agent): index for index, agent in enumerate(info.gpus)}
    found: list[GpuRecord] = []
    for agents in groups([(agent.pci_address, agent.unique_id, agent) for agent in info.gpus]):
        first = agents[0]
        addresses = [agent.pci_address for agent in agents if agent.pci_address]
        address = min(addresses) if addresses else None
        if first.domain is None and sum(agent.pci_address == first.pci_address for agent in info.gpus) > len(agents):
            address = None  # without its domain the address names several GPUs
        record = GpuRecord(
            _SOURCE,
            "amd",
            bdf=address,
            unique_id=number(first.unique_id),
            kfd_node=first.node,
            position=order[id(first)],
            partition_of_address=len(agents) > 1,
        )
        units, sizes = [agent.compute_units for agent in agents], [agent.memory_bytes for agent in agents]
        for key, value, name in (
            ("bdf", address, "bdfid"),
            ("name", first.marketing_name, "marketing_name"),
            ("gfx", first.gfx, "name"),
            ("unique_id", first.unique_id, "uuid"),
            ("pci_id", f"1002:{first.chip_id:04x}" if first.chip_id is not None else None, "chip_id"),
            ("hip_index", order[id(first)], "name"),
            ("kfd_node", first.node, "node"),
            ("integrated", first.apu, "apu"),
            ("compute_units", sum(one or 0 for one in units) if all(units) else None, "compute_units"),
            ("vram_bytes", sum(one or 0 for one in sizes) if all(sizes) and not first.apu else None, "pools"),
        ):
            record.put(key, value, question, first.lines.get(name, first.line))
        record.nodes = [_agent_node(agent, question) for agent in agents]
        found.append(record)
    return found


def _agent_node(agent: Agent, question: str) -> ComputeNode:
    lines = agent.lines
    return ComputeNode(
        kfd_node=told(agent.node, question, lines.get("node")),
        compute_units=told(agent.compute_units, question, lines.get("compute_units")),
        vram_bytes=told(agent.memory_bytes, question, agent.line),
    )


TOOL = Tool(
    140,
    _parse,
    "rocminfo",
    records=_records,
    failures=_failures,
    vendor="amd",
    live=("run rocminfo",),
    in_wsl=("run rocminfo",),
)

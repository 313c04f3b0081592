"""GPUs as AMD's tools show them: rocminfo, amd-smi, rocm-smi."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from rocdoctor.collect.gpus.records import GpuRecord
from rocdoctor.model.evidence import NOT_ASKED, Fact, Known, Source
from rocdoctor.model.facts import ComputeNode, GpuProcess, RasBlock, Temperature

if TYPE_CHECKING:
    from rocdoctor.parsers.amd.amd_smi import AmdSmi
    from rocdoctor.parsers.amd.rocm_smi import RocmSmi
    from rocdoctor.parsers.amd.rocminfo import Agent, RocmInfo
    from rocdoctor.parsers.formats.gpu_reading import GpuReading

T = TypeVar("T")


def _number(text: str | None) -> int | None:
    try:
        return int(text, 16) if text else None
    except ValueError:
        return None


def _fact(value: T | None, question: str, line: int | None) -> Fact[T]:
    return NOT_ASKED if value is None else Known(value, Source(question, line))


def _temps(
    temps: dict[str, float], limits: dict[str, float], question: str, line: int | None
) -> tuple[Temperature, ...]:
    names = {"memory": "mem", "hotspot": "junction", "vram": "mem"}

    def limit(kind: str, label: str) -> Fact[float]:
        return _fact(limits.get(f"{kind}_{label}", limits.get(f"{kind}_{names.get(label, label)}")), question, line)

    return tuple(
        Temperature(
            names.get(label, label),
            Known(value, Source(question, line)),
            limit("slowdown", label),
            limit("shutdown", label),
        )
        for label, value in temps.items()
    )


def _groups(items: list[tuple[str | None, str | None, T]]) -> list[list[T]]:
    """Items of (address, unique id, item): those of one PCI slot together (partitions), in the order given.

    Items without an address stay alone; so do those of one address with unlike ids (tools that leave the PCI domain out
    give several GPUs the same address).
    """
    groups: dict[tuple[str, str], list[T]] = {}
    for number, (address, unique, item) in enumerate(items):
        slot = address.rsplit(".", 1)[0] if address else f"#{number}"
        groups.setdefault((slot, unique or ""), []).append(item)
    return list(groups.values())


def rocminfo_records(info: RocmInfo, question: str) -> list[GpuRecord]:
    """One record a physical GPU; agents that share bus and device are its partitions."""
    order = {id(agent): index for index, agent in enumerate(info.gpus)}
    found: list[GpuRecord] = []
    for agents in _groups([(agent.pci_address, agent.unique_id, agent) for agent in info.gpus]):
        first = agents[0]
        addresses = [agent.pci_address for agent in agents if agent.pci_address]
        address = min(addresses) if addresses else None
        if first.domain is None and sum(agent.pci_address == first.pci_address for agent in info.gpus) > len(agents):
            address = None  # without its domain the address names several GPUs
        record = GpuRecord(
            "rocminfo",
            "amd",
            bdf=address,
            unique_id=_number(first.unique_id),
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
        kfd_node=_fact(agent.node, question, lines.get("node")),
        compute_units=_fact(agent.compute_units, question, lines.get("compute_units")),
        vram_bytes=_fact(agent.memory_bytes, question, agent.line),
    )


def rocm_smi_records(smi: RocmSmi, question: str) -> list[GpuRecord]:
    """One record a device of the list; partitions are told by equal PCI slots."""
    return [record for record, _ in _smi_records(smi.gpus, "rocm-smi", question)]


def amd_smi_records(smi: AmdSmi, question: str) -> list[GpuRecord]:
    """One record a device of the list; partitions are told by equal PCI slots."""
    found: list[GpuRecord] = []
    for record, members in _smi_records(smi.gpus, "amd-smi", question):
        processes = tuple(
            GpuProcess(_fact(one.vram_bytes, question, one.line))
            for one in smi.processes
            if one.gpu in {member.index for member in members}
        )
        if processes or smi.no_processes:
            record.put("processes", processes, question)
        found.append(record)
    return found


def _smi_records(
    gpus: Sequence[GpuReading], source: str, question: str
) -> Iterator[tuple[GpuRecord, list[GpuReading]]]:
    """Each device with its partitions, as the tool lists them."""
    for members in _groups([(gpu.get("bdf"), gpu.get("unique_id"), gpu) for gpu in gpus]):
        gpu = members[0]
        record = GpuRecord(
            source,
            "amd",
            bdf=gpu.get("bdf"),
            unique_id=_number(gpu.get("unique_id")),
            kfd_node=gpu.get("kfd_node"),
            gpu_id=gpu.get("gpu_id"),
            position=gpu.index,
            partition_of_address=len(members) > 1,
        )
        _fill(record, gpu, question)
        if gpu.get("kfd_node") is not None or len(members) > 1:
            record.nodes = [
                ComputeNode(
                    kfd_node=_fact(member.get("kfd_node"), question, member.line),
                    gpu_id=_fact(member.get("gpu_id"), question, member.line),
                )
                for member in members
            ]
        yield record, members


def _fill(record: GpuRecord, gpu: GpuReading, question: str) -> None:
    record.take(gpu, question)

    def put(key: str, value: object, name: str) -> None:
        record.put(key, value, question, gpu.line_of(name))

    put("smi_index", gpu.index, "smi_index")
    device, vendor = gpu.get("device_id"), gpu.get("vendor_id") or "1002"
    put("pci_id", f"{vendor}:{device}" if device else None, "device_id")
    device, vendor = gpu.get("subdevice_id"), gpu.get("subvendor_id")
    put("subsystem_id", f"{vendor}:{device}" if device and vendor else None, "subdevice_id")
    if gpu.get("temps_c"):
        limits = gpu.get("limit_temps_c") or {}
        put("temps", _temps(gpu.get("temps_c"), limits, question, gpu.line_of("temps_c")), "temps_c")
    blocks = tuple(
        RasBlock(name, _fact(one.uncorrectable, question, one.line), _fact(one.correctable, question, one.line))
        for name, one in (gpu.get("blocks") or {}).items()
    )
    put("ras", blocks or None, "blocks")
    if gpu.get("violations"):
        put("throttle", tuple(name for name, limited in gpu.get("violations").items() if limited), "violations")
    # The NUMA node; -1 in either figure means that the firmware states none.
    if -1 in (gpu.get("numa"), gpu.get("numa_affinity")):
        record.facts["numa_node"] = Known(None, Source(question, gpu.line_of("numa")))
    else:
        put("numa_node", gpu.get("numa"), "numa")

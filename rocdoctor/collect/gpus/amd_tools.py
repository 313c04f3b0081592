"""GPUs as AMD's tools show them: rocminfo, amd-smi, rocm-smi."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from rocdoctor.collect.gpus.records import GpuRecord
from rocdoctor.model.evidence import NOT_ASKED, Fact, Known, Source
from rocdoctor.model.facts import ComputeNode, GpuProcess, RasBlock, Temperature

if TYPE_CHECKING:
    from rocdoctor.parsers.amd.amd_smi_records import AmdSmi, AmdSmiGpu
    from rocdoctor.parsers.amd.rocm_smi_records import RocmSmi, RocmSmiGpu
    from rocdoctor.parsers.amd.rocminfo import Agent, RocmInfo

T = TypeVar("T")

Put = Callable[[str, object, str], None]


def _putter(record: GpuRecord, question: str, lines: dict[str, int], fallback: int | None) -> Put:
    def put(key: str, value: object, field: str) -> None:
        record.put(key, value, question, lines.get(field, fallback))

    return put


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
        put = _putter(record, question, first.lines, first.line)
        put("bdf", address, "bdfid")
        put("name", first.marketing_name, "marketing_name")
        put("gfx", first.gfx, "name")
        put("unique_id", first.unique_id, "uuid")
        put("pci_id", f"1002:{first.chip_id:04x}" if first.chip_id is not None else None, "chip_id")
        put("hip_index", order[id(first)], "name")
        put("kfd_node", first.node, "node")
        put("integrated", first.apu, "apu")
        units = [agent.compute_units for agent in agents]
        if all(units):
            put("compute_units", sum(unit or 0 for unit in units), "compute_units")
        sizes = [agent.memory_bytes for agent in agents]
        if all(sizes) and not first.apu:
            put("vram_bytes", sum(size or 0 for size in sizes), "pools")
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
    found: list[GpuRecord] = []
    for members in _groups([(gpu.pci_address, gpu.unique_id, gpu) for gpu in smi.gpus]):
        gpu = members[0]
        record = GpuRecord(
            "rocm-smi",
            "amd",
            bdf=gpu.pci_address,
            unique_id=_number(gpu.unique_id),
            kfd_node=gpu.node,
            gpu_id=gpu.guid,
            position=gpu.index,
            partition_of_address=len(members) > 1,
        )
        _fill_rocm_smi(record, gpu, question)
        if len(members) > 1:
            record.nodes = [_smi_node(member.node, member.guid, question, member.line) for member in members]
        elif gpu.node is not None:
            record.nodes = [_smi_node(gpu.node, gpu.guid, question, gpu.line)]
        found.append(record)
    return found


def _smi_node(node: int | None, guid: int | None, question: str, line: int) -> ComputeNode:
    return ComputeNode(kfd_node=_fact(node, question, line), gpu_id=_fact(guid, question, line))


def _numa(record: GpuRecord, node: int | None, affinity: int | None, question: str, line: int | None) -> None:
    """The NUMA node; -1 in either figure means that the firmware states none."""
    if affinity == -1 or node == -1:
        record.facts["numa_node"] = Known(None, Source(question, line))
    elif node is not None:
        record.put("numa_node", node, question, line)


def _fill_rocm_smi(record: GpuRecord, gpu: RocmSmiGpu, question: str) -> None:
    put = _putter(record, question, gpu.lines, gpu.line)
    put("bdf", gpu.pci_address, "pci_address")
    put("smi_index", gpu.index, "index")
    put("name", gpu.name, "name")
    put("pci_id", f"1002:{gpu.device_id}" if gpu.device_id else None, "device_id")
    put("gfx", gpu.gfx, "gfx")
    put("unique_id", gpu.unique_id, "unique_id")
    put("vbios", gpu.vbios, "vbios")
    put("kfd_node", gpu.node, "node")
    put("vram_bytes", gpu.vram_total_bytes, "vram_total_bytes")
    put("vram_used_bytes", gpu.vram_used_bytes, "vram_used_bytes")
    put("visible_vram_bytes", gpu.visible_vram_total_bytes, "visible_vram_total_bytes")
    put("gtt_bytes", gpu.gtt_total_bytes, "gtt_total_bytes")
    put("power.now_w", gpu.power_w, "power_w")
    put("power.cap_w", gpu.power_cap_w, "power_cap_w")
    put("performance_level", gpu.perf_level, "perf_level")
    put("busy_percent", round(gpu.gpu_busy_percent) if gpu.gpu_busy_percent is not None else None, "gpu_busy_percent")
    put("pcie.device.speed_gt_s", gpu.pcie_speed_gt_s, "pcie_speed_gt_s")
    put("pcie.device.width", gpu.pcie_width, "pcie_width")
    put("pcie.replay_count", gpu.pcie_replay_count, "pcie_replay_count")
    put("partition.compute", gpu.compute_partition, "compute_partition")
    put("partition.memory", gpu.memory_partition, "memory_partition")
    put("bad_pages", gpu.retired_pages, "retired_pages")
    if gpu.temps_c:
        put("temps", _temps(gpu.temps_c, {}, question, gpu.lines.get("temps_c", gpu.line)), "temps_c")
    if gpu.ras:
        blocks = tuple(
            RasBlock(name, _fact(b.uncorrectable, question, b.line), _fact(b.correctable, question, b.line))
            for name, b in gpu.ras.items()
        )
        put("ras", blocks, "ras")
    if gpu.vram_used_percent is not None:
        put("vram_used_percent", round(gpu.vram_used_percent), "vram_used_percent")
    _numa(record, gpu.numa_node, gpu.numa_affinity, question, gpu.lines.get("numa_node", gpu.line))
    for clock, value in gpu.clocks_mhz.items():
        put(f"clocks_mhz.{clock}", value, "clocks_mhz")


def amd_smi_records(smi: AmdSmi, question: str) -> list[GpuRecord]:
    """One record a device of the list; partitions are told by equal PCI slots."""
    found: list[GpuRecord] = []
    for members in _groups([(gpu.pci_address, gpu.unique_id, gpu) for gpu in smi.gpus]):
        gpu = members[0]
        record = GpuRecord(
            "amd-smi",
            "amd",
            bdf=gpu.pci_address,
            unique_id=_number(gpu.unique_id),
            kfd_node=gpu.node,
            gpu_id=gpu.kfd_id,
            position=gpu.index,
            partition_of_address=len(members) > 1,
        )
        _fill_amd_smi(record, gpu, question)
        if gpu.node is not None or len(members) > 1:
            record.nodes = [_smi_node(member.node, member.kfd_id, question, member.line) for member in members]
        processes = tuple(
            GpuProcess(_fact(one.vram_bytes, question, one.line))
            for one in smi.processes
            if one.gpu in {member.index for member in members}
        )
        if processes or smi.no_processes:
            record.put("processes", processes, question)
        found.append(record)
    return found


def _fill_amd_smi(record: GpuRecord, gpu: AmdSmiGpu, question: str) -> None:
    put = _putter(record, question, gpu.lines, gpu.line)
    put("bdf", gpu.pci_address, "pci_address")
    put("smi_index", gpu.index, "index")
    put("name", gpu.name, "name")
    if gpu.device_id:
        put("pci_id", f"{gpu.vendor_id or '1002'}:{gpu.device_id}", "device_id")
    if gpu.subsystem_id and gpu.subvendor_id:
        put("subsystem_id", f"{gpu.subvendor_id}:{gpu.subsystem_id}", "subsystem_id")
    put("gfx", gpu.gfx, "gfx")
    put("unique_id", gpu.unique_id, "unique_id")
    put("hip_index", gpu.hip_index, "hip_index")
    put("compute_units", gpu.compute_units, "compute_units")
    put("vbios", gpu.vbios_part_number or gpu.vbios_version, "vbios_part_number")
    put("driver", gpu.driver_name, "driver_name")
    put("kfd_node", gpu.node, "node")
    put("vram_bytes", gpu.vram_bytes, "vram_bytes")
    put("vram_used_bytes", gpu.vram_used_bytes, "vram_used_bytes")
    put("visible_vram_bytes", gpu.visible_vram_bytes, "visible_vram_bytes")
    put("power.now_w", gpu.power_w, "power_w")
    put("power.cap_w", gpu.power_cap_w, "power_cap_w")
    put("power.cap_max_w", gpu.max_power_w, "max_power_w")
    put("performance_level", gpu.perf_level, "perf_level")
    put("pcie.device.speed_gt_s", gpu.pcie_speed_gt_s, "pcie_speed_gt_s")
    put("pcie.device.width", gpu.pcie_width, "pcie_width")
    put("pcie.device.max_speed_gt_s", gpu.max_pcie_speed_gt_s, "max_pcie_speed_gt_s")
    put("pcie.device.max_width", gpu.max_pcie_width, "max_pcie_width")
    put("pcie.replay_count", gpu.pcie_replay_count, "pcie_replay_count")
    put("partition.compute", gpu.compute_partition, "compute_partition")
    put("partition.memory", gpu.memory_partition, "memory_partition")
    if gpu.temps_c:
        put("temps", _temps(gpu.temps_c, gpu.limit_temps_c, question, gpu.lines.get("temps_c", gpu.line)), "temps_c")
    if gpu.ecc_blocks:
        line = gpu.lines.get("ecc_blocks", gpu.line)
        blocks = tuple(
            RasBlock(name, _fact(count.uncorrectable, question, line), _fact(count.correctable, question, line))
            for name, count in gpu.ecc_blocks.items()
        )
        put("ras", blocks, "ecc_blocks")
    active = tuple(name for name, limited in gpu.violations.items() if limited)
    if gpu.violations:
        put("throttle", active, "violations")
    if gpu.firmware:
        put("firmware", dict(gpu.firmware), "firmware")
    _numa(record, gpu.numa_node, gpu.numa_affinity, question, gpu.lines.get("numa_node", gpu.line))
    for clock, value in gpu.clocks_mhz.items():
        put(f"clocks_mhz.{clock}", value, "clocks_mhz")

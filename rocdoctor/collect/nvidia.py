"""GPUs as nvidia-smi shows them."""

from __future__ import annotations

from typing import TypeVar

from rocdoctor.collect.records import GpuRecord
from rocdoctor.evidence import NOT_ASKED, Fact, Known, Source
from rocdoctor.facts import GpuProcess, NvLink, RasBlock, Temperature
from rocdoctor.parsers.nvidia_links import NvLinkStatus
from rocdoctor.parsers.nvidia_records import NvidiaGpu, NvidiaSmi

T = TypeVar("T")


def smi_records(smi: NvidiaSmi, question: str, source: str) -> list[GpuRecord]:
    """One record a GPU of any nvidia-smi output (XML, -q text, the table, -L)."""
    return [_record(gpu, question, source, position) for position, gpu in enumerate(smi.gpus)]


def _record(gpu: NvidiaGpu, question: str, source: str, position: int) -> GpuRecord:
    record = GpuRecord(source, "nvidia", bdf=gpu.bdf, position=gpu.index if gpu.index is not None else position)

    def put(key: str, value: object, field: str) -> None:
        record.put(key, value, question, gpu.lines.get(field, gpu.line))

    def fact(value: T | None, field: str) -> Fact[T]:
        return NOT_ASKED if value is None else Known(value, Source(question, gpu.lines.get(field, gpu.line)))

    put("bdf", gpu.bdf, "bdf")
    put("smi_index", gpu.index, "index")
    put("name", None if gpu.name_cut else gpu.name, "name")
    put("driver", "nvidia", "line")
    put("pci_id", gpu.pci_id, "pci_id")
    put("subsystem_id", gpu.subsystem_id, "subsystem_id")
    put("vbios", gpu.vbios, "vbios")
    put("unique_id", gpu.uuid, "uuid")
    put("mig", gpu.mig_enabled, "mig_enabled")
    put("vram_bytes", gpu.memory_total_bytes, "memory_total_bytes")
    put("vram_used_bytes", gpu.memory_used_bytes, "memory_used_bytes")
    put("persistence", gpu.persistence_mode, "persistence_mode")
    put("compute_mode", gpu.compute_mode, "compute_mode")
    put("performance_level", gpu.performance_state, "performance_state")
    put("numa_node", gpu.numa_node, "numa_node")
    put("power.now_w", gpu.power_w, "power_w")
    put("power.cap_w", gpu.power_limit_w, "power_limit_w")
    put("power.cap_default_w", gpu.power_limit_default_w, "power_limit_default_w")
    put("power.cap_min_w", gpu.power_limit_min_w, "power_limit_min_w")
    put("power.cap_max_w", gpu.power_limit_max_w, "power_limit_max_w")
    put("busy_percent", round(gpu.gpu_util_percent) if gpu.gpu_util_percent is not None else None, "gpu_util_percent")
    put("pcie.device.speed_gt_s", gpu.pcie_speed_gt_s, "pcie_gen")
    put("pcie.device.width", gpu.pcie_width, "pcie_width")
    put("pcie.device.max_speed_gt_s", gpu.pcie_max_speed_gt_s, "pcie_gen_max")
    put("pcie.device.max_width", gpu.pcie_width_max, "pcie_width_max")
    put("pcie.replay_count", gpu.pcie_replays, "pcie_replays")
    put("clocks_mhz.graphics", gpu.clock_graphics_mhz, "clock_graphics_mhz")
    put("max_clocks_mhz.graphics", gpu.clock_graphics_max_mhz, "clock_graphics_max_mhz")
    put("throttle", gpu.clocks_event_reasons, "clocks_event_reasons")
    put("ecc_enabled", gpu.ecc_enabled, "ecc_enabled")
    put("bad_pages", _sum(gpu.retired_pages_single_bit, gpu.retired_pages_double_bit), "retired_pages_single_bit")
    pending = [flag for flag in (gpu.retired_pages_pending, gpu.remapped_rows_pending) if flag is not None]
    put("bad_pages_pending", any(pending) if pending else None, "retired_pages_pending")
    put("remap_failure", gpu.remapped_rows_failure, "remapped_rows_failure")
    put("fabric_state", gpu.fabric_state, "fabric_state")
    if gpu.temp_c is not None:
        core = Temperature(
            "gpu", fact(gpu.temp_c, "temp_c"), fact(gpu.temp_slowdown_c, "temp_slowdown_c"),
            fact(gpu.temp_shutdown_c, "temp_shutdown_c"),
        )  # fmt: skip
        memory = Temperature(
            "mem", fact(gpu.temp_memory_c, "temp_memory_c"),
            fact(gpu.temp_memory_max_operating_c, "temp_memory_max_operating_c"),
        )  # fmt: skip
        put("temps", (core, memory) if gpu.temp_memory_c is not None else (core,), "temp_c")
    counts = [
        RasBlock(name, fact(uncorrectable, f"ecc_{name}_uncorrected"), fact(corrected, f"ecc_{name}_corrected"))
        for name, uncorrectable, corrected in (
            ("volatile", gpu.ecc_volatile_uncorrected, gpu.ecc_volatile_corrected),
            ("aggregate", gpu.ecc_aggregate_uncorrected, gpu.ecc_aggregate_corrected),
        )
        if uncorrectable is not None or corrected is not None
    ]
    if counts:
        put("ras", tuple(counts), "ecc_volatile_uncorrected")
    if gpu.processes is not None:
        processes = tuple(
            GpuProcess(one.pid, _named(one.name, question, one.line), _named(one.used_bytes, question, one.line))
            for one in gpu.processes
        )
        put("processes", processes, "processes")
    return record


def _named(value: T | None, question: str, line: int) -> Fact[T]:
    return NOT_ASKED if value is None else Known(value, Source(question, line))


def _sum(*counts: int | None) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def nvlink_records(status: NvLinkStatus, question: str) -> list[GpuRecord]:
    """The NVLinks of each GPU of ``nvidia-smi nvlink --status``, named by the tool's index."""
    found: list[GpuRecord] = []
    for gpu in status.gpus:
        record = GpuRecord("nvidia-smi", "nvidia", position=gpu.index)
        record.put("smi_index", gpu.index, question, gpu.line)
        record.put("name", gpu.name, question, gpu.line)
        links = tuple(
            NvLink(link.index, bool(link.active), _named(link.speed_gb_s, question, link.line)) for link in gpu.links
        )
        if links or gpu.all_inactive:
            record.put("nvlinks", links, question, gpu.line)
        found.append(record)
    return found

"""GPUs as nvidia-smi shows them, and as the folder of the kernel module does."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, TypeVar

from rocdoctor.collect.gpus.records import GpuRecord
from rocdoctor.collect.reading import names_in
from rocdoctor.host.base import Host
from rocdoctor.model.evidence import NOT_ASKED, Fact, Known, Source
from rocdoctor.model.facts import GpuProcess, NvLink, RasBlock, Temperature
from rocdoctor.parsers.kernel.pci import parse_bdf
from rocdoctor.parsers.kernel.pci_link import parse_numa_node

if TYPE_CHECKING:
    from rocdoctor.parsers.nvidia.nvidia_links import NvLinkStatus
    from rocdoctor.parsers.nvidia.nvidia_records import NvidiaGpu, NvidiaSmi

T = TypeVar("T")

_MODULE = "/proc/driver/nvidia/gpus/*"


def records_of_module(host: Host, known: Collection[str | None]) -> list[GpuRecord]:
    """GPUs that only the kernel module's folder in /proc names, as in a dump that lacks the files of their devices."""
    found: list[GpuRecord] = []
    for folder in names_in(host, _MODULE):
        bdf = parse_bdf(folder.rsplit("/", 1)[-1])
        if bdf is None or bdf in known:
            continue
        record = GpuRecord("sysfs", "nvidia", bdf=bdf)
        record.put("bdf", bdf, f"list {_MODULE}")
        record.put("driver", "nvidia", f"list {_MODULE}")
        answer = host.ask(f"read {folder}/information")
        if answer.ok and (model := re.match(r"Model:\s{1,40}(\S.{0,100})", answer.text)):
            record.put("name", model[1].strip(), answer.question, 1)
        place = host.ask(f"read /sys/bus/pci/devices/{bdf}/numa_node")
        record.put("numa_node", parse_numa_node(place.text) if place.ok else None, place.question, 1)
        found.append(record)
    return found


def smi_records(smi: NvidiaSmi, question: str, source: str) -> list[GpuRecord]:
    """One record a GPU of any nvidia-smi output (XML, -q text, the table, -L)."""
    records = [_record(gpu, question, source, position) for position, gpu in enumerate(smi.gpus)]
    for gpu, record in zip(smi.gpus, records, strict=True):
        # That a GPU in MIG mode has no device on it, only a whole XML listing tells.
        if gpu.mig_enabled and (gpu.mig_instances or (source == "nvidia-smi-xml" and not smi.truncated)):
            record.put("mig_devices", gpu.mig_instances, question, gpu.lines.get("mig_enabled", gpu.line))
    return records


def give_addresses(records: Iterable[GpuRecord]) -> None:
    """Name records without a PCI address by it, where another record of the same UUID or tool number has one.

    ``nvidia-smi nvlink --status`` and ``-L`` print no addresses.
    """
    mine = [record for record in records if record.vendor == "nvidia" and record.source.startswith("nvidia-smi")]
    by_uuid: dict[object, str] = {}
    by_number: dict[object, str] = {}
    for record in mine:
        for key, known in (("unique_id", by_uuid), ("smi_index", by_number)):
            if record.bdf is not None and (value := _value(record, key)) is not None:
                known.setdefault(value, record.bdf)
    for record in mine:
        if record.bdf is None:
            uuid = _value(record, "unique_id")
            record.bdf = by_uuid.get(uuid)
            # A UUID that the others do not have is that of another host; a number alone is taken at its word.
            if record.bdf is None and (uuid is None or not by_uuid):
                record.bdf = by_number.get(_value(record, "smi_index"))


def _value(record: GpuRecord, key: str) -> object:
    fact = record.facts.get(key)
    return fact.value if isinstance(fact, Known) else None


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
    put("bad_pages_pending", *_pending(gpu))
    put("remap_failure", gpu.remapped_rows_failure, "remapped_rows_failure")
    put("fabric_state", gpu.fabric_state, "fabric_state")
    put("fabric_status", gpu.fabric_status, "fabric_status")
    put("ecc_pending", gpu.ecc_pending, "ecc_pending")
    put("recovery_action", *_recovery(gpu))
    if gpu.temp_c is not None:
        core = Temperature(
            "gpu",
            fact(gpu.temp_c, "temp_c"),
            fact(gpu.temp_slowdown_c, "temp_slowdown_c"),
            fact(gpu.temp_shutdown_c, "temp_shutdown_c"),
        )
        memory = Temperature(
            "mem",
            fact(gpu.temp_memory_c, "temp_memory_c"),
            fact(gpu.temp_memory_max_operating_c, "temp_memory_max_operating_c"),
        )
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
        processes = tuple(GpuProcess(_named(one.used_bytes, question, one.line)) for one in gpu.processes)
        put("processes", processes, "processes")
    return record


def _named(value: T | None, question: str, line: int) -> Fact[T]:
    return NOT_ASKED if value is None else Known(value, Source(question, line))


def _pending(gpu: NvidiaGpu) -> tuple[bool | None, str]:
    """Whether pages or rows wait for a reset to be taken out of use, and the field that says so."""
    flags = {
        "retired_pages_pending": gpu.retired_pages_pending,
        "remapped_rows_pending": gpu.remapped_rows_pending,
    }
    stated = {name: flag for name, flag in flags.items() if flag is not None}
    name = max(stated, key=lambda one: stated[one], default="")
    return stated.get(name), name


def _recovery(gpu: NvidiaGpu) -> tuple[str | None, str]:
    """What the driver asks for, in the words of new drivers; older ones have two flags instead."""
    if gpu.recovery_action is not None:
        return gpu.recovery_action, "recovery_action"
    if gpu.reset_required:
        return "Reset", "reset_required"
    if gpu.drain_and_reset_recommended:
        return "Drain and Reset", "drain_and_reset_recommended"
    return (None if gpu.reset_required is None else "None"), "reset_required"


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
        record.put("unique_id", gpu.uuid, question, gpu.line)
        links = tuple(
            NvLink(link.index, bool(link.active), _named(link.speed_gb_s, question, link.line)) for link in gpu.links
        )
        told = all(link.active is not None for link in gpu.links)
        if (links and told) or gpu.all_inactive:
            record.put("nvlinks", links, question, gpu.line)
        found.append(record)
    return found

"""GPUs as nvidia-smi shows them, and as the folder of the kernel module does."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from rocdoctor.collect.gpus.records import GpuRecord
from rocdoctor.collect.reading import names_in
from rocdoctor.host.base import Host
from rocdoctor.model.evidence import NOT_ASKED, Fact, Known, Source
from rocdoctor.model.facts import GpuProcess, NvLink, RasBlock, Temperature
from rocdoctor.parsers.kernel.pci import parse_bdf
from rocdoctor.parsers.kernel.pci_link import parse_numa_node

if TYPE_CHECKING:
    from rocdoctor.parsers.formats.gpu_reading import GpuReading
    from rocdoctor.parsers.nvidia.nvidia_links import NvLinkStatus
    from rocdoctor.parsers.nvidia.nvidia_records import NvidiaSmi

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
        instances = gpu.get("mig_instances")
        if gpu.get("mig") and (instances or (source == "nvidia-smi-xml" and not smi.truncated)):
            record.put("mig_devices", instances, question, gpu.line_of("mig"))
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


def _record(gpu: GpuReading, question: str, source: str, position: int) -> GpuRecord:
    place = gpu.index if gpu.index is not None else position
    record = GpuRecord(source, "nvidia", bdf=gpu.get("bdf"), position=place)

    def put(key: str, value: object, name: str) -> None:
        record.put(key, value, question, gpu.line_of(name))

    def fact(name: str) -> Fact[Any]:
        value = gpu.get(name)
        return NOT_ASKED if value is None else Known(value, Source(question, gpu.line_of(name)))

    record.take(gpu, question)
    record.put("smi_index", gpu.index, question, gpu.line)
    record.put("driver", "nvidia", question, gpu.line)
    retired = [gpu.get(f"retired_pages_{kind}_bit") for kind in ("single", "double")]
    if any(count is not None for count in retired):
        put("bad_pages", sum(count or 0 for count in retired), "retired_pages_single_bit")
    put("bad_pages_pending", *_pending(gpu))
    put("recovery_action", *_recovery(gpu))
    if gpu.get("temp_c") is not None:
        core = Temperature("gpu", fact("temp_c"), fact("temp_slowdown_c"), fact("temp_shutdown_c"))
        memory = Temperature("mem", fact("temp_memory_c"), fact("temp_memory_max_operating_c"))
        put("temps", (core, memory) if gpu.get("temp_memory_c") is not None else (core,), "temp_c")
    counts = [
        RasBlock(name, fact(f"ecc_{name}_uncorrected"), fact(f"ecc_{name}_corrected"))
        for name in ("volatile", "aggregate")
        if any(gpu.get(f"ecc_{name}_{kind}") is not None for kind in ("uncorrected", "corrected"))
    ]
    put("ras", tuple(counts) or None, "ecc_volatile_uncorrected")
    if gpu.get("process_list") is not None:
        processes = tuple(
            GpuProcess(_named(one.used_bytes, question, one.line), one.pid) for one in gpu.get("process_list")
        )
        put("processes", processes, "process_list")
    return record


def _named(value: T | None, question: str, line: int) -> Fact[T]:
    return NOT_ASKED if value is None else Known(value, Source(question, line))


def _pending(gpu: GpuReading) -> tuple[bool | None, str]:
    """Whether pages or rows wait for a reset to be taken out of use, and what says so."""
    flags = {name: gpu.get(name) for name in ("retired_pages_pending", "remapped_rows_pending")}
    stated = {name: flag for name, flag in flags.items() if flag is not None}
    name = max(stated, key=lambda one: stated[one], default="")
    return stated.get(name), name


def _recovery(gpu: GpuReading) -> tuple[str | None, str]:
    """What the driver asks for, in the words of new drivers; older ones have two flags instead."""
    if gpu.get("recovery_action") is not None:
        return gpu.get("recovery_action"), "recovery_action"
    if gpu.get("reset_required"):
        return "Reset", "reset_required"
    if gpu.get("drain_and_reset_recommended"):
        return "Drain and Reset", "drain_and_reset_recommended"
    return (None if gpu.get("reset_required") is None else "None"), "reset_required"


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

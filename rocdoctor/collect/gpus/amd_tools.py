"""What the tools of AMD have in common that show GPUs: rocminfo, amd-smi, rocm-smi."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from rocdoctor.collect.gpus.records import GpuRecord, RecordSource
from rocdoctor.collect.gpus.tool import told
from rocdoctor.host.base import Answer
from rocdoctor.model.evidence import Fact, Known, Source
from rocdoctor.model.facts import ComputeNode, RasBlock, Temperature, ToolFailure

if TYPE_CHECKING:
    from rocdoctor.parsers.formats.gpu_reading import GpuReading

T = TypeVar("T")


def number(text: str | None) -> int | None:
    """A number in base 16."""
    try:
        return int(text, 16) if text else None
    except ValueError:
        return None


def _temps(
    temps: dict[str, float], limits: dict[str, float], question: str, line: int | None
) -> tuple[Temperature, ...]:
    names = {"memory": "mem", "hotspot": "junction", "vram": "mem"}

    def limit(kind: str, label: str) -> Fact[float]:
        return told(limits.get(f"{kind}_{label}", limits.get(f"{kind}_{names.get(label, label)}")), question, line)

    return tuple(
        Temperature(
            names.get(label, label),
            Known(value, Source(question, line)),
            limit("slowdown", label),
            limit("shutdown", label),
        )
        for label, value in temps.items()
    )


def groups(items: list[tuple[str | None, str | None, T]]) -> list[list[T]]:
    """Items of (address, unique id, item): those of one PCI slot together (partitions), in the order given.

    Items without an address stay alone; so do those of one address with unlike ids (tools that leave the PCI domain out
    give several GPUs the same address).
    """
    groups: dict[tuple[str, str], list[T]] = {}
    for number, (address, unique, item) in enumerate(items):
        slot = address.rsplit(".", 1)[0] if address else f"#{number}"
        groups.setdefault((slot, unique or ""), []).append(item)
    return list(groups.values())


def cut_json(complete: bool | None, answer: Answer) -> list[ToolFailure]:
    """What to say of JSON that is not ``complete`` though the tool's whole output is here."""
    if complete is not False or not answer.complete or "--json" not in answer.question:
        return []
    why = f"{answer.question}: its JSON ends in the middle or is damaged; what could be read of it is used"
    return [ToolFailure(answer.question, why)]


def smi_records(
    gpus: Sequence[GpuReading], source: RecordSource, question: str
) -> Iterator[tuple[GpuRecord, list[GpuReading]]]:
    """Each device with its partitions, as the tool lists them."""
    for members in groups([(gpu.get("bdf"), gpu.get("unique_id"), gpu) for gpu in gpus]):
        gpu = members[0]
        record = GpuRecord(
            source,
            "amd",
            bdf=gpu.get("bdf"),
            unique_id=number(gpu.get("unique_id")),
            kfd_node=gpu.get("kfd_node"),
            gpu_id=gpu.get("gpu_id"),
            position=gpu.index,
            partition_of_address=len(members) > 1,
        )
        _fill(record, gpu, question)
        if gpu.get("kfd_node") is not None or len(members) > 1:
            record.nodes = [
                ComputeNode(
                    kfd_node=told(member.get("kfd_node"), question, member.line),
                    gpu_id=told(member.get("gpu_id"), question, member.line),
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
        RasBlock(name, told(one.uncorrectable, question, one.line), told(one.correctable, question, one.line))
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

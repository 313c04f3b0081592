"""GPUs as nvidia-smi shows them (XML, -q text, the table, -L)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rocdoctor.collect.gpus.records import GpuRecord, RecordSource
from rocdoctor.collect.gpus.tool import Tool, told
from rocdoctor.host.base import Answer
from rocdoctor.model.evidence import Fact
from rocdoctor.model.facts import GpuProcess, RasBlock, Temperature

if TYPE_CHECKING:
    from rocdoctor.parsers.formats.gpu_reading import GpuReading
    from rocdoctor.parsers.nvidia.nvidia_records import NvidiaSmi

_XML, _LONG = RecordSource(110, "nvidia-smi-xml"), RecordSource(120, "nvidia-smi-q")
SHORT = RecordSource(130, "nvidia-smi")


def _parse(answer: Answer) -> NvidiaSmi:
    from rocdoctor.parsers.nvidia.nvidia_smi import parse_nvidia_smi

    return parse_nvidia_smi(answer.text)


def _records(smi: NvidiaSmi, answer: Answer) -> list[GpuRecord]:
    question = answer.question
    xml = answer.text.lstrip().startswith("<")
    source = _XML if xml else _LONG if " -q" in question else SHORT
    records = [_record(gpu, question, source, position) for position, gpu in enumerate(smi.gpus)]
    for gpu, record in zip(smi.gpus, records, strict=True):
        # That a GPU in MIG mode has no device on it, only a whole XML listing tells.
        instances = gpu.get("mig_instances")
        if gpu.get("mig") and (instances or (xml and not smi.truncated)):
            record.put("mig_devices", instances, question, gpu.line_of("mig"))
    return records


def _record(gpu: GpuReading, question: str, source: RecordSource, position: int) -> GpuRecord:
    place = gpu.index if gpu.index is not None else position
    record = GpuRecord(source, "nvidia", bdf=gpu.get("bdf"), position=place)

    def put(key: str, value: object, name: str) -> None:
        record.put(key, value, question, gpu.line_of(name))

    def fact(name: str) -> Fact[Any]:
        return told(gpu.get(name), question, gpu.line_of(name))

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
            GpuProcess(told(one.used_bytes, question, one.line), one.pid) for one in gpu.get("process_list")
        )
        put("processes", processes, "process_list")
    return record


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


TOOL = Tool(
    110,
    _parse,
    "nvidia-smi",
    subcommand=lambda arguments: arguments[:1] not in (["nvlink"], ["topo"]),
    records=_records,
    vendor="nvidia",
    live=("run nvidia-smi -q -x",),
    in_wsl=("run nvidia-smi -q -x",),
)

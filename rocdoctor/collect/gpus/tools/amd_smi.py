"""GPUs as amd-smi shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocdoctor.collect.gpus.amd_tools import cut_json, smi_records
from rocdoctor.collect.gpus.records import GpuRecord, RecordSource
from rocdoctor.collect.gpus.tool import Tool, told
from rocdoctor.host.base import Answer
from rocdoctor.model.facts import GpuProcess, ToolFailure

if TYPE_CHECKING:
    from rocdoctor.parsers.amd.amd_smi import AmdSmi

SOURCE = RecordSource(150, "amd-smi")


def _parse(answer: Answer) -> AmdSmi:
    from rocdoctor.parsers.amd.amd_smi import parse_amd_smi

    return parse_amd_smi(answer.text)


def _failures(smi: AmdSmi, answer: Answer) -> list[ToolFailure]:
    return cut_json(smi.complete, answer)


def _records(smi: AmdSmi, answer: Answer) -> list[GpuRecord]:
    """One record a device of the list; partitions are told by equal PCI slots."""
    question = answer.question
    found: list[GpuRecord] = []
    for record, members in smi_records(smi.gpus, SOURCE, question):
        processes = tuple(
            GpuProcess(told(one.vram_bytes, question, one.line))
            for one in smi.processes
            if one.gpu in {member.index for member in members}
        )
        if processes or smi.no_processes:
            record.put("processes", processes, question)
        found.append(record)
    return found


TOOL = Tool(
    150,
    _parse,
    "amd-smi",
    records=_records,
    failures=_failures,
    vendor="amd",
    live=("run amd-smi static --json", "run amd-smi metric --json"),
)

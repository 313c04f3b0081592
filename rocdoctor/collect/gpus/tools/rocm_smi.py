"""GPUs as rocm-smi shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocdoctor.collect.gpus.amd_tools import cut_json, smi_records
from rocdoctor.collect.gpus.records import GpuRecord, RecordSource
from rocdoctor.collect.gpus.tool import Tool
from rocdoctor.host.base import Answer
from rocdoctor.model.facts import ToolFailure

if TYPE_CHECKING:
    from rocdoctor.parsers.amd.rocm_smi import RocmSmi

SOURCE = RecordSource(160, "rocm-smi")


def _parse(answer: Answer) -> RocmSmi:
    from rocdoctor.parsers.amd.rocm_smi import parse_rocm_smi

    return parse_rocm_smi(answer.text)


def _failures(smi: RocmSmi, answer: Answer) -> list[ToolFailure]:
    return cut_json(smi.complete if smi.form == "json" else None, answer)


def _records(smi: RocmSmi, answer: Answer) -> list[GpuRecord]:
    """One record a device of the list; partitions are told by equal PCI slots."""
    return [record for record, _ in smi_records(smi.gpus, SOURCE, answer.question)]


TOOL = Tool(
    160,
    _parse,
    "rocm-smi",
    records=_records,
    failures=_failures,
    vendor="amd",
    live=("run rocm-smi --showtopo",),
)

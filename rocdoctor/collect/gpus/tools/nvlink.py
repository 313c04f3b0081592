"""The NVLinks of each GPU that ``nvidia-smi nvlink --status`` shows, named by the index of the tool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocdoctor.collect.gpus.records import GpuRecord
from rocdoctor.collect.gpus.tool import Tool, told
from rocdoctor.collect.gpus.tools.nvidia_smi import SHORT
from rocdoctor.host.base import Answer
from rocdoctor.model.facts import NvLink

if TYPE_CHECKING:
    from rocdoctor.parsers.nvidia.nvidia_links import NvLinkStatus


def _parse(answer: Answer) -> NvLinkStatus:
    from rocdoctor.parsers.nvidia.nvidia_links import parse_nvlink_status

    return parse_nvlink_status(answer.text)


def _records(status: NvLinkStatus, answer: Answer) -> list[GpuRecord]:
    question = answer.question
    found: list[GpuRecord] = []
    for gpu in status.gpus:
        record = GpuRecord(SHORT, "nvidia", position=gpu.index)
        record.put("smi_index", gpu.index, question, gpu.line)
        record.put("name", gpu.name, question, gpu.line)
        record.put("unique_id", gpu.uuid, question, gpu.line)
        links = tuple(
            NvLink(link.index, bool(link.active), told(link.speed_gb_s, question, link.line)) for link in gpu.links
        )
        stated = all(link.active is not None for link in gpu.links)
        if (links and stated) or gpu.all_inactive:
            record.put("nvlinks", links, question, gpu.line)
        found.append(record)
    return found


TOOL = Tool(
    120,
    _parse,
    "nvidia-smi",
    subcommand=lambda arguments: arguments[:1] == ["nvlink"],
    records=_records,
    vendor="nvidia",
    live=("run nvidia-smi nvlink --status",),
)

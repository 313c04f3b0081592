"""What nvidia-smi says of itself: whether it works, and how many GPUs it counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rocdoctor.collect.gpus.tool import Tools
from rocdoctor.collect.gpus.tools import nvidia_smi, nvidia_topo, nvlink
from rocdoctor.host.base import Answer, Host
from rocdoctor.model.evidence import NOT_ASKED, Fact, Known, Source
from rocdoctor.model.facts import ToolFailure

if TYPE_CHECKING:
    from rocdoctor.parsers.nvidia.nvidia_records import NvidiaFailure

# The failure that says most about the machine first; the last ones leave other GPUs, or all, in working order.
_ORDER = (
    "version-mismatch",
    "driver-not-running",
    "blocked",
    "library-missing",
    "no-devices",
    "nvml-failed",
    "gpu-lost",
    "gpu-unreachable",
    "inforom-corrupted",
)
_MAX_TEXT = 400


def collect_failure(host: Host, tools: Tools, vendors: Sequence[str]) -> Fact[ToolFailure | None]:
    """The most telling failure message in the outputs of nvidia-smi; Known(None) when it lists GPUs without one."""
    outputs: list[tuple[tuple[NvidiaFailure, ...], Answer]] = []
    outputs += [(smi.failures, answer) for smi, answer in tools.of(nvidia_smi.TOOL)]
    outputs += [(links.failures, answer) for links, answer in tools.of(nvlink.TOOL)]
    outputs += [(matrix.failures, answer) for matrix, answer in tools.of(nvidia_topo.TOOL)]
    found = [(failure, answer.question) for failures, answer in outputs for failure in failures]
    if found:
        worst, question = min(found, key=lambda one: _ORDER.index(one[0].kind))
        text = worst.message[:_MAX_TEXT]
        failure = ToolFailure(question, f"nvidia-smi failed: {worst.kind}", text, worst.line, worst.kind, worst.bdf)
        return Known(failure, Source(question, worst.line))
    for smi, answer in tools.of(nvidia_smi.TOOL):
        if smi.gpus:
            return Known(None, answer.source())
    if host.kind == "live" and "nvidia" in vendors:
        return host.ask(nvidia_smi.TOOL.live[0]).unknown()
    return NOT_ASKED


def collect_attached(tools: Tools) -> Fact[int]:
    """The tool's own count of GPUs."""
    for smi, answer in tools.of(nvidia_smi.TOOL):
        if smi.attached_gpus is not None:
            return Known(smi.attached_gpus, answer.source(smi.lines.get("attached_gpus")))
    return NOT_ASKED

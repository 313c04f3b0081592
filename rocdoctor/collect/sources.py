"""The outputs of tools that this evidence holds, parsed once.

On a live machine only the tools are asked that its hardware calls for; elsewhere whatever output is there is used,
however its command was spelled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from rocdoctor.evidence import Unknown
from rocdoctor.facts import ToolFailure
from rocdoctor.host.base import Answer, Host, argv_of
from rocdoctor.parsers.amd_smi import parse_amd_smi
from rocdoctor.parsers.amd_smi_records import AmdSmi
from rocdoctor.parsers.lspci import PciDevice, parse_lspci
from rocdoctor.parsers.lspci_tree import parse_lspci_tree
from rocdoctor.parsers.lstopo import parse_lstopo
from rocdoctor.parsers.lstopo_records import HwlocTopology
from rocdoctor.parsers.nvidia_links import NvidiaTopology, NvLinkStatus, parse_nvlink_status, parse_topo
from rocdoctor.parsers.nvidia_records import NvidiaSmi
from rocdoctor.parsers.nvidia_smi import parse_nvidia_smi
from rocdoctor.parsers.rccl_topo import RcclTopology, parse_rccl_topo
from rocdoctor.parsers.rocm_smi import parse_rocm_smi
from rocdoctor.parsers.rocm_smi_records import RocmSmi
from rocdoctor.parsers.rocminfo import RocmInfo, parse_rocminfo

T = TypeVar("T")

Parsed = tuple[T, Answer]

# What is asked on a live machine, by the vendor of the GPUs on its bus. sysfs comes first: these only add to it.
LIVE_QUESTIONS: dict[str, tuple[str, ...]] = {
    "amd": ("run rocminfo", "run amd-smi static --json", "run amd-smi metric --json", "run rocm-smi --showtopo"),
    "nvidia": ("run nvidia-smi -q -x", "run nvidia-smi nvlink --status", "run nvidia-smi topo -m"),
}


@dataclass(slots=True)
class Tools:
    """Every tool output of the evidence, parsed, with the answer it came from."""

    rocminfo: list[Parsed[RocmInfo]] = field(default_factory=list)
    amd_smi: list[Parsed[AmdSmi]] = field(default_factory=list)
    rocm_smi: list[Parsed[RocmSmi]] = field(default_factory=list)
    nvidia_smi: list[Parsed[NvidiaSmi]] = field(default_factory=list)
    nvlink: list[Parsed[NvLinkStatus]] = field(default_factory=list)
    nvidia_topo: list[Parsed[NvidiaTopology]] = field(default_factory=list)
    lspci: list[Parsed[tuple[PciDevice, ...]]] = field(default_factory=list)
    lstopo: list[Parsed[HwlocTopology]] = field(default_factory=list)
    rccl: list[Parsed[RcclTopology]] = field(default_factory=list)
    failures: list[ToolFailure] = field(default_factory=list)


def _is_topology_dump(answer: Answer) -> bool:
    head = answer.text[:4000]
    return "<system" in head and ("<cpu " in answer.text[:20000] or "<gpu " in answer.text[:200000])


def questions(host: Host, vendors: Sequence[str]) -> list[str]:
    """Which tool outputs to look at: those at hand, and on a live machine those that its hardware calls for."""
    at_hand = [question for question in host.available() if question.startswith("run ")]
    if host.kind != "live":
        return at_hand
    return [question for vendor in vendors for question in LIVE_QUESTIONS.get(vendor, ())]


def read_tools(host: Host, vendors: Sequence[str]) -> Tools:
    """Ask and parse."""
    tools = Tools()
    wanted = questions(host, vendors)
    host.prefetch(wanted)
    for question in wanted:
        answer = host.ask(question)
        name = _program(question)
        if not answer.ok:
            _note_failure(tools, answer)
            continue
        _dispatch(tools, name, argv_of(question)[1:], answer)
    return tools


def _program(question: str) -> str:
    argv = argv_of(question)
    return argv[0].rsplit("/", 1)[-1] if argv else ""


def _note_failure(tools: Tools, answer: Answer) -> None:
    if answer.status in ("timeout", "failed", "denied"):
        gap: Unknown = answer.unknown()
        tools.failures.append(ToolFailure(answer.question, gap.why))


def _dispatch(tools: Tools, name: str, arguments: list[str], answer: Answer) -> None:
    text = answer.text
    by_name: dict[str, tuple[list[Parsed[object]], Callable[[str], object]]] = {
        "rocminfo": (tools.rocminfo, parse_rocminfo),  # type: ignore[dict-item]
        "amd-smi": (tools.amd_smi, parse_amd_smi),  # type: ignore[dict-item]
        "rocm-smi": (tools.rocm_smi, parse_rocm_smi),  # type: ignore[dict-item]
    }
    if name in by_name:
        into, parse = by_name[name]
        into.append((parse(text), answer))
    elif name == "nvidia-smi" and arguments[:1] == ["nvlink"]:
        tools.nvlink.append((parse_nvlink_status(text), answer))
    elif name == "nvidia-smi" and arguments[:1] == ["topo"]:
        tools.nvidia_topo.append((parse_topo(text), answer))
    elif name == "nvidia-smi":
        tools.nvidia_smi.append((parse_nvidia_smi(text), answer))
    elif name == "lspci":
        is_tree = any(one.startswith("-") and not one.startswith("--") and "t" in one for one in arguments)
        tools.lspci.append(((parse_lspci_tree if is_tree else parse_lspci)(text), answer))
    elif name.startswith(("lstopo", "hwloc")) and "<topology" in text[:5000]:
        tools.lstopo.append((parse_lstopo(text), answer))
    elif _is_topology_dump(answer):
        tools.rccl.append((parse_rccl_topo(text), answer))

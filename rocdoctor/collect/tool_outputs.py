"""The outputs of tools that this evidence holds, parsed once.

On a live machine only the tools are asked that its hardware calls for; elsewhere whatever output is there is used,
however its command was spelled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from rocdoctor.host.base import Answer, Host, argv_of
from rocdoctor.model.facts import ToolFailure

if TYPE_CHECKING:  # each parser is loaded where its output is at hand: most machines have few of these tools
    from rocdoctor.parsers.amd.amd_smi import AmdSmi
    from rocdoctor.parsers.amd.rocm_smi import RocmSmi
    from rocdoctor.parsers.amd.rocminfo import RocmInfo
    from rocdoctor.parsers.listings.lspci import LspciDevice
    from rocdoctor.parsers.listings.lstopo_records import HwlocTopology
    from rocdoctor.parsers.listings.rccl_topo import RcclTopology
    from rocdoctor.parsers.nvidia.nvidia_links import NvidiaTopology, NvLinkStatus
    from rocdoctor.parsers.nvidia.nvidia_records import NvidiaSmi

T = TypeVar("T")

Parsed = tuple[T, Answer]

# What is asked on a live machine, by the vendor of the GPUs on its bus. sysfs comes first: these only add to it.
LIVE_QUESTIONS: dict[str, tuple[str, ...]] = {
    "amd": ("run rocminfo", "run amd-smi static --json", "run amd-smi metric --json", "run rocm-smi --showtopo"),
    "nvidia": ("run nvidia-smi -q -x", "run nvidia-smi nvlink --status", "run nvidia-smi topo -m"),
}

# Inside WSL no GPU is on the bus, and of the tools only these work: they alone tell whose GPU Windows has.
_UNDER_WSL = ("run rocminfo", "run nvidia-smi -q -x")
_RELEASE = "read /proc/sys/kernel/osrelease"


# Many times what a report of a cluster's node holds.
_MOST_OUTPUTS = 1000


@dataclass(slots=True)
class Tools:
    """Every tool output of the evidence, parsed, with the answer it came from."""

    rocminfo: list[Parsed[RocmInfo]] = field(default_factory=list)
    amd_smi: list[Parsed[AmdSmi]] = field(default_factory=list)
    rocm_smi: list[Parsed[RocmSmi]] = field(default_factory=list)
    nvidia_smi: list[Parsed[NvidiaSmi]] = field(default_factory=list)
    nvlink: list[Parsed[NvLinkStatus]] = field(default_factory=list)
    nvidia_topo: list[Parsed[NvidiaTopology]] = field(default_factory=list)
    lspci: list[Parsed[tuple[LspciDevice, ...]]] = field(default_factory=list)
    lstopo: list[Parsed[HwlocTopology]] = field(default_factory=list)
    rccl: list[Parsed[RcclTopology]] = field(default_factory=list)
    failures: list[ToolFailure] = field(default_factory=list)


def questions(host: Host, vendors: Sequence[str], several: bool) -> list[str]:
    """Which tool outputs to look at: those at hand, and on a live machine those that its hardware calls for."""
    if host.kind != "live":
        return [question for question in host.available() if _is_ours(question)]
    wanted = [question for vendor in vendors for question in LIVE_QUESTIONS.get(vendor, ())]
    if not vendors and "microsoft" in host.ask(_RELEASE).text.lower():
        return list(_UNDER_WSL)
    # Between several GPUs the access control of the switches matters, which only lspci shows (to root).
    return [*wanted, "run lspci -D -nn -vv"] if several and wanted else wanted


def _program(question: str) -> str:
    argv = argv_of(question)
    return argv[0].rsplit("/", 1)[-1] if argv else ""


def _is_ours(question: str) -> bool:
    """Whether a program's output is read here (a topology dump is kept under the name of its file)."""
    program = _program(question)
    return program in _SINGLE or program.startswith(("lstopo", "hwloc")) or question.endswith("xml")


_SINGLE = frozenset({"rocminfo", "amd-smi", "rocm-smi", "nvidia-smi", "lspci"})


def read_tools(host: Host, vendors: Sequence[str], several: bool = False) -> Tools:
    """Ask and parse; ``several`` says that there is more than one GPU."""
    tools = Tools()
    wanted = questions(host, vendors, several)
    if len(wanted) > _MOST_OUTPUTS:
        why = f"left out: of {len(wanted):,} outputs of tools the first {_MOST_OUTPUTS:,} are read"
        tools.failures.append(ToolFailure(wanted[_MOST_OUTPUTS], why))
        wanted = wanted[:_MOST_OUTPUTS]
    host.prefetch(wanted)
    for question in wanted:
        answer = host.ask(question)
        if answer.ok:
            _dispatch(tools, _program(question), argv_of(question)[1:], answer)
        elif answer.status in ("timeout", "failed", "denied"):
            gap = answer.unknown()
            tools.failures.append(ToolFailure(answer.question, gap.why, reason=gap.reason))
    return tools


def _dispatch(tools: Tools, name: str, arguments: list[str], answer: Answer) -> None:
    text = answer.text
    if name == "rocminfo":
        from rocdoctor.parsers.amd.rocminfo import parse_rocminfo

        info = parse_rocminfo(text)
        tools.rocminfo.append((info, answer))
        if info.errors or info.hsa_status or info.kfd_error:
            said = info.errors[0] if info.errors else info.kfd_error or info.hsa_status or ""
            line = info.lines.get("kfd_error") or info.lines.get("hsa_status")
            tools.failures.append(ToolFailure(answer.question, "rocminfo ended with an error", said[:200], line))
    elif name in ("amd-smi", "rocm-smi"):
        _amd(tools, name, answer)
    elif name == "nvidia-smi":
        _nvidia(tools, arguments, answer)
    elif name == "lspci":
        from rocdoctor.parsers.listings.lspci import parse_lspci
        from rocdoctor.parsers.listings.lspci_tree import parse_lspci_tree

        is_tree = any(one.startswith("-") and not one.startswith("--") and "t" in one for one in arguments)
        tools.lspci.append(((parse_lspci_tree if is_tree else parse_lspci)(text), answer))
    elif "<topology" in text[:5000]:
        from rocdoctor.parsers.listings.lstopo import parse_lstopo

        tools.lstopo.append((parse_lstopo(text), answer))
    elif _is_topology_dump(text):
        from rocdoctor.parsers.listings.rccl_topo import parse_rccl_topo

        tools.rccl.append((parse_rccl_topo(text), answer))


def _is_topology_dump(text: str) -> bool:
    return "<system" in text[:4000] and ("<cpu " in text[:20_000] or "<gpu " in text[:200_000])


def _amd(tools: Tools, name: str, answer: Answer) -> None:
    complete: bool | None
    if name == "amd-smi":
        from rocdoctor.parsers.amd.amd_smi import parse_amd_smi

        amd = parse_amd_smi(answer.text)
        tools.amd_smi.append((amd, answer))
        complete = amd.complete
    else:
        from rocdoctor.parsers.amd.rocm_smi import parse_rocm_smi

        rocm = parse_rocm_smi(answer.text)
        tools.rocm_smi.append((rocm, answer))
        complete = rocm.complete if rocm.form == "json" else None
    if complete is False and answer.complete and "--json" in answer.question:
        why = f"{answer.question}: its JSON ends in the middle or is damaged; what could be read of it is used"
        tools.failures.append(ToolFailure(answer.question, why))


def _nvidia(tools: Tools, arguments: list[str], answer: Answer) -> None:
    from rocdoctor.parsers.nvidia.nvidia_links import parse_nvlink_status, parse_topo
    from rocdoctor.parsers.nvidia.nvidia_smi import parse_nvidia_smi

    if arguments[:1] == ["nvlink"]:
        tools.nvlink.append((parse_nvlink_status(answer.text), answer))
    elif arguments[:1] == ["topo"]:
        tools.nvidia_topo.append((parse_topo(answer.text), answer))
    else:
        tools.nvidia_smi.append((parse_nvidia_smi(answer.text), answer))

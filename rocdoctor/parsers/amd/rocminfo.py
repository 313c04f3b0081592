"""The output of ``rocminfo``: agents (CPUs and GPUs), their memory pools and instruction sets, or why it failed."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.text import MAX_FIELD, gfx_name, lines_of, pci_from_bdfid, to_bytes, to_int, value_of

MAX_AGENTS = 1024
MAX_PARTS = 64


@dataclass(frozen=True, slots=True)
class MemoryPool:
    """One memory pool of an agent: ``segment`` is GLOBAL, GROUP, ..."""

    segment: str | None = None
    size_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Agent:
    """One HSA agent.

    ``unique_id`` is the 16 digits of "GPU-<digits>" as in sysfs ``unique_id`` (None for "GPU-XX"). ``pci_address`` is
    made from KFD's location_id, with domain 0 where the output has no domain (``domain`` is None then). ``lines`` gives
    the 1-based line of each entry.
    """

    line: int
    device_type: str | None = None  # "CPU", "GPU", "DSP", "AIE"
    marketing_name: str | None = None
    unique_id: str | None = None
    gfx: str | None = None
    node: int | None = None
    chip_id: int | None = None
    domain: int | None = None
    pci_address: str | None = None
    compute_units: int | None = None
    apu: bool | None = None
    pools: tuple[MemoryPool, ...] = ()
    lines: dict[str, int] = field(default_factory=dict)

    @property
    def is_gpu(self) -> bool:
        """True for a GPU agent."""
        return self.device_type == "GPU" if self.device_type is not None else self.gfx is not None

    @property
    def memory_bytes(self) -> int | None:
        """Size of the largest global pool: VRAM of a GPU, memory of a NUMA node for a CPU."""
        return max(
            (pool.size_bytes for pool in self.pools if pool.segment == "GLOBAL" and pool.size_bytes), default=None
        )


@dataclass(frozen=True, slots=True)
class RocmInfo:
    """What one run of rocminfo said.

    ``kfd_error`` is the reason behind "Unable to open /dev/kfd read-write"; ``missing_group`` the group that the user
    is not in; ``hsa_status`` the HSA_STATUS_... name of a failed call.
    """

    module_version: str | None = None
    agents: tuple[Agent, ...] = ()
    kfd_error: str | None = None
    missing_group: str | None = None
    hsa_status: str | None = None
    errors: tuple[str, ...] = ()
    lines: dict[str, int] = field(default_factory=dict)

    @property
    def gpus(self) -> tuple[Agent, ...]:
        """The GPU agents in the order of the output, which is HIP's order where no visibility variable is set."""
        return tuple(agent for agent in self.agents if agent.is_gpu)


_AGENT = regex(r"Agent \d{1,5}\Z")
_PART = regex(r"(Pool|ISA) \d{1,5}\Z")
_LOADED = regex(r"ROCk module version (\S{1,80}) is (?:NOT )?loaded", re.IGNORECASE)
_KFD_ERROR = regex(r"Unable to open /dev/kfd read-write: (.{1,200})")
_NOT_MEMBER = regex(r"\S{1,100} is not member of \"([^\"]{1,60})\" group")
_HSA_RETURN = regex(r"Call returned (HSA_[A-Z0-9_]{1,80}|\d{1,6}|0x[0-9a-fA-F]{1,8})[:.]?")
_GROUP_FAILED = regex(r"Failed to (?:get|find) .{0,200}", re.IGNORECASE)

_BREAKS_IN = regex(r"/dev/kfd|hsa api call|Call returned|ROCk module")
_AGENT_TEXT = {"Name": "name", "Uuid": "uuid", "Marketing Name": "marketing_name", "Device Type": "device_type"}
_AGENT_INT = {
    "Node": "node",
    "Chip ID": "chip_id",
    "BDFID": "bdfid",
    "Domain": "domain",
    "Compute Unit": "compute_units",
}


def parse_rocminfo(text: str) -> RocmInfo:
    """Everything in the output of rocminfo; what it does not say is None, an empty text gives an empty record."""
    fields: dict[str, str] = {}
    lines: dict[str, int] = {}
    agents: list[Agent] = []
    errors: list[str] = []
    block: list[tuple[int, str]] | None = None  # the lines of the agent being read
    start = 0
    for line_number, raw in enumerate(lines_of(text), 1):
        line = raw.strip()
        if not line or len(line) > MAX_FIELD or not line.strip("*=- "):
            continue
        agent = _AGENT.match(line)
        if agent or line.startswith("*** Done"):
            if block is not None and len(agents) < MAX_AGENTS:
                agents.append(_agent(start, block))
            block, start = ([] if agent else None), line_number
            continue
        # Inside an agent only the messages that may break in there count; "Name:" and the like are the agent's.
        found, failed = _message(line) if block is None or _BREAKS_IN.search(line) else ({}, False)
        for name, value in found.items():
            if name not in fields:
                fields[name] = value
                lines[name] = line_number
        if block is not None and not (found or failed):
            block.append((line_number, line))
        if failed or (block is None and re.match(r"(?:libkmod: )?error\b|failed to|cannot ", line, re.IGNORECASE)):
            errors.append(line[:500])
    if block is not None and len(agents) < MAX_AGENTS:
        agents.append(_agent(start, block))
    return RocmInfo(
        module_version=fields.get("module_version"),
        agents=tuple(agents),
        kfd_error=fields.get("kfd_error"),
        missing_group=fields.get("missing_group"),
        hsa_status=fields.get("hsa_status"),
        errors=tuple(errors[:100]),
        lines=lines,
    )


def _message(line: str) -> tuple[dict[str, str], bool]:
    """The fields of one line outside the agents, and whether it tells of an error."""
    if match := _LOADED.search(line):
        version = value_of(match.group(1))
        return ({"module_version": version} if version else {}), False
    if match := _KFD_ERROR.search(line):
        return {"kfd_error": match.group(1).strip()}, True
    if match := _NOT_MEMBER.search(line):
        return {"missing_group": match.group(1)}, True
    # Old releases put the status behind the place of the call, in one line.
    status = _HSA_RETURN.search(line)
    if status or "hsa api call failure at" in line:
        return ({"hsa_status": status.group(1)} if status else {}), True
    return {}, "group" in line and _GROUP_FAILED.search(line) is not None


def _agent(line: int, block: list[tuple[int, str]]) -> Agent:
    texts: dict[str, str] = {}
    numbers: dict[str, int] = {}
    lines: dict[str, int] = {}
    apu: bool | None = None
    parts: list[tuple[str, dict[str, str]]] = []
    in_parts = False
    for line_number, text in block:
        if text in ("Pool Info:", "ISA Info:"):
            in_parts = True
            continue
        if part := _PART.match(text):
            parts.append((part.group(1), {}))
            continue
        key, separator, rest = text.partition(":")
        if not separator:
            continue
        key, value = key.strip(), rest.lstrip(":").strip()
        if in_parts:
            if parts:
                parts[-1][1].setdefault(key, value)
        elif (name := _AGENT_TEXT.get(key)) and name not in texts and (word := value_of(value)):
            texts[name], lines[name] = word, line_number
        elif (name := _AGENT_INT.get(key)) and name not in numbers:
            number = to_int(value.partition("(")[0])
            if number is not None:
                numbers[name], lines[name] = number, line_number
        elif key == "Memory Properties" and apu is None:
            apu, lines["apu"] = "APU" in value.split(), line_number
    uuid, bdfid = texts.get("uuid", ""), numbers.get("bdfid", -1)
    on_bus = 0 <= bdfid <= 0xFFFFFFFF and texts.get("device_type") != "CPU"
    targets = (_target(values) for kind, values in parts[:MAX_PARTS] if kind == "ISA")
    return Agent(
        line,
        device_type=texts.get("device_type"),
        marketing_name=texts.get("marketing_name"),
        unique_id=uuid[4:].lower().zfill(16) if re.match(r"GPU-[0-9a-fA-F]{8,16}\Z", uuid) else None,
        gfx=gfx_name(texts.get("name")) or next((gfx for gfx in targets if gfx), None),
        node=numbers.get("node"),
        chip_id=numbers.get("chip_id"),
        domain=numbers.get("domain"),
        pci_address=pci_from_bdfid(bdfid, numbers.get("domain", 0)) if on_bus else None,
        compute_units=numbers.get("compute_units"),
        apu=apu,
        pools=tuple(_pool(values) for kind, values in parts[:MAX_PARTS] if kind == "Pool"),
        lines=lines,
    )


def _pool(values: dict[str, str]) -> MemoryPool:
    return MemoryPool(
        segment=value_of(values.get("Segment", "").partition(";")[0]),
        size_bytes=to_bytes(re.sub(r"\([^)]{0,40}\)", " ", values.get("Size", "")), "KB"),
    )


def _target(values: dict[str, str]) -> str | None:
    """The processor of an ISA name ("amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-"); None for a generic one."""
    target = (value_of(values.get("Name")) or "").partition(":")[0]
    return None if target.endswith("-generic") else gfx_name(target)

"""The output of ``rocminfo``: agents (CPUs and GPUs), their memory pools and instruction sets, or why it failed."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.text import MAX_FIELD, gfx_name, lines_of, pci_from_bdfid, to_bytes, to_int, value_of

MAX_AGENTS = 1024
MAX_PARTS = 64


@dataclass(frozen=True, slots=True)
class Pool:
    """One memory pool of an agent: ``segment`` is GLOBAL, GROUP, ...; ``flags`` such as "COARSE GRAINED"."""

    number: int
    line: int
    segment: str | None = None
    flags: tuple[str, ...] = ()
    size_bytes: int | None = None
    allocatable: bool | None = None
    granule_bytes: int | None = None
    accessible_by_all: bool | None = None


@dataclass(frozen=True, slots=True)
class Isa:
    """One instruction set name; ``sramecc`` and ``xnack`` are None where the name leaves the feature open."""

    name: str
    line: int
    gfx: str | None = None
    generic: bool = False
    sramecc: bool | None = None
    xnack: bool | None = None


@dataclass(frozen=True, slots=True)
class Agent:
    """One HSA agent.

    ``unique_id`` is the 16 digits of "GPU-<digits>" as in sysfs ``unique_id`` (None for "GPU-XX"). ``bdfid`` is KFD's
    location_id; ``pci_address`` is made from it with domain 0 where the output has no domain (``domain`` is None then),
    ``partition`` is its bits 31-28. ``lines`` gives the 1-based line of each field.
    """

    number: int
    line: int
    name: str | None = None
    device_type: str | None = None  # "CPU", "GPU", "DSP", "AIE"
    marketing_name: str | None = None
    vendor_name: str | None = None
    uuid: str | None = None
    unique_id: str | None = None
    gfx: str | None = None
    profile: str | None = None
    node: int | None = None
    chip_id: int | None = None
    asic_revision: int | None = None
    bdfid: int | None = None
    domain: int | None = None
    pci_address: str | None = None
    partition: int | None = None
    max_clock_mhz: int | None = None
    compute_units: int | None = None
    simds_per_cu: int | None = None
    shader_engines: int | None = None
    wavefront_size: int | None = None
    max_queues: int | None = None
    apu: bool | None = None
    coherent_host_access: bool | None = None
    fast_f16: bool | None = None
    ucode_version: int | None = None
    sdma_ucode_version: int | None = None
    cache_bytes: dict[str, int] = field(default_factory=dict)
    pools: tuple[Pool, ...] = ()
    isas: tuple[Isa, ...] = ()
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

    ``kfd_error`` is the reason behind "Unable to open /dev/kfd read-write"; ``missing_group`` the group that ``user``
    is not in; ``hsa_status`` the HSA_STATUS_... name of a failed call with its ``hsa_message`` and ``hsa_call_site``.
    ``complete`` is True where the output reached its last line.
    """

    module_loaded: bool | None = None
    module_version: str | None = None
    runtime_version: str | None = None
    runtime_ext_version: str | None = None
    xnack_enabled: bool | None = None
    dmabuf_support: bool | None = None
    vmm_support: bool | None = None
    wsl: bool = False
    agents: tuple[Agent, ...] = ()
    kfd_error: str | None = None
    user: str | None = None
    member_of_group: str | None = None
    missing_group: str | None = None
    group_message: str | None = None
    hsa_call_site: str | None = None
    hsa_status: str | None = None
    hsa_message: str | None = None
    errors: tuple[str, ...] = ()
    complete: bool = False
    lines: dict[str, int] = field(default_factory=dict)

    @property
    def gpus(self) -> tuple[Agent, ...]:
        """The GPU agents in the order of the output, which is HIP's order where no visibility variable is set."""
        return tuple(agent for agent in self.agents if agent.is_gpu)


_AGENT = regex(r"Agent (\d{1,5})\Z")
_PART = regex(r"(Pool|ISA) (\d{1,5})\Z")
_LOADED = regex(r"ROCk module(?: version (\S{1,80}))? is (NOT )?loaded", re.IGNORECASE)
_KFD_ERROR = regex(r"Unable to open /dev/kfd read-write: (.{1,200})")
_NOT_MEMBER = regex(r"(\S{1,100}) is not member of \"([^\"]{1,60})\" group")
_MEMBER = regex(r"(\S{1,100}) is member of \"?([^\"\s]{1,60})\"? group")
_HSA_SITE = regex(r"hsa api call failure at:? (.{1,400})")
_HSA_RETURN = regex(r"Call returned (HSA_[A-Z0-9_]{1,80}|\d{1,6}|0x[0-9a-fA-F]{1,8})[:.]?\s{0,20}(.{0,1000})")
_GROUP_FAILED = regex(r"Failed to (?:get|find) .{0,200}", re.IGNORECASE)

_BREAKS_IN = regex(r"/dev/kfd|hsa api call|Call returned|ROCk module")
_SYSTEM_TEXT = {"Runtime Version": "runtime_version", "Runtime Ext Version": "runtime_ext_version"}
_SYSTEM_FLAG = {"XNACK enabled": "xnack_enabled", "DMAbuf Support": "dmabuf_support", "VMM Support": "vmm_support"}
_AGENT_TEXT = {
    "Name": "name",
    "Uuid": "uuid",
    "Marketing Name": "marketing_name",
    "Vendor Name": "vendor_name",
    "Profile": "profile",
    "Device Type": "device_type",
}
_AGENT_INT = {
    "Node": "node",
    "Chip ID": "chip_id",
    "ASIC Revision": "asic_revision",
    "BDFID": "bdfid",
    "Domain": "domain",
    "Max Clock Freq. (MHz)": "max_clock_mhz",
    "Max Clock Frequency (MHz)": "max_clock_mhz",
    "Compute Unit": "compute_units",
    "SIMDs per CU": "simds_per_cu",
    "Shader Engines": "shader_engines",
    "Wavefront Size": "wavefront_size",
    "Max Queue Number": "max_queues",
    "Packet Processor uCode": "ucode_version",
    "SDMA engine uCode": "sdma_ucode_version",
}
_AGENT_FLAG = {"Coherent Host Access": "coherent_host_access", "Fast F16 Operation": "fast_f16"}
_WORDS = {"TRUE": True, "YES": True, "ENABLED": True, "FALSE": False, "NO": False, "DISABLED": False}


def parse_rocminfo(text: str) -> RocmInfo:
    """Everything in the output of rocminfo; what it does not say is None, an empty text gives an empty record."""
    fields: dict[str, Any] = {}
    lines: dict[str, int] = {}
    agents: list[Agent] = []
    errors: list[str] = []
    block: list[tuple[int, str]] | None = None  # the lines of the agent being read
    start = number = 0
    for line_number, raw in enumerate(lines_of(text), 1):
        line = raw.strip()
        if not line or len(line) > MAX_FIELD or not line.strip("*=- "):
            continue
        agent = _AGENT.match(line)
        done = line.startswith("*** Done")
        if agent or done:
            if block is not None and len(agents) < MAX_AGENTS:
                agents.append(_agent(number, start, block))
            block = [] if agent else None
            if agent:
                start, number = line_number, int(agent.group(1))
            else:
                fields["complete"] = True
            continue
        # Inside an agent only the messages that may break in there count; "Name:" and the like are the agent's.
        found = _system(line) if block is None or _BREAKS_IN.search(line) else {}
        for name, value in found.items():
            if name not in fields:
                fields[name] = value
                lines[name] = line_number
        if block is not None and not found:
            block.append((line_number, line))
        if found.keys() & {"kfd_error", "group_message", "missing_group", "hsa_call_site", "hsa_status"} or (
            block is None and re.match(r"(?:libkmod: )?error\b|failed to|cannot ", line, re.IGNORECASE)
        ):
            errors.append(line[:500])
    if block is not None and len(agents) < MAX_AGENTS:
        agents.append(_agent(number, start, block))
    return RocmInfo(agents=tuple(agents), errors=tuple(errors[:100]), lines=lines, **fields)


def _system(line: str) -> dict[str, Any]:
    """The fields of one line outside the agents."""
    key, separator, value = line.partition(":")
    if separator and key in _SYSTEM_TEXT:
        return _known({_SYSTEM_TEXT[key]: value_of(value)})
    if separator and key in _SYSTEM_FLAG:
        return _known({_SYSTEM_FLAG[key]: _WORDS.get(value.strip().upper())})
    if match := _LOADED.search(line):
        return _known({"module_loaded": match.group(2) is None, "module_version": value_of(match.group(1))})
    if match := _KFD_ERROR.search(line):
        return {"kfd_error": match.group(1).strip()}
    if match := _NOT_MEMBER.search(line):
        return {"user": match.group(1), "missing_group": match.group(2)}
    if match := _MEMBER.search(line):
        return {"user": match.group(1), "member_of_group": match.group(2)}
    found: dict[str, Any] = {}
    if match := _HSA_SITE.search(line):
        # Old releases put the status behind the place, in one line.
        found["hsa_call_site"] = match.group(1).split(". Call returned")[0].strip()
    if match := _HSA_RETURN.search(line):
        found["hsa_status"] = match.group(1)
        found.update(_known({"hsa_message": value_of(match.group(2))}))
    if found:
        return found
    if "group" in line and (match := _GROUP_FAILED.search(line)):
        return {"group_message": match.group().strip()}
    if line.startswith("WSL environment detected"):
        return {"wsl": True}
    return {}


def _agent(number: int, line: int, block: list[tuple[int, str]]) -> Agent:
    fields: dict[str, Any] = {}
    lines: dict[str, int] = {}
    caches: dict[str, int] = {}
    parts: list[tuple[str, int, int, dict[str, tuple[int, str]]]] = []
    in_parts = False
    for line_number, text in block:
        if text in ("Pool Info:", "ISA Info:"):
            in_parts = True
            continue
        part = _PART.match(text)
        if part:
            parts.append((part.group(1), int(part.group(2)), line_number, {}))
            continue
        key, separator, rest = text.partition(":")
        if not separator:
            continue
        key, value = key.strip(), rest.lstrip(":").strip()
        if in_parts:
            if parts:
                parts[-1][3].setdefault(key, (line_number, value))
            continue
        parsed: Any = None
        name = _AGENT_TEXT.get(key) or _AGENT_INT.get(key) or _AGENT_FLAG.get(key)
        if key in _AGENT_TEXT:
            parsed = value_of(value)
        elif key in _AGENT_INT:
            parsed = to_int(value.partition("(")[0])
        elif key in _AGENT_FLAG:
            parsed = _WORDS.get(value.upper())
        elif key == "Memory Properties":
            name, parsed = "apu", "APU" in value.split()
        elif re.match(r"L[0-9]\Z", key) and (size := to_bytes(re.sub(r"\([^)]{0,40}\)", " ", value), "KB")):
            caches.setdefault(key, size)
        if name and parsed is not None and name not in fields:
            fields[name] = parsed
            lines[name] = line_number
    uuid = fields.get("uuid", "")
    if re.match(r"GPU-[0-9a-fA-F]{8,16}\Z", uuid):
        fields["unique_id"] = uuid[4:].lower().zfill(16)
    isas = tuple(isa for kind, _, _, values in parts[:MAX_PARTS] if kind == "ISA" and (isa := _isa(values)))
    fields["gfx"] = gfx_name(fields.get("name")) or next((isa.gfx for isa in isas if isa.gfx and not isa.generic), None)
    bdfid = fields.get("bdfid")
    if bdfid is not None and 0 <= bdfid <= 0xFFFFFFFF and (fields.get("device_type") != "CPU"):
        fields["pci_address"] = pci_from_bdfid(bdfid, fields.get("domain", 0))
        fields["partition"] = bdfid >> 28
    pools = tuple(_pool(which, at, values) for kind, which, at, values in parts[:MAX_PARTS] if kind == "Pool")
    return Agent(number, line, cache_bytes=caches, pools=pools, isas=isas, lines=lines, **fields)


def _pool(number: int, line: int, values: dict[str, tuple[int, str]]) -> Pool:
    def text(key: str) -> str:
        return values[key][1] if key in values else ""

    segment, _, flags = text("Segment").partition(";")
    flag_words = flags.strip().removeprefix("FLAGS:").strip()
    return Pool(
        number,
        line,
        segment=value_of(segment),
        flags=tuple(flag.strip() for flag in flag_words.split(",") if flag.strip()),
        size_bytes=to_bytes(re.sub(r"\([^)]{0,40}\)", " ", text("Size")), "KB"),
        allocatable=_WORDS.get(text("Allocatable").upper()),
        granule_bytes=to_bytes(text("Alloc Granule"), "KB"),
        accessible_by_all=_WORDS.get(text("Accessible by all").upper()),
    )


def _isa(values: dict[str, tuple[int, str]]) -> Isa | None:
    line, raw = values.get("Name", (0, ""))
    name = value_of(raw)
    if name is None:
        return None
    target, *features = name.split(":")
    states = {feature[:-1]: feature[-1] == "+" for feature in features if feature[-1:] in ("+", "-")}
    generic = target.endswith("-generic")
    gfx = target.rsplit("--", 1)[-1].lower() if generic else gfx_name(target)
    return Isa(name, line, gfx, generic, states.get("sramecc", states.get("sram-ecc")), states.get("xnack"))


def _known(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}

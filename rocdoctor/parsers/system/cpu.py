"""The CPUs of a machine: lscpu (text and JSON), /proc/cpuinfo. Lists and masks are read by ``cpuset``."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.cpuset import canonical_list
from rocdoctor.parsers.formats.json_text import Json, JsonText, Path, load_json
from rocdoctor.parsers.formats.text import lines_of, to_int, value_of, whole_number

# The kernel's largest NR_CPUS (arch/x86/Kconfig, MAXSMP); what is above is no CPU number.

_NODE_CPUS = regex(r"NUMA node(\d{1,5}) CPU\(s\)\Z")

# Names of CPU cores by MIDR_EL1 implementer and part number (Linux arch/arm64/include/asm/cputype.h).
ARM_PARTS = {
    (0x41, 0xD03): "Cortex-A53",
    (0x41, 0xD07): "Cortex-A57",
    (0x41, 0xD08): "Cortex-A72",
    (0x41, 0xD0B): "Cortex-A76",
    (0x41, 0xD0C): "Neoverse-N1",
    (0x41, 0xD40): "Neoverse-V1",
    (0x41, 0xD49): "Neoverse-N2",
    (0x41, 0xD4F): "Neoverse-V2",
    (0x41, 0xD84): "Neoverse-V3",
    (0x41, 0xD8E): "Neoverse-N3",
    (0x48, 0xD01): "TaiShan-v110",
    (0x43, 0x0AF): "ThunderX2",
    (0xC0, 0xAC3): "Ampere-1",
    (0xC0, 0xAC4): "Ampere-1A",
}


@dataclass(frozen=True, slots=True)
class Lscpu:
    """What lscpu says: counts, names and canonical cpulists ("0-15,128-143"); ``lines`` by field name.

    ``cpus`` counts all that the kernel knows, ``online_cpulist`` those in use. On machines with two kinds of cores
    the first kind gives ``model_name``.
    """

    architecture: str | None = None
    cpus: int | None = None
    online_cpulist: str | None = None
    offline_cpulist: str | None = None
    vendor_id: str | None = None
    model_name: str | None = None
    cores_per_socket: int | None = None
    sockets: int | None = None
    numa_cpulists: dict[int, str] = field(default_factory=dict)
    hypervisor: str | None = None
    lines: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CpuInfo:
    """/proc/cpuinfo: ``threads`` online processors listed; packages and cores only where the text tells them.

    ``architecture`` is "x86_64", "aarch64", "ppc64le" or "riscv64", by the fields that only it has ("x86_64" needs
    the flag lm). ``hypervisor`` is the x86 flag of that name; other architectures do not tell (None).
    """

    architecture: str | None = None
    model_name: str | None = None
    vendor_id: str | None = None
    threads: int = 0
    packages: int | None = None
    cores: int | None = None
    hypervisor: bool | None = None
    lines: dict[str, int] = field(default_factory=dict)


def parse_lscpu(text: str) -> Lscpu:
    """Reads lscpu's text or, with -J, its JSON (flat before util-linux 2.38, nested since)."""
    values: dict[str, tuple[str, int]] = {}
    nodes: dict[int, str] = {}
    flags: frozenset[str] | None = None
    for label, raw, line in _lscpu_pairs(text):
        value = value_of(raw)
        if value is None and label not in ("Flags", "Features"):
            continue
        values.setdefault(label, (value or "", line))
        node = _NODE_CPUS.match(label)
        if node and (cpulist := canonical_list(value or "")) and len(nodes) < 4096:
            nodes.setdefault(int(node.group(1)), cpulist)
        if label == "Flags" and flags is None:
            flags = frozenset((raw or "").split()) or None

    def text_of(*labels: str) -> str | None:
        return next((values[label][0] for label in labels if label in values), None)

    def list_of(label: str) -> str | None:
        return canonical_list(text_of(label) or "")

    sources = {
        "architecture": ("Architecture",),
        "cpus": ("CPU(s)",),
        "online_cpulist": ("On-line CPU(s) list",),
        "offline_cpulist": ("Off-line CPU(s) list",),
        "vendor_id": ("Vendor ID",),
        "model_name": ("Model name",),
        "cores_per_socket": ("Core(s) per socket",),
        "sockets": ("Socket(s)",),
        "hypervisor": ("Hypervisor vendor",),
        "flags": ("Flags",),
    }
    lines = {name: values[labels[0]][1] for name, labels in sources.items() if labels[0] in values}
    return Lscpu(
        architecture=text_of("Architecture"),
        cpus=to_int(text_of("CPU(s)")),
        online_cpulist=list_of("On-line CPU(s) list"),
        offline_cpulist=list_of("Off-line CPU(s) list"),
        vendor_id=text_of("Vendor ID"),
        model_name=text_of("Model name"),
        cores_per_socket=to_int(text_of("Core(s) per socket")),
        sockets=to_int(text_of("Socket(s)")),
        numa_cpulists=nodes,
        hypervisor=text_of("Hypervisor vendor"),
        lines=lines,
    )


def _lscpu_pairs(text: str) -> list[tuple[str, str, int]]:
    head = text.lstrip()[:1]
    if head == "{":
        found = load_json(text)
        if found is not None:
            return _json_pairs(found)
    pairs = []
    for line, raw in enumerate(lines_of(text, 5000), 1):
        label, colon, value = raw.partition(":")
        if colon and len(label) < 80:
            pairs.append((label.strip(), value.strip(), line))
    return pairs


def _json_pairs(found: JsonText) -> list[tuple[str, str, int]]:
    pairs: list[tuple[str, str, int]] = []
    todo: list[tuple[Path, Json]] = [((), found.value)]
    while todo and len(pairs) < 5000:
        path, entry = todo.pop()
        below: list[tuple[Path, Json]] = []
        if isinstance(entry, list):
            below = [((*path, index), child) for index, child in enumerate(entry)]
        elif isinstance(entry, dict):
            label, data = entry.get("field"), entry.get("data")
            if isinstance(label, str):
                pairs.append((label.rstrip(":").strip(), data if isinstance(data, str) else "", found.line_of(*path)))
            below = [((*path, key), child) for key, child in entry.items()]
        todo.extend((where, child) for where, child in reversed(below) if isinstance(child, (list, dict)))
    return pairs


# What says something new of each processor; of all else the first one speaks for all.
_COUNTED = ("processor", "physical id", "core id")


@lru_cache(maxsize=2)  # asked for the processors and for the virtual machine
def parse_cpuinfo(text: str) -> CpuInfo:
    """Reads /proc/cpuinfo of x86, aarch64, POWER and RISC-V; a cut text gives the processors that are in it."""
    first: dict[str, tuple[str, int]] = {}
    threads = 0
    package: str | None = None
    packages: set[str] = set()
    cores: set[tuple[str, str]] = set()
    for line, raw in enumerate(lines_of(text), 1):
        label, colon, value = raw.partition(":")
        if not colon:
            continue
        label = label.strip()
        if label in first and label not in _COUNTED:
            continue
        value = value.strip()
        if label == "processor" and whole_number(value) is not None:
            threads += 1
        elif label == "physical id":
            package = value
            packages.add(value)
        elif label == "core id" and package is not None:
            cores.add((package, value))
        if len(first) < 200:
            first.setdefault(label, (value, line))

    def text_of(label: str) -> str | None:
        return value_of(first[label][0]) if label in first else None

    flags = frozenset((text_of("flags") or "").split()) or None
    architecture = None
    if flags and text_of("vendor_id"):
        architecture = "x86_64" if "lm" in flags else None
    elif "CPU implementer" in first and text_of("CPU architecture") in ("8", "AArch64", "9"):
        architecture = "aarch64"
    elif (text_of("cpu") or "").upper().startswith("POWER"):
        architecture = "ppc64le"
    elif (text_of("isa") or "").startswith("rv64"):
        architecture = "riscv64"
    model_label = next((label for label in ("model name", "cpu", "CPU part", "uarch") if label in first), None)
    model = arm_model(text_of("CPU implementer"), text_of("CPU part"))
    names = {
        "vendor_id": "vendor_id",
        "flags": "flags",
        "hypervisor": "flags",
        "model_name": model_label or "",
        "threads": "processor",
        "packages": "physical id",
        "cores": "core id",
    }
    return CpuInfo(
        architecture=architecture,
        model_name=text_of("model name") or text_of("cpu") or model or text_of("uarch"),
        vendor_id=text_of("vendor_id"),
        threads=threads,
        packages=len(packages) or None,
        cores=len(cores) or None,
        hypervisor="hypervisor" in flags if flags and architecture == "x86_64" else None,
        lines={name: first[label][1] for name, label in names.items() if label in first},
    )


def arm_model(implementer: str | None, part: str | None) -> str | None:
    """The core's name from the two hexadecimal numbers of /proc/cpuinfo; None for one that is not in the table."""
    maker, core = to_int(implementer), to_int(part)
    return None if maker is None or core is None else ARM_PARTS.get((maker, core))

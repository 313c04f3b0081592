"""The machine in a few lines, for reports and bundles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from rocdoctor.insight.links.fabric import two_dies
from rocdoctor.judging.subjects import number_ranges
from rocdoctor.knowledge.lookup import gfx_of_device, gfx_target
from rocdoctor.model.evidence import NOT_LOOKED_AT, Fact, Known, value_or
from rocdoctor.model.facts import Gpu, Machine
from rocdoctor.model.printable import one_line

_VENDORS = {"amd": "AMD", "nvidia": "NVIDIA", "intel": "Intel"}
HEAD = 9  # columns of the first word


def _gib(fact: Fact[int]) -> str:
    if not isinstance(fact, Known) or fact.value <= 0:
        return ""
    gib = fact.value / 2**30
    return f"{gib:.0f} GiB" if gib >= 0.95 else f"{fact.value / 2**20:.0f} MiB"


def gpu_words(gpu: Gpu, driver_shown: Collection[str] = ()) -> str:
    """One GPU: name, target, memory, and its driver unless that is in ``driver_shown``, as far as they are known."""
    name = value_or(gpu.name, None) or _nameless(gpu)
    capability = value_or(gpu.compute_capability, "").replace(".", "")
    parts = [name, value_or(gpu.gfx, "") or (f"sm_{capability}" if capability else ""), _gib(gpu.vram_bytes)]
    driver = value_or(gpu.driver, "")
    if driver is None:
        parts.append("no driver bound")
    elif driver and driver not in driver_shown:
        parts.append(f"driver {driver}")
    if isinstance(gpu.integrated, Known) and gpu.integrated.value:
        parts.append("integrated")
    modes = [value_or(gpu.partition.compute, ""), value_or(gpu.partition.memory, "")]
    parts.append("/".join(mode for mode in modes if mode))
    if value_or(gpu.mig, False):
        devices = value_or(gpu.mig_devices, None)
        parts.append("MIG" if devices is None else f"MIG with {devices} device{'' if devices == 1 else 's'}")
    return ", ".join(part for part in parts if part)


def _nameless(gpu: Gpu) -> str:
    """What is known of a GPU without a name: vendor, id, chip; products that share an id differ by revision."""
    name = f"{_VENDORS.get(gpu.vendor, 'Other')} GPU {value_or(gpu.pci_id, '')}".strip()
    if gpu.vendor != "amd":
        return name
    device = value_or(gpu.pci_id, "").partition(":")[2]
    target = gfx_target(value_or(gpu.gfx, None) or (gfx_of_device(device) if device else None) or "")
    chip = target.chip if target is not None else None
    return f"{name} ({chip})" if chip and " and " not in chip else name


def machine_lines(machine: Machine) -> list[str]:
    """A machine card: GPUs, their links, CPU, memory, system, drivers, ROCm and CUDA, torch."""
    lines: list[str] = []
    drivers = _drivers(machine)
    words_of = {gpu.index: gpu_words(gpu, drivers) for gpu in machine.gpus}
    for words, count in Counter(words_of.values()).items():
        same = [index for index, one in words_of.items() if one == words]
        cards = [gpu for gpu in machine.gpus if gpu.index in same]
        said = [f"{f'{count} x ' if count > 1 else ''}{words}", *_counted(cards)]
        lines += _line(f"gpu {number_ranges(same)}", said)
    if machine.gpus_gap is NOT_LOOKED_AT:
        pass  # a line that says so would be one for nothing
    elif machine.gpus_gap is not None:
        lines += _line("GPU", [f"{'others ' if machine.gpus else ''}unknown ({machine.gpus_gap.why})"])
    elif not machine.gpus:
        lines += _line("GPU", ["none" + ("" if machine.gpus_complete else " in this evidence")])
    pairs = len(machine.gpus) * (len(machine.gpus) - 1) // 2
    kinds = Counter(link.type for link in machine.links)
    lines += _line(
        "links", [f"{_pairs(count, pairs)} connected by {_LINKS.get(kind, kind)}" for kind, count in kinds.items()]
    )
    cpus = machine.cpus
    cpu = [value_or(cpus.model, ""), value_or(cpus.arch, "")]
    threads = value_or(cpus.threads, None)
    cpu.append(f"{threads} threads" if threads else "")
    bare = sum(value_or(node.cpulist, None) == "" for node in machine.numa_nodes)
    nodes = len(machine.numa_nodes) - bare
    cpu.append(f"{nodes} NUMA nodes" if nodes > 1 else "")
    cpu.append(f"{bare} NUMA node{'s' if bare > 1 else ''} with memory only" if bare else "")
    lines += _line("CPU", cpu)
    lines += _line("memory", [_gib(machine.memory.total_bytes)])
    release = value_or(machine.kernel.release, "")
    system = [value_or(machine.os.pretty_name, ""), f"Linux {release}" if release else "", *_inside(machine)]
    lines += _line("system", system)
    lines += _line("driver", list(drivers.values()))
    lines += _line("ROCm", [_installed(value_or(one.version, "?"), one.root) for one in machine.rocm])
    lines += _line("CUDA", [_installed(value_or(one.version, "?"), one.root) for one in machine.cuda_toolkits])
    torch = machine.torch
    version = value_or(torch.version, "")
    shown = "not installed" if version is None else version
    python = value_or(torch.python, "")
    lines += _line(
        "torch", [shown, f"Python {python}" if python else "", value_or(torch.interpreter, "")] if shown else []
    )
    return lines + _job(machine)


def _pairs(count: int, every: int) -> str:
    return "the only pair" if every == 1 else f"{count} of {every} pairs"


def _counted(gpus: Sequence[Gpu]) -> list[str]:
    """What equal GPUs are where that is no whole card each, or several GPUs to programs."""
    said = []
    if two_dies(gpus[0]):
        said.append("a die (GCD) of a card with two" if len(gpus) == 1 else "each a die (GCD) of a card with two")
    parts = [len(gpu.compute_nodes) for gpu in gpus]
    if max(parts) > 1:
        said.append(f"{sum(parts)} partitions, each a GPU to programs")
    return said


def _installed(version: str, root: str) -> str:
    """A release and its folder; the folder of one that a text only speaks of is in brackets, and says nothing."""
    return version if root.startswith("(") else f"{version} ({root})"


def _job(machine: Machine) -> list[str]:
    """The running job that was asked about."""
    job = machine.job
    if job is None:
        return []
    threads = len(value_or(job.threads, ()))
    age = value_or(job.started_s_ago, None)
    held = ", ".join(path.removeprefix("/dev/") for path in value_or(job.gpu_devices, ())[:9])
    parts = [
        f"process {value_or(job.pid, '?')}",
        value_or(job.command, ""),
        _STATES.get(value_or(job.state, ""), ""),
        f"{threads} thread{'s' if threads != 1 else ''}" if threads else "",
        f"started {age / 60:.0f} min ago" if age is not None else "",
        f"holds {held}" if held else "holds no GPU" if isinstance(job.gpu_devices, Known) else "",
    ]
    return _line("job", [part for part in parts if part])


_STATES = {
    "R": "running",
    "S": "sleeping",
    "D": "waiting in the kernel",
    "T": "stopped",
    "t": "traced by a debugger",
}
_LINKS = {"xgmi": "XGMI", "nvlink": "NVLink", "pcie": "PCIe"}


def _drivers(machine: Machine) -> dict[str, str]:
    """Drivers whose version is known: name -> words."""
    words: dict[str, str] = {}
    for name, facts in machine.drivers.items():
        version, cuda = facts.get("version"), facts.get("cuda")
        if isinstance(version, Known):
            words[name] = f"{name} {version.value}"
            if isinstance(cuda, Known):
                words[name] += f" (for CUDA up to {cuda.value})"
    return words


def _inside(machine: Machine) -> list[str]:
    kind = value_or(machine.container.kind, "none")
    guest = value_or(machine.container.virtual_machine, None)
    return [f"in {kind}" if kind != "none" else "", f"guest of {guest}" if guest else ""]


def _line(head: str, parts: list[str]) -> list[str]:
    kept = [part for part in parts if part]
    return [f"{head:<{HEAD}} {one_line(', '.join(kept))}"] if kept else []

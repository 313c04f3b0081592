"""The machine in a few lines, for reports and bundles."""

from __future__ import annotations

from collections import Counter

from rocdoctor.evidence import Fact, Known, value_or
from rocdoctor.facts import Gpu, Machine


def _gib(fact: Fact[int]) -> str:
    return f"{fact.value / 2**30:.0f} GiB" if isinstance(fact, Known) else ""


def gpu_words(gpu: Gpu) -> str:
    """One GPU: its name, target, memory and driver as far as they are known."""
    name = value_or(gpu.name, None) or f"{gpu.vendor.upper()} GPU {value_or(gpu.pci_id, '')}".strip()
    parts = [name, value_or(gpu.gfx, ""), _gib(gpu.vram_bytes)]
    driver = value_or(gpu.driver, "")
    parts.append("no driver bound" if driver is None else f"driver {driver}" if driver else "")
    if isinstance(gpu.integrated, Known) and gpu.integrated.value:
        parts.append("integrated")
    modes = [value_or(gpu.partition.compute, ""), value_or(gpu.partition.memory, "")]
    parts.append("/".join(mode for mode in modes if mode))
    return ", ".join(part for part in parts if part)


def machine_lines(machine: Machine) -> list[str]:
    """A machine card: GPUs, CPU, system, driver, ROCm, torch."""
    lines: list[str] = []
    for words, count in Counter(gpu_words(gpu) for gpu in machine.gpus).items():
        same = [gpu.index for gpu in machine.gpus if gpu_words(gpu) == words]
        where = f"gpu {same[0]}" if count == 1 else f"gpu {same[0]}-{same[-1]}"
        lines.append(f"{where:<9} {f'{count} x ' if count > 1 else ''}{words}")
    if not machine.gpus:
        lines.append(f"{'GPU':<9} none" + ("" if machine.gpus_complete else " in this evidence"))
    cpus = machine.cpus
    cpu = [value_or(cpus.model, ""), value_or(cpus.arch, "")]
    threads = value_or(cpus.threads, None)
    cpu.append(f"{threads} threads" if threads else "")
    cpu.append(f"{len(machine.numa_nodes)} NUMA nodes" if len(machine.numa_nodes) > 1 else "")
    lines += _line("CPU", cpu)
    lines += _line("memory", [_gib(machine.memory.total_bytes)])
    release = value_or(machine.kernel.release, "")
    lines += _line(
        "system", [value_or(machine.os.pretty_name, ""), f"Linux {release}" if release else "", _inside(machine)]
    )
    versions = [
        f"{name} {fact.value}" if key == "version" else f"{key} {fact.value}"
        for name, facts in machine.drivers.items()
        for key, fact in facts.items()
        if isinstance(fact, Known)
    ]
    lines += _line("driver", versions)
    lines += _line("ROCm", [f"{value_or(one.version, '?')} ({one.root})" for one in machine.rocm])
    torch = machine.torch
    version = value_or(torch.version, "")
    shown = "not installed" if version is None else version
    python = value_or(torch.python, "")
    lines += _line(
        "torch", [shown, f"Python {python}" if python else "", value_or(torch.interpreter, "")] if shown else []
    )
    return lines


def _inside(machine: Machine) -> str:
    kind = value_or(machine.container.kind, "none")
    guest = value_or(machine.container.virtual_machine, None)
    words = [f"in {kind}" if kind != "none" else "", f"guest of {guest}" if guest else ""]
    return ", ".join(word for word in words if word)


def _line(head: str, parts: list[str]) -> list[str]:
    kept = [part for part in parts if part]
    return [f"{head:<9} {', '.join(kept)}"] if kept else []

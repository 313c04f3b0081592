"""How GPUs are tied together and to the processors: XGMI and NVLink, switches, the IOMMU, NUMA nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, takewhile

from rocdoctor.insight.gpus.presence import is_driven, is_integrated, kfd_path
from rocdoctor.knowledge.lookup import gpu_candidates
from rocdoctor.model.evidence import Fact, Known, Source, Unknown, is_known, value_or
from rocdoctor.model.facts import Gpu, GpuLink, Machine, NumaNode, PcieHop

_FAST = ("xgmi", "nvlink")
# Parts that exist only as modules on a board whose links are soldered; cards need a bridge, which is optional.
_MODULES = ("gfx942", "gfx950")


def training_gpus(machine: Machine, *vendors: str) -> list[Gpu]:
    """The GPUs of these vendors (AMD and NVIDIA by default) that could train together.

    Left out are integrated ones, those of a guest or without their driver, and chips that ROCm never supported.
    """
    wanted = vendors or ("amd", "nvidia")
    return [
        gpu
        for gpu in machine.gpus
        if gpu.vendor in wanted
        and not is_integrated(gpu)
        and is_driven(gpu) is not False
        and kfd_path(gpu) is not False
    ]


def models(gpus: Sequence[Gpu]) -> list[list[Gpu]]:
    """Groups of two or more equal GPUs; those whose device id is unknown are in none."""
    groups: dict[str, list[Gpu]] = {}
    for gpu in gpus:
        if isinstance(gpu.pci_id, Known):
            groups.setdefault(gpu.pci_id.value, []).append(gpu)
    return [group for group in groups.values() if len(group) > 1]


def fast_link(machine: Machine, a: Gpu, b: Gpu) -> GpuLink | None:
    """The XGMI or NVLink connection of two GPUs."""
    pair = {a.index, b.index}
    return next((link for link in machine.links if {link.a, link.b} == pair and link.type in _FAST), None)


def share_hive(a: Gpu, b: Gpu) -> bool:
    """Whether both are known to be in the same hive."""
    hive = value_or(a.hive_id, None)
    return hive is not None and hive == value_or(b.hive_id, None)


def pcie_pairs(machine: Machine, gpus: Sequence[Gpu]) -> list[tuple[Gpu, Gpu]]:
    """The pairs that are joined by neither XGMI nor NVLink, as far as the evidence shows."""
    return [(a, b) for a, b in combinations(gpus, 2) if fast_link(machine, a, b) is None and not share_hive(a, b)]


def two_dies(gpu: Gpu) -> bool:
    """Whether the GPU is one of the two dies of a module, whose links are unequal by design."""
    if not isinstance(gpu.pci_id, Known):
        return False
    found = gpu_candidates(gpu.vendor, gpu.pci_id.value.split(":")[-1])
    return any(one.dies > 1 for one in found)


def on_module(gpu: Gpu) -> bool:
    """Whether this part exists only as a module with soldered XGMI links (no bridge that one may leave away)."""
    return value_or(gpu.gfx, "") in _MODULES or two_dies(gpu)


def shared_hops(a: Gpu, b: Gpu) -> tuple[PcieHop, ...]:
    """The bridges that both GPUs are behind, the root port first; empty when each has a root port of its own."""
    pairs = zip(a.pcie.hops, b.pcie.hops, strict=False)
    return tuple(one for one, _ in takewhile(lambda both: both[0].bdf == both[1].bdf, pairs))


def cpu_nodes(machine: Machine) -> list[NumaNode]:
    """The NUMA nodes that have processors (others are memory of a GPU or of a CXL device)."""
    return [node for node in machine.numa_nodes if value_or(node.cpulist, "unknown").strip()]


def iommu_translates(machine: Machine, gpus: Sequence[Gpu]) -> Fact[bool]:
    """Whether the IOMMU maps the addresses that these GPUs use.

    The type of their IOMMU groups decides; then the kernel's default, then the command line, then the kernel log.
    """
    types = [gpu.pcie.iommu_group_type for gpu in gpus if isinstance(gpu.pcie.iommu_group_type, Known)]
    mapped = [fact for fact in types if fact.value.upper().startswith("DMA")]
    if mapped:
        return Known(True, mapped[0].source)
    if types and len(types) == len(gpus) and all(fact.value == "identity" for fact in types):
        return Known(False, types[0].source)
    kernel = machine.kernel
    if isinstance(kernel.iommu_default, Known):
        return Known(kernel.iommu_default.value != "passthrough", kernel.iommu_default.source)
    if isinstance(kernel.iommu_groups, Known) and kernel.iommu_groups.value == 0:
        return Known(False, kernel.iommu_groups.source)
    if isinstance(kernel.parameters, Known):
        intel = "intel" in value_or(machine.cpus.vendor, "").lower()
        if (said := _of_command_line(kernel.parameters.value, intel)) is not None:
            return Known(said, kernel.parameters.source)
    log = kernel.log
    for event in log.value.of("iommu-domain-type") if isinstance(log, Known) else ():
        kind = event.values.get("domain_type")
        if kind in ("Translated", "Passthrough") and isinstance(log, Known):
            return Known(kind == "Translated", Source(log.value.source, event.line))
    gap = next((gpu.pcie.iommu_group_type for gpu in gpus if not is_known(gpu.pcie.iommu_group_type)), None)
    return gap if isinstance(gap, Unknown) else Unknown("the mode of the IOMMU is not in this evidence")


def _of_command_line(parameters: Mapping[str, str], intel: bool) -> bool | None:
    """What the kernel command line says of translation; the default of the kernel's build is not in it."""
    if {"pt", "off"} & set(parameters.get("iommu", "").split(",")):
        return False
    if "off" in parameters.get("intel_iommu" if intel else "amd_iommu", "").split(","):
        return False
    passthrough = parameters.get("iommu.passthrough")
    return None if passthrough not in ("0", "1") else passthrough == "0"

"""Traits of the machine around the GPUs: hardware, versions, settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rocdoctor.compare.traits.islands import islands
from rocdoctor.compare.traits.trait import Group, Kind, Trait, text
from rocdoctor.insight.links.fabric import cpu_nodes, iommu_translates, training_gpus
from rocdoctor.model.evidence import NOT_ASKED, Fact, Known, Source, Unknown, convert, value_or
from rocdoctor.model.facts import Machine, Nic


@dataclass(frozen=True, slots=True)
class OfMachine:
    """A trait of the whole machine."""

    trait: Trait
    read: Callable[[Machine], Fact[Any]]


def _driver(name: str, what: str = "version") -> Callable[[Machine], Fact[str]]:
    return lambda machine: machine.drivers.get(name, {}).get(what, NOT_ASKED)


def _releases(found: list[Fact[str]], gap: Fact[str]) -> Fact[str]:
    """Versions in order, or the first that is unknown."""
    missing = next((one for one in found if not isinstance(one, Known)), None)
    if missing is not None or not found:
        return missing or gap
    values = sorted({one.value for one in found if isinstance(one, Known)})
    first = next(one for one in found if isinstance(one, Known))
    return Known(", ".join(values), first.source)


def _rocm(machine: Machine) -> Fact[str]:
    none: Fact[str] = Known("none", Source("list /opt/rocm*")) if machine.rocm_complete else NOT_ASKED
    return _releases([one.version for one in machine.rocm], none)


def _cuda(machine: Machine) -> Fact[str]:
    return _releases([one.version for one in machine.cuda_toolkits], NOT_ASKED)


def _torch(machine: Machine) -> Fact[str]:
    return convert(machine.torch.version, lambda version: version or "not installed")


def _numa(machine: Machine) -> Fact[str]:
    nodes = cpu_nodes(machine)
    lists = [node.cpulist for node in nodes]
    known = [one for one in lists if isinstance(one, Known)]
    if not known or len(known) < len(lists):
        return next((one for one in lists if isinstance(one, Unknown)), NOT_ASKED)
    return Known(
        "; ".join(f"{node.node}: {one.value}" for node, one in zip(nodes, known, strict=True)), known[0].source
    )


def _fast_nics(machine: Machine) -> list[Nic]:
    return [nic for nic in machine.network if nic.kind in ("infiniband", "roce")]


def _nics(machine: Machine) -> Fact[str]:
    if not machine.network_complete:
        return Unknown("this evidence may not show every network card")
    found: dict[str, int] = {}
    source: Source | None = None
    for nic in _fast_nics(machine):
        if not isinstance(nic.state, Known):
            return nic.state
        speed = value_or(nic.speed_gbit_s, None)
        words = f"{nic.kind} {speed:g} Gbit/s" if speed and nic.state.value == "up" else f"{nic.kind} {nic.state.value}"
        found[words] = found.get(words, 0) + 1
        source = source or nic.state.source
    named = ", ".join(f"{count} x {words}" for words, count in sorted(found.items()))
    return Known(named or "none", source or Source("list /sys/class/infiniband/*"))


def _nic_firmware(machine: Machine) -> Fact[str]:
    return _releases([nic.firmware for nic in _fast_nics(machine)], NOT_ASKED)


_BOOT = frozenset(
    (
        "iommu",
        "amd_iommu",
        "intel_iommu",
        "iommu.passthrough",
        "iommu.strict",
        "pci",
        "pcie_aspm",
        "pcie_ports",
        "numa_balancing",
        "transparent_hugepage",
        "hugepages",
        "hugepagesz",
        "default_hugepagesz",
        "isolcpus",
        "nohz_full",
        "mitigations",
        "nosmt",
        "maxcpus",
        "nr_cpus",
        "mem",
        "processor.max_cstate",
        "intel_idle.max_cstate",
        "idle",
        "amd_pstate",
        "intel_pstate",
        "nomodeset",
        "modprobe.blacklist",
        "module_blacklist",
        "cgroup_enable",
    )
)
_BOOT_MODULES = ("amdgpu.", "ttm.", "nvidia.", "amdkfd.")


def _boot(machine: Machine) -> Fact[str]:
    def join(found: Mapping[str, str]) -> str:
        kept = {name: value for name, value in found.items() if name in _BOOT or name.startswith(_BOOT_MODULES)}
        return " ".join(f"{name}={value}" if value else name for name, value in sorted(kept.items())) or "none"

    return convert(machine.kernel.parameters, join)


# Variables that decide what training sees or how fast it is, and whose values name neither places nor people.
_VARIABLES = frozenset(
    (
        "HSA_OVERRIDE_GFX_VERSION",
        "HSA_ENABLE_SDMA",
        "HSA_XNACK",
        "HSA_FORCE_FINE_GRAIN_PCIE",
        "HSA_NO_SCRATCH_RECLAIM",
        "HIP_VISIBLE_DEVICES",
        "ROCR_VISIBLE_DEVICES",
        "CUDA_VISIBLE_DEVICES",
        "GPU_DEVICE_ORDINAL",
        "GPU_MAX_HW_QUEUES",
        "HIP_LAUNCH_BLOCKING",
        "AMD_SERIALIZE_KERNEL",
        "AMD_LOG_LEVEL",
        "CUDA_LAUNCH_BLOCKING",
        "CUDA_DEVICE_ORDER",
        "CUDA_DEVICE_MAX_CONNECTIONS",
        "NCCL_DEBUG",
        "NCCL_ALGO",
        "NCCL_PROTO",
        "NCCL_P2P_DISABLE",
        "NCCL_P2P_LEVEL",
        "NCCL_SHM_DISABLE",
        "NCCL_IB_DISABLE",
        "NCCL_IB_GID_INDEX",
        "NCCL_NET_GDR_LEVEL",
        "NCCL_MIN_NCHANNELS",
        "NCCL_MAX_NCHANNELS",
        "NCCL_CUMEM_ENABLE",
        "NCCL_NVLS_ENABLE",
        "RCCL_MSCCL_ENABLE",
        "RCCL_MSCCLPP_ENABLE",
        "TORCH_NCCL_BLOCKING_WAIT",
        "TORCH_NCCL_ASYNC_ERROR_HANDLING",
        "TORCH_DISTRIBUTED_DEBUG",
        "OMP_NUM_THREADS",
        "PYTORCH_ALLOC_CONF",
        "PYTORCH_CUDA_ALLOC_CONF",
        "PYTORCH_HIP_ALLOC_CONF",
        "PYTORCH_TUNABLEOP_ENABLED",
        "TORCH_BLAS_PREFER_HIPBLASLT",
        "NVIDIA_TF32_OVERRIDE",
    )
)


def _variables(machine: Machine) -> Fact[str]:
    if not machine.environment.complete:
        return Unknown("this evidence does not hold the whole environment")
    found = machine.environment.variables
    kept = sorted(name for name in found if name in _VARIABLES)
    return Known(" ".join(f"{name}={found[name].value[:200]}" for name in kept) or "none", Source("env"))


def _modules(machine: Machine) -> Fact[str]:
    ours = ("amdgpu", "nvidia", "ttm", "amdttm")

    def join(found: Mapping[str, str]) -> str:
        kept = {name: value for name, value in found.items() if name.split(".")[0].split("_")[0] in ours}
        return " ".join(f"{name}={value}" for name, value in sorted(kept.items())) or "none"

    return convert(machine.kernel.modprobe_options, join)


def _iommu(machine: Machine) -> Fact[str]:
    return convert(iommu_translates(machine, training_gpus(machine)), lambda on: "translated" if on else "passthrough")


def _all(
    key: str,
    group: Group,
    words: str,
    why: str,
    read: Callable[[Machine], Fact[Any]],
    kind: Kind = "text",
    unit: str = "",
    grave: bool = False,
) -> OfMachine:
    return OfMachine(Trait(key, group, words, why, kind, unit, grave), read)


OF_MACHINE: tuple[OfMachine, ...] = (
    _all(
        "islands",
        "link",
        "groups of GPUs joined by XGMI or NVLink",
        "tensor parallelism stays inside one",
        islands,
        grave=True,
    ),
    _all("cpu", "host", "CPU model", "another processor is another machine", lambda m: m.cpus.model),
    _all("architecture", "host", "CPU architecture", "wheels are built for it", lambda m: m.cpus.arch, grave=True),
    _all(
        "sockets",
        "host",
        "CPU sockets",
        "each has memory and PCIe lanes of its own",
        lambda m: m.cpus.packages,
        "number",
        grave=True,
    ),
    _all("cores", "host", "CPU cores", "data loading shares them", lambda m: m.cpus.cores, "number", grave=True),
    _all(
        "threads",
        "host",
        "CPU threads online",
        "the threads of a rank are a share of them",
        lambda m: m.cpus.threads,
        "number",
        grave=True,
    ),
    _all(
        "memory_bytes",
        "host",
        "main memory",
        "offload, checkpoints and data loading need it",
        lambda m: m.memory.total_bytes,
        "near",
        "bytes",
        True,
    ),
    _all("numa", "host", "NUMA nodes with their CPUs", "ranks are bound by these numbers", _numa, grave=True),
    _all("nics", "host", "InfiniBand and RoCE ports", "nodes reach each other over them", _nics, grave=True),
    _all(
        "container", "host", "container", "a container has limits and libraries of its own", lambda m: m.container.kind
    ),
    _all(
        "os",
        "version",
        "operating system",
        "supplies the libraries that torch needs",
        lambda m: m.os.pretty_name,
        "version",
    ),
    _all("kernel", "version", "kernel", "drivers are built for one kernel", lambda m: m.kernel.release, "version"),
    _all(
        "amdgpu",
        "version",
        "amdgpu driver",
        "user-space ROCm needs a driver of its time",
        _driver("amdgpu"),
        "version",
        grave=True,
    ),
    _all(
        "nvidia", "version", "NVIDIA driver", "decides which CUDA builds run", _driver("nvidia"), "version", grave=True
    ),
    _all(
        "nvidia_cuda",
        "version",
        "newest CUDA that the driver serves",
        "newer builds of torch do not start",
        _driver("nvidia", "cuda"),
        "version",
        grave=True,
    ),
    _all("rocm", "version", "ROCm", "libraries outside torch's own", _rocm, "version", grave=True),
    _all("cuda_toolkit", "version", "CUDA toolkit", "extensions are compiled with it", _cuda, "version"),
    _all("python", "version", "Python", "wheels are built for one minor release", lambda m: m.torch.python, "version"),
    _all("torch", "version", "torch", "estimates and settings are of this release", _torch, "version", grave=True),
    _all(
        "torch_hip",
        "version",
        "HIP that torch was built with",
        "the backend of this build",
        lambda m: m.torch.hip,
        "release",
        grave=True,
    ),
    _all(
        "torch_cuda",
        "version",
        "CUDA that torch was built with",
        "the backend of this build",
        lambda m: m.torch.cuda,
        "version",
        grave=True,
    ),
    _all("nccl", "version", "NCCL or RCCL of torch", "collectives run in it", lambda m: m.torch.nccl, "version"),
    _all("nic_firmware", "version", "network card firmware", "RDMA faults are often fixed there", _nic_firmware),
    _all(
        "boot_parameters",
        "setting",
        "kernel boot parameters",
        "those that matter for GPUs, memory and power",
        _boot,
        "words",
        grave=True,
    ),
    _all(
        "module_options",
        "setting",
        "options of GPU kernel modules",
        "set in /etc/modprobe.d",
        _modules,
        "words",
        grave=True,
    ),
    _all("iommu", "setting", "IOMMU mode", "translation can block or slow transfers between GPUs", _iommu, grave=True),
    _all(
        "numa_balancing",
        "setting",
        "automatic NUMA balancing",
        "moves pages while training runs",
        lambda m: m.memory.numa_balancing,
        grave=True,
    ),
    _all(
        "transparent_hugepages",
        "setting",
        "transparent huge pages",
        "fewer page faults while loading",
        lambda m: m.memory.transparent_hugepage,
    ),
    _all(
        "hugepages",
        "setting",
        "reserved huge pages",
        "memory that nothing else can use",
        lambda m: m.memory.hugepages_total,
    ),
    _all(
        "governor",
        "setting",
        "CPU frequency governor",
        "powersave delays kernel launches",
        lambda m: convert(m.cpus.governors, lambda found: ", ".join(sorted(set(found)))),
        grave=True,
    ),
    _all(
        "environment",
        "setting",
        "environment variables for GPUs",
        "those that matter for training",
        _variables,
        "words",
    ),
)

# What the interpreter holds beside torch is a table of its own in a profile: name -> version.
PACKAGE = Trait("package", "version", "package", "training code rests on it", "version")
_NO_MATTER = frozenset(("pip", "setuptools", "wheel", "torch"))


def packages(machine: Machine) -> Fact[Mapping[str, str]]:
    """Python packages of the interpreter that matter for training: name -> version, without torch itself."""
    return convert(
        machine.torch.packages,
        lambda found: {text(name): text(version) for name, version in sorted(found.items()) if name not in _NO_MATTER},
    )


def packages_complete(machine: Machine) -> bool:
    """Whether a package that is not listed is not installed (the interpreter was asked, not a list pasted)."""
    found = machine.torch.packages
    return isinstance(found, Known) and found.source.asked.verb == "python"

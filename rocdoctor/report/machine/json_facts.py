"""The JSON contract ``rocdoctor.facts/1``: what a machine is, nulls with their reasons under ``unknown``, also where
the reason is that there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from rocdoctor.insight.gpus.traffic import no_pcie, no_xgmi
from rocdoctor.insight.links.pcie import limiting_hop
from rocdoctor.model.evidence import NOT_ASKED, Fact, Known
from rocdoctor.model.facts import Gpu, LinkState, Machine
from rocdoctor.model.printable import clean

SCHEMA = "rocdoctor.facts/1"
# What a source says by saying "none", by the last word of the path.
_NONE = {
    "driver": "no driver is bound to it",
    "numa_node": "the kernel gives it no NUMA node",
    "hive_id": "it is in no XGMI hive",
    "cgroup_limit_bytes": "no limit is set",
    "torch.hip": "this torch is not built for ROCm",
    "torch.cuda": "this torch is not built for CUDA",
    "torch.version": "torch is not installed",
}


class _Writer:
    """Turns facts into values and notes the reasons of those that are unknown."""

    def __init__(self) -> None:
        self.unknown: dict[str, str] = {}

    def __call__(self, path: str, fact: Fact[Any]) -> Any:
        if isinstance(fact, Known):
            if fact.value is None:
                why = _NONE.get(path) or _NONE.get(path.rpartition(".")[2], "there is none")
                self.unknown[path] = f"{why} ({clean(str(fact.source))})"
            return _plain(fact.value)
        self.unknown[path] = clean(fact.why)
        return None


def _plain(value: Any) -> Any:
    """The value as JSON has it, texts without control sequences."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {clean(str(key)): _plain(one) for key, one in value.items()}
    if isinstance(value, frozenset | set):
        return sorted(_plain(one) for one in value)
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    return value


def _link(write: _Writer, path: str, link: LinkState) -> dict[str, Any]:
    return {
        key: write(f"{path}.{key}", getattr(link, key))
        for key in ("speed_gt_s", "width", "max_speed_gt_s", "max_width")
    }


def _pcie(write: _Writer, path: str, gpu: Gpu) -> dict[str, Any]:
    slot = limiting_hop(gpu.pcie)
    if slot is None:
        write.unknown[f"{path}.slot"] = "the path above the device is not in this evidence, or has no port with a link"
    return {
        "device": _link(write, f"{path}.device", gpu.pcie.device),
        "slot": {"bdf": slot.bdf, **_link(write, f"{path}.slot", slot.link)} if slot else None,
    }


def _traffic(write: _Writer, path: str, gpu: Gpu) -> dict[str, Any] | None:
    """None, with the most telling reason, where nothing is known of it."""
    told = {one.name: getattr(gpu.traffic, one.name) for one in fields(gpu.traffic)}
    if not any(isinstance(one, Known) for one in told.values()):
        write.unknown[path] = clean((no_pcie(gpu) or no_xgmi(gpu) or NOT_ASKED).why)
        return None
    return {name: write(f"{path}.{name}", fact) for name, fact in told.items()}


def _gpu(write: _Writer, gpu: Gpu) -> dict[str, Any]:
    at = f"gpus[{gpu.index}]"
    simple = (
        "name",
        "bdf",
        "pci_id",
        "subsystem_id",
        "driver",
        "gfx",
        "compute_capability",
        "integrated",
        "compute_units",
        "vram_bytes",
        "vram_used_bytes",
        "numa_node",
        "vbios",
        "unique_id",
        "hive_id",
        "mig",
        "kfd_node",
        "hip_index",
        "smi_index",
        "torch_index",
        "performance_level",
        "runtime_status",
    )
    entry: dict[str, Any] = {"index": gpu.index, "vendor": gpu.vendor}
    entry |= {key: write(f"{at}.{key}", getattr(gpu, key)) for key in simple}
    entry["compute_nodes"] = [
        {
            key: write(f"{at}.compute_nodes[{number}].{key}", getattr(node, key))
            for key in ("kfd_node", "gpu_id", "compute_units", "vram_bytes", "render_minor")
        }
        for number, node in enumerate(gpu.compute_nodes)
    ]
    entry["pcie"] = _pcie(write, f"{at}.pcie", gpu)
    entry["temps_c"] = {
        sensor.label: {
            "input": write(f"{at}.temps_c.{sensor.label}.input", sensor.input_c),
            "crit": write(f"{at}.temps_c.{sensor.label}.crit", sensor.crit_c),
            "emergency": write(f"{at}.temps_c.{sensor.label}.emergency", sensor.emergency_c),
        }
        for sensor in gpu.temps
    }
    entry["power_w"] = {
        "now": write(f"{at}.power_w.now", gpu.power.now_w),
        "cap": write(f"{at}.power_w.cap", gpu.power.cap_w),
        "cap_default": write(f"{at}.power_w.cap_default", gpu.power.cap_default_w),
    }
    entry["traffic"] = _traffic(write, f"{at}.traffic", gpu)
    entry["partition"] = {
        "compute": write(f"{at}.partition.compute", gpu.partition.compute),
        "memory": write(f"{at}.partition.memory", gpu.partition.memory),
    }
    return entry


def facts(machine: Machine) -> dict[str, Any]:
    """The machine as plain data."""
    write = _Writer()
    data: dict[str, Any] = {"schema": SCHEMA}
    data["gpus"] = [_gpu(write, gpu) for gpu in machine.gpus]
    if not machine.gpus_complete:
        write.unknown["gpus"] = machine.gpus_gap.why if machine.gpus_gap else "this evidence may not show every GPU"
    data["links"] = [
        {
            "a": link.a,
            "b": link.b,
            "type": link.type,
            "weight": write(f"links[{number}].weight", link.weight),
            "hops": write(f"links[{number}].hops", link.hops),
        }
        for number, link in enumerate(machine.links)
    ]
    data["numa_nodes"] = [
        {
            "node": node.node,
            **{
                key: write(f"numa_nodes[{number}].{key}", getattr(node, key))
                for key in ("cpulist", "memory_bytes", "distances")
            },
        }
        for number, node in enumerate(machine.numa_nodes)
    ]
    cpu_keys = ("model", "arch", "packages", "cores", "threads", "usable")
    data["cpus"] = {key: write(f"cpus.{key}", getattr(machine.cpus, key)) for key in cpu_keys}
    memory_keys = ("total_bytes", "available_bytes", "swap_total_bytes", "shm_bytes", "cgroup_limit_bytes")
    data["memory"] = {key: write(f"memory.{key}", getattr(machine.memory, key)) for key in memory_keys}
    data["drivers"] = {
        name: {key: write(f"drivers.{name}.{key}", fact) for key, fact in versions.items()}
        for name, versions in machine.drivers.items()
    }
    data["kernel"] = {key: write(f"kernel.{key}", getattr(machine.kernel, key)) for key in ("release", "cmdline")}
    data["os"] = {key: write(f"os.{key}", getattr(machine.os, key)) for key in ("id", "version_id", "pretty_name")}
    data["rocm"] = [
        {
            "version": write(f"rocm[{number}].version", one.version),
            "root": one.root,
            "kind": one.kind,
            "packages": write(f"rocm[{number}].packages", one.packages),
        }
        for number, one in enumerate(machine.rocm)
    ]
    torch = machine.torch
    data["torch"] = {
        key: write(f"torch.{key}", getattr(torch, key))
        for key in ("interpreter", "python", "version", "hip", "cuda", "arch_list")
    }
    packages = write("torch.companions", torch.packages)
    data["torch"]["companions"] = {k: v for k, v in packages.items() if k != "torch"} if packages is not None else None
    data["containers"] = {
        "kind": write("containers.kind", machine.container.kind),
        "rootless": write("containers.rootless", machine.container.rootless),
    }
    data["displays"] = [
        {key: write(f"displays[{number}].{key}", getattr(one, key)) for key in ("bdf", "pci_id", "name", "driver")}
        for number, one in enumerate(machine.displays)
    ]
    data["network"] = [
        {
            "name": nic.name,
            "kind": nic.kind,
            "bdf": write(f"network[{number}].bdf", nic.bdf),
            "numa_node": write(f"network[{number}].numa_node", nic.numa_node),
            "speed_gbit_s": write(f"network[{number}].speed_gbit_s", nic.speed_gbit_s),
            "state": write(f"network[{number}].state", nic.state),
            "interfaces": list(nic.interfaces),
        }
        for number, nic in enumerate(machine.network)
    ]
    data["disagreements"] = [
        {"subject": one.subject.label, "fact": one.fact, "values": [{"value": v, "source": s} for v, s in one.values]}
        for one in machine.disagreements
    ]
    data["unknown"] = write.unknown
    return data

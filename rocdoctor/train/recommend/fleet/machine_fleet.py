"""The fleet that a machine is: its usable GPUs, or its processors where it has none, as a plan needs them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rocdoctor.insight.gpus.visibility import SCHEDULERS
from rocdoctor.knowledge.gpus.cards_without_profile import older_card
from rocdoctor.knowledge.lookup import (
    GpuProfile,
    arch_list_covers,
    env_names,
    gfx_target,
    gpu_candidates,
    profiles_by_name,
)
from rocdoctor.model.evidence import Known, value_or
from rocdoctor.model.facts import Gpu, Machine
from rocdoctor.train.recommend.errors import SpecError
from rocdoctor.train.recommend.fleet.cpu_fleet import cpu_fleet
from rocdoctor.train.recommend.fleet.gpu_figures import GIB, name_of, read_gpu
from rocdoctor.train.recommend.fleet.machine_fabric import host_link_gb_s, machine_fabric
from rocdoctor.train.recommend.fleet.machine_gpus import CountedDevice, choose
from rocdoctor.train.recommend.fleet.node_network import network_rates, nic_gb_s, training_nics
from rocdoctor.train.recommend.fleet.rank_locality import seats_of
from rocdoctor.train.recommend.memory.host_memory import host_memory, shared_memory, software_of
from rocdoctor.train.recommend.plan import Fleet, Vendor

# A power limit this far below the default is somebody's choice, not rounding.
_POWER_ROUNDING = 0.97
# Memory in use on an idle desktop GPU stays below this.
_NOTABLE_USE = 0.5 * GIB


def machine_fleet(machine: Machine, nodes: int = 1) -> Fleet:
    """What to plan for on ``nodes`` machines like this one; raises SpecError where no memory size is known."""
    chosen = choose(machine)
    if not chosen.devices:
        return cpu_fleet(machine, nodes, chosen)
    devices, notes = chosen.devices, list(chosen.notes)
    profile = profile_of(devices[0].gpu)
    gpu = devices[0].gpu
    sources: dict[str, str] = {}
    shared = _works_in_main_memory(gpu, profile)
    memory, usable = _memory(machine, devices, profile, shared, sources, notes)
    host = host_link_gb_s(machine, devices)
    fabric = machine_fabric(machine, devices, profile, host, notes)
    sources["link"] = fabric.source
    spec: dict[str, Any] = {
        "name": _name(gpu, profile),
        "mem_gib": round(memory / GIB, 2),
        "usable_gib": round(usable / GIB, 2),
        "per_node": len(devices),
        **fabric.spec(),
    }
    if any(value_or(one.gpu.pcie.removable, "") == "removable" for one in devices):
        notes.append(
            "the GPU is in an external enclosure, whose bridges may report a slower link than "
            "the real one; the plan uses the slower speed"
        )
    if host is not None:
        spec["host_gb_s"] = round(host, 2)
    if devices[0].parts > 1:
        spec["share"] = round(1 / devices[0].parts, 4)
        notes.append(f"each card is cut into {devices[0].parts} partitions, and each of them is a GPU to programs")
    power = _power_share(devices, notes)
    if power is not None:
        spec["power_share"] = power
    nics = training_nics(machine.network)
    if nodes > 1:
        _network(spec, nics, len(devices), sources, notes)
    read = read_gpu(spec, network_rates(), notes)
    _rates(read.peak, read.bandwidth, profile, gpu, sources, notes)
    _code_notes(machine, gpu, notes)
    vendor: Vendor = "nvidia" if gpu.vendor == "nvidia" else "amd"
    total, host_source = host_memory(machine, usable * len(devices) if shared else 0.0)
    if total is not None:
        sources["host_memory"] = host_source
    name = value_or(gpu.name, "") or spec["name"]
    if devices[0].parts > 1:
        name += " partition" + ("s" if len(devices) > 1 else "")
    return Fleet(
        name=f"{nodes} x {len(devices)} {name}" if nodes > 1 else f"{len(devices)} x {name}",
        origin="machine",
        vendor=vendor,
        nodes=nodes,
        seats=seats_of(machine, devices, nics, fabric.islands, notes),
        gpu=read,
        spec_gpu=spec,
        gfx=value_or(gpu.gfx, None) or (profile.gfx if profile else None),
        compute_capability=_capability(gpu, profile),
        fabric=fabric.kind,
        islands=fabric.islands,
        host_memory_bytes=total,
        cpu_threads=value_or(machine.cpus.usable, None) or value_or(machine.cpus.threads, None),
        cpu_cores=value_or(machine.cpus.cores, None),
        nics=tuple(nic.name for nic in nics),
        integrated=shared,
        experimental_kernels=experimental_kernels(machine),
        software=software_of(machine),
        container=_container(machine),
        left_out=chosen.left_out,
        already_set=frozenset(
            name for name in machine.environment.variables if name in SCHEDULERS or name in env_names()
        ),
        notes=tuple(notes),
        sources=sources,
    )


def experimental_kernels(machine: Machine) -> bool:
    """Whether torch is told to use attention kernels that it holds back as experimental."""
    told = machine.environment.variables.get("TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL")
    return told is not None and told.value == "1"


def profile_of(gpu: Gpu) -> GpuProfile | None:
    """The part that a GPU is: by PCI id, narrowed by what is known of it, else by its name; None where several fit."""
    memory = value_or(gpu.vram_bytes, None)
    gib = memory / GIB if memory else None
    found: Sequence[GpuProfile] = ()
    if isinstance(gpu.pci_id, Known):
        vendor, _, device = gpu.pci_id.value.partition(":")
        revision = value_or(gpu.revision, None)
        found = gpu_candidates(vendor, device, revision, value_or(gpu.compute_units, None), gib)
        found = found or gpu_candidates(vendor, device, None, value_or(gpu.compute_units, None), gib)
    if len(found) != 1 and isinstance(gpu.name, Known):
        named = profiles_by_name(gpu.name.value)
        both = [one for one in named if one in found] or ([] if found else list(named))
        found = both or found
    if len(found) > 1 and gib is not None:
        found = [one for one in found if _fits(one, gib)] or found
    # Parts that differ in nothing but their name (the sizes of one chip) are as good as one.
    return found[0] if found and len({(one.gfx, one.compute_capability) for one in found}) == 1 else None


def _fits(profile: GpuProfile, gib: float) -> bool:
    figure = profile.vram_gib
    if figure is None:
        return False
    sizes = (figure.per_die,) if figure.per_die is not None else figure.values
    return any(0.9 * size <= gib <= 1.03 * size for size in sizes)


def _name(gpu: Gpu, profile: GpuProfile | None) -> str:
    if profile is not None:
        return profile.names[name_of(profile, value_or(gpu.name, "")) or 0]
    return value_or(gpu.name, "") or f"{gpu.vendor} {value_or(gpu.pci_id, 'GPU')}"


def _capability(gpu: Gpu, profile: GpuProfile | None) -> str | None:
    told = value_or(gpu.compute_capability, None)
    if told or profile is not None:
        return told or (profile.compute_capability if profile else None)
    older = older_card(value_or(gpu.name, ""))
    return older.compute_capability if older else None


def _works_in_main_memory(gpu: Gpu, profile: GpuProfile | None) -> bool:
    told = value_or(gpu.shared_memory, None)
    if told is None and profile is not None:
        told = profile.shared_memory
    return bool(told) or value_or(gpu.integrated, False)


def _memory(
    machine: Machine,
    devices: Sequence[CountedDevice],
    profile: GpuProfile | None,
    shared: bool,
    sources: dict[str, str],
    notes: list[str],
) -> tuple[float, float]:
    """Bytes of one device, and of them what programs can have."""
    if shared:
        return shared_memory(machine, devices, sources, notes)
    sizes = [one.memory_bytes for one in devices]
    known = [one for one in sizes if one]
    if known:
        sources["memory"] = "machine"
        memory = float(min(known))
        # Drivers report what they manage; programs get all of it but their own tables.
        usable = 0.99 * memory
    elif profile is not None and profile.vram_gib is not None:
        sources["memory"] = f"profile {profile.id}"
        memory = (profile.vram_gib.per_device or min(profile.vram_gib.values)) * GIB / devices[0].parts
        usable = read_gpu({"name": profile.names[0], "mem_gib": memory / GIB}, {}, []).usable_bytes
    else:
        label = _name(devices[0].gpu, profile)
        raise SpecError(
            f"the memory of {label} is not in this evidence; describe it: --gpus {len(devices)}x{label}:16GiB "
            "(the size of your cards instead of 16)"
        )
    _used(devices, notes)
    return memory, usable


def _used(devices: Sequence[CountedDevice], notes: list[str]) -> None:
    """Memory that other programs and displays hold now: the plan counts on all of it."""
    found: dict[int, tuple[float, Gpu]] = {}
    for one in devices:
        used = value_or(one.gpu.vram_used_bytes, None)
        if used is not None and used > _NOTABLE_USE:
            found[one.gpu.index] = (used, one.gpu)
    if found:
        most, gpu = max(found.values(), key=lambda one: one[0])
        more = f" and some of {len(found) - 1} others" if len(found) > 1 else ""
        notes.append(
            f"{gpu.label}: {most / GIB:.1f} GiB of its memory{more} are in use now, but the plan needs them free"
        )


def _power_share(devices: Sequence[CountedDevice], notes: list[str]) -> float | None:
    """The lowest power limit over its default, None where no limit is lowered."""
    found: list[tuple[float, CountedDevice]] = []
    for device in devices:
        cap, default = value_or(device.gpu.power.cap_w, None), value_or(device.gpu.power.cap_default_w, None)
        if cap and default and cap < _POWER_ROUNDING * default:
            found.append((cap / default, device))
    if not found:
        return None
    share, device = min(found, key=lambda one: one[0])
    power = device.gpu.power
    notes.append(
        f"{device.gpu.label}: its power is limited to {value_or(power.cap_w, 0):.0f} W of "
        f"{value_or(power.cap_default_w, 0):.0f} W, which lowers the speed"
    )
    return round(share, 3)


def _network(
    spec: dict[str, Any], nics: Sequence[Any], per_node: int, sources: dict[str, str], notes: list[str]
) -> None:
    rate = nic_gb_s(nics, per_node)
    if rate is None:
        sources["network"] = "assumption"
        assumed = read_gpu(spec, network_rates(), []).nic / 1e9
        notes.append(f"the speed of the network is not known: {assumed:.4g} GB/s per GPU is assumed")
        return
    spec["nic_gb_s"] = round(rate, 3)
    sources["network"] = "machine"


def _rates(
    peak: float | None,
    bandwidth: float | None,
    profile: GpuProfile | None,
    gpu: Gpu,
    sources: dict[str, str],
    notes: list[str],
) -> None:
    if peak is None:
        name = value_or(gpu.name, "") or value_or(gpu.pci_id, "this GPU")
        notes.append(
            f"no table has the peak rate of {name}, so the plan cannot estimate speed; "
            "rocdoctor smoke --figures measures it"
        )
    elif profile is not None:
        sources["peak"] = f"profile {profile.id}"
    if bandwidth is not None and profile is not None:
        sources["bandwidth"] = f"profile {profile.id}"


def _code_notes(machine: Machine, gpu: Gpu, notes: list[str]) -> None:
    """Whether the torch that is here can use these GPUs at all."""
    version = value_or(machine.torch.version, None)
    built = machine.torch.hip if gpu.vendor == "amd" else machine.torch.cuda
    if version is not None and isinstance(built, Known) and built.value is None:
        maker = "ROCm" if gpu.vendor == "amd" else "CUDA"
        notes.append(f"the torch here ({version}) is not built for {maker}; the plan needs one that is")
    gfx = value_or(gpu.gfx, None)
    target = gfx_target(gfx) if gfx else None
    targets = value_or(machine.torch.arch_list, ())
    if gfx and target is not None and not target.wheel_native and not arch_list_covers(targets, gfx):
        notes.append(
            f"no official torch wheel carries code for {gfx}: it needs another build of torch, or code of a "
            "related target (rocdoctor explain torch-wheel-lacks-gfx)"
        )


def _container(machine: Machine) -> str | None:
    kind = value_or(machine.container.kind, None)
    return None if kind in (None, "none") else kind

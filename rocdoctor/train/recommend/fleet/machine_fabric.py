"""How the chosen GPUs of a machine reach each other, by the links that the machine shows."""

from __future__ import annotations

from collections.abc import Sequence

from rocdoctor.insight.links.pcie import bandwidth_gb_s
from rocdoctor.insight.links.pcie_path import hypervisor_sign, slot_links
from rocdoctor.knowledge.lookup import GpuProfile
from rocdoctor.model.evidence import Known, value_or
from rocdoctor.model.facts import GpuLink, Machine
from rocdoctor.train.recommend.fleet.fabrics import (
    MODULE_PAIRS,
    Fabric,
    Kind,
    described_fabric,
    pcie_link_gb_s,
    xgmi_link_gb_s,
)
from rocdoctor.train.recommend.fleet.machine_gpus import CountedDevice
from rocdoctor.train.recommend.fleet.rank_locality import numa_of


def host_link_gb_s(machine: Machine, devices: Sequence[CountedDevice]) -> float | None:
    """GB/s of the weakest PCIe link between a device and the CPU, one direction; None where none is known.

    Lanes in use at the speed that both ends can do: an idle GPU lowers the speed, never the lanes.
    """
    found: list[float] = []
    for device in devices:
        if hypervisor_sign(machine, device.gpu) is not None:
            continue
        rates = [
            bandwidth_gb_s(speed.value, width.value)
            for link in slot_links(device.gpu)
            for speed, width in ((link.capable_speed_gt_s, link.width),)
            if isinstance(speed, Known) and isinstance(width, Known) and width.value and speed.value
        ]
        if rates:
            found.append(min(rates) / device.parts)
    return min(found, default=None)


def machine_fabric(
    machine: Machine, devices: Sequence[CountedDevice], profile: GpuProfile | None, host: float | None, notes: list[str]
) -> Fabric:
    """Kind, islands and speed of the links between these devices."""
    ranks = range(len(devices))
    everyone = (tuple(ranks),)
    if len(devices) == 1:
        return Fabric("none", everyone, host, False, "machine" if host else "profile")
    fast = _fast_links(machine, devices)
    if fast:
        kind: Kind = "nvlink" if fast[0].type == "nvlink" else "xgmi"
        return _wired(kind, fast, _islands(devices, fast), devices, profile, notes)
    if not machine.links_complete and not any(link.type == "pcie" for link in machine.links):
        usual = described_fabric(profile, len(devices), [])
        hives = {value_or(one.gpu.hive_id, None) for one in devices}
        if usual.kind == "xgmi" and len(hives) == 1 and None not in hives:
            notes.append("the links are not in this evidence; the GPUs are of one XGMI hive")
            return usual
        if usual.kind == "nvlink" and all(_active(one) for one in devices):
            notes.append("the link matrix is not in this evidence; every GPU has active NVLinks")
            return usual
        if usual.kind == "nvlink" and all(_registered(one) for one in devices):
            notes.append("the link matrix is not in this evidence; every GPU is registered with the NVLink fabric")
            return usual
        if usual.kind in ("xgmi", "nvlink"):
            notes.append("how the GPUs reach each other is not in this evidence: PCIe is assumed")
            return Fabric("pcie", _by_numa(machine, devices), host, False, "assumption")
    return Fabric("pcie", _by_numa(machine, devices), host, False, "machine" if host else "assumption")


def _fast_links(machine: Machine, devices: Sequence[CountedDevice]) -> list[GpuLink]:
    chosen = {one.gpu.index for one in devices}
    return [link for link in machine.links if link.type in ("xgmi", "nvlink") and {link.a, link.b} <= chosen]


def _active(device: CountedDevice) -> int:
    return sum(one.active for one in value_or(device.gpu.nvlinks, ()))


def _registered(device: CountedDevice) -> bool:
    """Whether the switches that join such GPUs have taken it in."""
    words = (value_or(one, "").strip().lower() for one in (device.gpu.fabric_state, device.gpu.fabric_status))
    return tuple(words) == ("completed", "success")


def _islands(devices: Sequence[CountedDevice], links: Sequence[GpuLink]) -> tuple[tuple[int, ...], ...]:
    """Local ranks that links connect, directly or over others; partitions of a card are always together."""
    group = {one.gpu.index: one.gpu.index for one in devices}

    def top(index: int) -> int:
        while group[index] != index:
            index = group[index]
        return index

    for link in links:
        group[top(link.b)] = top(link.a)
    found: dict[int, list[int]] = {}
    for rank, one in enumerate(devices):
        found.setdefault(top(one.gpu.index), []).append(rank)
    return tuple(tuple(ranks) for ranks in found.values())


def _wired(
    kind: Kind,
    links: Sequence[GpuLink],
    islands: tuple[tuple[int, ...], ...],
    devices: Sequence[CountedDevice],
    profile: GpuProfile | None,
    notes: list[str],
) -> Fabric:
    cards = min(len({devices[rank].gpu.index for rank in island}) for island in islands)
    parts = devices[0].parts
    if len({len(island) for island in islands}) > 1:
        notes.append("not all GPUs have the same number of peers over " + kind.upper().replace("NVLINK", "NVLink"))
    if kind == "nvlink":
        return Fabric(
            kind, islands, _nvlink_gb_s(devices, profile), False, "machine" if _speeds(devices) else "profile"
        )
    one = xgmi_link_gb_s(profile)
    pairs = {(link.a, link.b): value_or(link.count, 1) for link in links}
    mesh = all(
        (a, b) in pairs
        for island in islands
        for a in {devices[rank].gpu.index for rank in island}
        for b in {devices[rank].gpu.index for rank in island}
        if a < b
    )
    if one is None:
        notes.append("no table has the speed of these XGMI links, so the plan uses the speed of PCIe")
        return Fabric(kind, islands, (pcie_link_gb_s(profile) or 31.5) / parts, False, "assumption")
    if (profile is not None and profile.id in MODULE_PAIRS) or not mesh or cards == 1:
        notes.append(f"links between the GPUs differ: one of {one:g} GB/s is assumed between neighbours")
        return Fabric(kind, islands, one / parts, False, "assumption")
    each = min(pairs.values())
    return Fabric(
        kind,
        islands,
        one * each * (cards - 1) / parts,
        parts == 1,
        f"links of the machine, profile {profile.id if profile else ''}",
    )


def _speeds(devices: Sequence[CountedDevice]) -> list[float]:
    """GB/s of all active NVLinks of each device, one direction; empty where one is not known."""
    found: list[float] = []
    for device in devices:
        speeds = [value_or(one.speed_gb_s, None) for one in value_or(device.gpu.nvlinks, ()) if one.active]
        if not speeds or None in speeds:
            return []
        found.append(sum(one for one in speeds if one is not None))
    return found


def _nvlink_gb_s(devices: Sequence[CountedDevice], profile: GpuProfile | None) -> float | None:
    listed = profile.nvlink_gb_s_total.values[0] / 2 if profile and profile.nvlink_gb_s_total else None
    speeds = _speeds(devices)
    if not speeds:
        return listed
    return min(min(speeds), listed) if listed else min(speeds)


def _by_numa(machine: Machine, devices: Sequence[CountedDevice]) -> tuple[tuple[int, ...], ...]:
    """Over PCIe the GPUs of one NUMA node are an island; all of them where the nodes are not known."""
    nodes = [numa_of(machine, one) for one in devices]
    if None in nodes:
        return (tuple(range(len(devices))),)
    found: dict[int | None, list[int]] = {}
    for rank, node in enumerate(nodes):
        found.setdefault(node, []).append(rank)
    return tuple(tuple(ranks) for ranks in found.values())

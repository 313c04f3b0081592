"""What each measured figure could be on this machine: the peak from profile or link, and what share is normal. Pure.

``expected`` is the published peak (None without a source for this part), ``share`` the value over it, ``normal`` the
lowest share that a source calls normal, ``of_others`` the value over the median of the equal devices beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rocdoctor.insight.links.pcie import bandwidth_gb_s
from rocdoctor.insight.links.pcie_path import capable, hypervisor_sign
from rocdoctor.knowledge.gpus.part_names import profiles_by_name
from rocdoctor.knowledge.gpus.peak_shares import normal_share
from rocdoctor.knowledge.gpus.profiles import Figure, GpuProfile, gpu_profile
from rocdoctor.model.evidence import Known, NotKnown, value_or
from rocdoctor.model.facts import Gpu, GpuLink, Machine
from rocdoctor.train.smoke.figures.figure_math import Entry, Figures, of_others, usable

# Figures of which every device has one of its own.
PER_DEVICE = (
    "matmul_",
    "memory_",
    "host_to_device_pinned",
    "host_to_device_pageable",
    "device_to_host_",
    "train_tokens_per_s",
    "train_model_tflops",
    "soak_tflops",
)


def with_expected(figures: Mapping[str, Sequence[Entry]], machine: Machine | None) -> Figures:
    """The figures beside what they could be. ``gpu`` becomes the number that the facts count by PCI address."""
    found: Figures = {name: [_placed(dict(one), machine) for one in entries] for name, entries in figures.items()}
    for name, entries in found.items():
        for entry in entries:
            gpu = gpu_of(entry, machine)
            if gpu is not None and machine is not None and usable(entry) and entry.get("expected") is None:
                _complete(name, entry, gpu, machine)
        if name.startswith(PER_DEVICE):
            _beside_others(name, entries, machine)
    for words in ("train", "train_compiled"):
        shares = [one for one in found.get(f"{words}_model_tflops", []) if one.get("share")]
        if shares:
            found[f"{words}_mfu"] = [
                {**one, "value": one["share"], "expected": None, "share": None, "spread": None} for one in shares
            ]
    return found


def gpu_of(entry: Mapping[str, object], machine: Machine | None, key: str = "pci") -> Gpu | None:
    """The GPU of an entry by its PCI address, else by torch's number."""
    if machine is None:
        return None
    address = entry.get(key)
    if address:
        return next((gpu for gpu in machine.gpus if value_or(gpu.bdf, None) == address), None)
    number = entry.get("gpu" if key == "pci" else "peer")
    if number is None:
        return None
    return next((gpu for gpu in machine.gpus if value_or(gpu.torch_index, None) == number), None)


def _placed(entry: Entry, machine: Machine | None) -> Entry:
    gpu, peer = gpu_of(entry, machine), gpu_of(entry, machine, "peer_pci")
    # Without an address the number stays torch's, since nothing would tell the two apart later.
    if gpu is not None and isinstance(gpu.bdf, Known):
        entry["gpu"], entry["pci"] = gpu.index, gpu.bdf.value
    if peer is not None and isinstance(peer.bdf, Known):
        entry["peer"], entry["peer_pci"] = peer.index, peer.bdf.value
    return entry


def profile_of(gpu: Gpu) -> GpuProfile | None:
    """The profile of this very part, by its id or else its name; None when that stands for several."""
    if not isinstance(gpu.pci_id, Known):
        named = profiles_by_name(gpu.name.value) if isinstance(gpu.name, Known) else ()
        return named[0] if len(named) == 1 else None
    vram = value_or(gpu.vram_bytes, None)
    return gpu_profile(
        gpu.vendor,
        gpu.pci_id.value.split(":")[-1],
        value_or(gpu.revision, None),
        value_or(gpu.compute_units, None),
        vram / 2**30 if vram else None,
    )


def _complete(name: str, entry: Entry, gpu: Gpu, machine: Machine) -> None:
    if name.startswith(("host_to_device", "device_to_host")) and name.endswith("_gb_s"):
        _expect(entry, link_peak_gb_s(machine, gpu), "the PCIe link as both ends could train it")
        _normal(name, entry, "pcie", gpu)
    elif name == "device_to_device_gb_s":
        _between(name, entry, gpu, machine)
    elif len(gpu.compute_nodes) <= 1:  # of a partition no figure is published
        figure, profile = _published(name, entry, gpu), profile_of(gpu)
        if figure is not None and profile is not None and figure.per_device:
            _expect(entry, figure.per_device, f"profiles/{profile.family}.yaml: {figure.source} ({figure.kind})")


def _published(name: str, entry: Entry, gpu: Gpu) -> Figure | None:
    profile = profile_of(gpu)
    if profile is None:
        return None
    if name.startswith("matmul_"):
        return profile.peak_tflops(name.removeprefix("matmul_").removesuffix("_tflops"))
    if name.startswith("memory_"):
        return profile.mem_bandwidth_gb_s
    if name in ("train_model_tflops", "train_compiled_model_tflops", "soak_tflops"):
        return profile.peak_tflops(str(entry.get("dtype")))
    return None


def _expect(entry: Entry, peak: float | None, source: str) -> None:
    if peak:
        entry["expected"], entry["share"] = float(f"{peak:.5g}"), round(entry["value"] / peak, 4)
        entry["source"] = source


def _normal(name: str, entry: Entry, of: str, gpu: Gpu) -> None:
    known = normal_share(name, of, value_or(gpu.gfx, None))
    if known is not None and entry.get("expected"):
        entry["normal"], entry["low_below"] = known.at_least, known.low_below


def link_peak_gb_s(machine: Machine, gpu: Gpu) -> float | None:
    """What the whole way to a GPU could carry in GB/s; None in guests and where the path is not known."""
    if hypervisor_sign(machine, gpu) is not None or not gpu.pcie.path_complete or value_or(gpu.integrated, False):
        return None
    if value_or(gpu.shared_memory, False):
        return None
    try:
        width, speed = capable(gpu)
    except (NotKnown, IndexError):
        return None
    if isinstance(width, Known) and isinstance(speed, Known):
        return bandwidth_gb_s(speed.value, width.value)
    return None


def link_between(machine: Machine, one: int, two: int) -> GpuLink | None:
    """The link of a pair."""
    return next((link for link in machine.links if {link.a, link.b} == {one, two}), None)


def _between(name: str, entry: Entry, gpu: Gpu, machine: Machine) -> None:
    peer = gpu_of(entry, machine, "peer_pci")
    link = link_between(machine, gpu.index, peer.index) if peer is not None else None
    if peer is None or link is None:
        return
    entry["link"] = link.type
    if link.type == "xgmi":
        _expect(entry, _xgmi_gb_s(machine, gpu, link), "XGMI links between the two")
        _normal(name, entry, "xgmi", gpu)
    elif link.type == "pcie" and entry.get("peer_access"):
        ways = [link_peak_gb_s(machine, gpu), link_peak_gb_s(machine, peer)]
        if None not in ways:
            _expect(entry, min(way for way in ways if way is not None), "the narrower PCIe link of the two")


def _xgmi_gb_s(machine: Machine, gpu: Gpu, link: GpuLink) -> float | None:
    """One direction of a pair's links; their number is known where it is stated, or where each peer has just one."""
    profile = profile_of(gpu)
    if profile is None or profile.xgmi is None or profile.xgmi.gb_s_per_link is None:
        return None
    rate = profile.xgmi.gb_s_per_link.value
    count = value_or(link.count, None)
    if count is None and profile.xgmi.links is not None:
        peers = sum(one.type == "xgmi" and gpu.index in (one.a, one.b) for one in machine.links)
        count = 1 if peers == profile.xgmi.links.value else None
    return rate * count if rate is not None and count else None


def _beside_others(name: str, entries: list[Entry], machine: Machine | None) -> None:
    """Each device beside the equal ones; different parts in one machine are not each other's measure.

    Nor are equal cards in unequal slots where the slot counts: those are compared when their paths are known.
    """
    by_slot = name.startswith(("host_to_device", "device_to_host"))
    for entry in entries:
        kind = _kind(entry, machine)
        if by_slot and kind != "cpu" and entry.get("expected") is None:
            continue
        same = [
            one
            for one in entries
            if _kind(one, machine) == kind and (not by_slot or one.get("expected") == entry.get("expected"))
        ]
        share = of_others(same, next(at for at, one in enumerate(same) if one is entry))
        if share is not None:
            entry["of_others"] = share


def _kind(entry: Entry, machine: Machine | None) -> object:
    if entry.get("gpu") is None:
        return "cpu"
    gpu = gpu_of(entry, machine)
    if gpu is None or value_or(gpu.mig, False):
        return ("alone", entry.get("gpu"))
    return (value_or(gpu.pci_id, None) or value_or(gpu.name, None), len(gpu.compute_nodes))

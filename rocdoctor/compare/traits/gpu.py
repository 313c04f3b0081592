"""Traits of each GPU."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from rocdoctor.compare.traits.islands import peers
from rocdoctor.compare.traits.trait import Group, Kind, Trait
from rocdoctor.insight.links.pcie_path import (
    asleep,
    capable,
    ends_at_the_card,
    hypervisor_sign,
    narrowest,
    slot_links,
)
from rocdoctor.model.evidence import NOT_ASKED, Fact, Known, Source, Unknown, convert, value_or
from rocdoctor.model.facts import Gpu, Machine

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class OfGpu:
    """A trait that each GPU has."""

    trait: Trait
    read: Callable[[Machine, Gpu], Fact[Any]]


def _discrete(gpu: Gpu, fact: Fact[T]) -> Fact[T]:
    return Unknown("an integrated GPU has no link of its own") if value_or(gpu.integrated, False) else fact


def _link_gap(machine: Machine, gpu: Gpu) -> Unknown | None:
    if sign := hypervisor_sign(machine, gpu):
        return Unknown(sign)
    if ends_at_the_card(gpu):
        return Unknown("the bridges above the GPU are not known")
    return asleep(gpu)


def _width(machine: Machine, gpu: Gpu) -> Fact[int]:
    return _link_gap(machine, gpu) or _discrete(gpu, narrowest(gpu))


def _capable_speed(machine: Machine, gpu: Gpu) -> Fact[float]:
    return _link_gap(machine, gpu) or _discrete(gpu, capable(gpu)[1])


_BUSY_PERCENT = 50  # as the check pcie-link-slow has it: an idle link may run slower on purpose


def _speed(machine: Machine, gpu: Gpu) -> Fact[float]:
    if gap := _link_gap(machine, gpu):
        return gap
    links = [(link.speed_gt_s, link.capable_speed_gt_s) for link in slot_links(gpu)]
    slow = [now for now, best in links if not (isinstance(best, Known) and value_or(now, 0.0) >= best.value)]
    if slow and value_or(gpu.busy_percent, 0) < _BUSY_PERCENT:
        return Unknown("an idle link may run slower than it can; look while a job runs")
    known = [now for now, _ in links if isinstance(now, Known)]
    return _discrete(gpu, min(known, key=lambda one: one.value)) if known else NOT_ASKED


def _nvlinks(_: Machine, gpu: Gpu) -> Fact[int]:
    return convert(gpu.nvlinks, lambda found: sum(one.active for one in found))


def _level(_: Machine, gpu: Gpu) -> Fact[str]:
    # What nvidia-smi calls a level is the state of the moment.
    return gpu.performance_level if gpu.vendor == "amd" else NOT_ASKED


def _firmware(_: Machine, gpu: Gpu) -> Fact[str]:
    if not gpu.firmware:
        return NOT_ASKED
    place = Source("firmware versions of the GPU")
    return Known(" ".join(f"{name}={version}" for name, version in sorted(gpu.firmware.items())), place)


def _gpu(
    key: str,
    group: Group,
    words: str,
    why: str,
    read: Callable[[Machine, Gpu], Fact[Any]],
    kind: Kind = "text",
    unit: str = "",
    grave: bool = False,
) -> OfGpu:
    return OfGpu(Trait(key, group, words, why, kind, unit, grave), read)


OF_GPU: tuple[OfGpu, ...] = (
    _gpu("bdf", "gpu", "PCI address", "where it sits: says which one is missing", lambda _, g: g.bdf),
    _gpu("name", "gpu", "name", "what it is, for people", lambda _, g: g.name),
    _gpu(
        "pci_id", "gpu", "device id", "vendor and device: another id is another chip", lambda _, g: g.pci_id, grave=True
    ),
    _gpu("subsystem_id", "gpu", "board id", "the board around the chip", lambda _, g: g.subsystem_id),
    _gpu("driver", "gpu", "kernel driver", "without it no program reaches the GPU", lambda _, g: g.driver, grave=True),
    _gpu("gfx", "gpu", "gfx target", "kernels are built for it", lambda _, g: g.gfx, grave=True),
    _gpu(
        "compute_capability",
        "gpu",
        "compute capability",
        "kernels are built for it",
        lambda _, g: g.compute_capability,
        grave=True,
    ),
    _gpu(
        "compute_units",
        "gpu",
        "compute units",
        "sets the pace of the mathematics",
        lambda _, g: g.compute_units,
        "number",
        grave=True,
    ),
    _gpu(
        "memory_bytes", "gpu", "memory", "the plan's sizes rest on it", lambda _, g: g.vram_bytes, "near", "bytes", True
    ),
    _gpu("numa_node", "gpu", "NUMA node", "ranks are bound to the CPUs next to their GPU", lambda _, g: g.numa_node),
    _gpu(
        "pcie_width",
        "link",
        "PCIe lanes in use",
        "sets the pace of copies between host and GPU",
        _width,
        "number",
        grave=True,
    ),
    _gpu(
        "pcie_speed_gt_s",
        "link",
        "PCIe speed in use",
        "sets the pace of copies between host and GPU",
        _speed,
        "number",
        "GT/s",
        True,
    ),
    _gpu(
        "pcie_capable_gt_s",
        "link",
        "PCIe speed that card and slot can do",
        "another slot or a firmware setting shows here",
        _capable_speed,
        "number",
        "GT/s",
        True,
    ),
    _gpu(
        "fabric_peers",
        "link",
        "GPUs reached over XGMI or NVLink",
        "collectives take this way",
        peers,
        "number",
        grave=True,
    ),
    _gpu("nvlinks", "link", "active NVLinks", "collectives share them", _nvlinks, "number", grave=True),
    _gpu("vbios", "version", "VBIOS", "the board's own firmware", lambda _, g: g.vbios),
    _gpu("firmware", "version", "GPU firmware", "loaded by the driver", _firmware, "words"),
    _gpu(
        "compute_partition",
        "setting",
        "compute partition mode",
        "says how many devices it is",
        lambda _, g: g.partition.compute,
        grave=True,
    ),
    _gpu(
        "memory_partition",
        "setting",
        "memory partition mode",
        "says how its memory is divided",
        lambda _, g: g.partition.memory,
        grave=True,
    ),
    _gpu("mig", "setting", "MIG mode", "with it on a program sees slices", lambda _, g: g.mig, grave=True),
    _gpu(
        "mig_devices", "setting", "MIG devices", "slices that programs can use", lambda _, g: g.mig_devices, grave=True
    ),
    _gpu("ecc", "setting", "ECC", "without it wrong bits pass unseen", lambda _, g: g.ecc_enabled, grave=True),
    _gpu(
        "compute_mode",
        "setting",
        "compute mode",
        "exclusive modes let one process in",
        lambda _, g: g.compute_mode,
        grave=True,
    ),
    _gpu(
        "power_cap_w",
        "setting",
        "power cap",
        "a lower cap lowers clocks under load",
        lambda _, g: convert(g.power.cap_w, round),
        "number",
        "W",
        True,
    ),
    _gpu("performance_level", "setting", "performance level", "anything but auto holds clocks", _level),
    _gpu(
        "persistence", "setting", "persistence mode", "off: the driver unloads between jobs", lambda _, g: g.persistence
    ),
)

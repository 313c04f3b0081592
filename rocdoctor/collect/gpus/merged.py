"""All GPUs of a machine, from every source, as facts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from copy import copy
from dataclasses import fields, replace
from functools import partial
from operator import is_
from typing import Any

from rocdoctor.collect.gpus import kfd, nvidia, pci
from rocdoctor.collect.gpus.links import gpu_links
from rocdoctor.collect.gpus.records import DMESG, Device, GpuRecord, RecordSource, disagreements, join, unknown_or
from rocdoctor.collect.gpus.same_answers import SameAnswers
from rocdoctor.collect.gpus.tool import Tools
from rocdoctor.collect.tool_outputs import all_tools
from rocdoctor.host.base import Host
from rocdoctor.knowledge.gpus.cards_without_profile import older_card
from rocdoctor.knowledge.gpus.nvidia_chips import capability_of_device
from rocdoctor.knowledge.gpus.nvidia_vgpus import vgpu_type
from rocdoctor.knowledge.lookup import gfx_target, gpu_candidates, gpu_profile, profiles_by_name
from rocdoctor.model.evidence import NOT_ASKED, Fact, Known, Source, Unknown, value_or
from rocdoctor.model.facts import (
    ComputeNode,
    Disagreement,
    Display,
    Fan,
    Gpu,
    GpuLink,
    KernelLog,
    LinkState,
    LogEvent,
    Partition,
    Pcie,
    PcieHop,
    Power,
    Traffic,
    Unanswered,
)
from rocdoctor.model.lazy_re import regex

# Eight GPUs of 128 functions each; the largest known have 64 partitions or virtual functions in all.
MAX_GPUS = 1024
# What lspci prints for a device that its table of names does not have.
_NUMBER_FOR_NAME = regex(r"\bDevice [0-9a-f]{4}$")
# NVIDIA A100-40C, GRID T4-8Q, NVIDIA A100-1-5CME: a size in GB and the letters of a series (as in nvidia_vgpus.yaml).
_VGPU_NAME = regex(r"-\d{1,3}(?:[ABCQ]|CME)\Z")
# Facts that are one value of one source; the tables of names alone tell whether memory is shared.
_SIMPLE = tuple(one.name for one in fields(Gpu) if one.default is NOT_ASKED and one.name != "shared_memory")
_OF_LINK = tuple(one.name for one in fields(Pcie) if one.default is NOT_ASKED)
_POWER, _FAN, _TRAFFIC, _DEVICE_LINK, _NODE = (
    tuple(one.name for one in fields(kind)) for kind in (Power, Fan, Traffic, LinkState, ComputeNode)
)


class GpuView:
    """Everything that was read about GPUs; facts are made from it in ``build``."""

    def __init__(self) -> None:
        self.records: list[GpuRecord] = []
        self.displays: list[Display] = []
        self.complete = False
        self.gap: Unknown | None = None  # the bus was asked and did not answer
        self.topology = kfd.KfdTopology()
        self.listed = 0  # the most that one source lists, where that is more than is read

    def copy(self) -> GpuView:
        """Another view, to which more can be added."""
        other = copy(self)
        other.records, other.displays = [*self.records], [*self.displays]
        return other

    @property
    def unread(self) -> tuple[Unanswered, ...]:
        """That there were more GPUs than any machine has."""
        if self.listed <= MAX_GPUS:
            return ()
        return (Unanswered("all GPUs", "cut", f"the first {MAX_GPUS} of {self.listed} count"),)


def from_sysfs(host: Host, seen: SameAnswers | None = None) -> GpuView:
    """GPUs as the kernel's own files show them; with ``seen`` what is answered as it was then is not read anew."""
    seen = seen or SameAnswers()
    view = seen.made("pci", host, _of_pci).copy()
    known = {display.bdf.value for display in view.displays if isinstance(display.bdf, Known)}
    if cards := pci.cards(host):
        from rocdoctor.collect.gpus import drm  # with many parsers, and without a GPU there is nothing to read

        found = [seen.made(card, host, partial(drm.card_record, card=card)) for card in cards]
        view.records += [record for record in found if record is not None and record.bdf not in known]
    if host.kind == "folder":
        view.records += nvidia.records_of_module(host, {record.bdf for record in view.records})
    view.topology = seen.made("kfd", host, kfd.topology)
    view.records += view.topology.records
    return view


def _of_pci(host: Host) -> GpuView:
    view = GpuView()
    devices, listed, view.gap = pci.devices(host)
    for device in devices:
        vendor = pci.gpu_vendor(device.uevent.vendor_id, device.pci_class)
        if pci.is_plain_display(device.uevent.vendor_id, device.pci_class):
            view.displays.append(pci.display(device))
        elif vendor is not None:
            view.listed += 1
            if view.listed <= MAX_GPUS:
                view.records.append(pci.gpu_record(host, device, vendor))
    view.complete = listed.ok and listed.complete and bool(devices)
    return view


def add_tools(view: GpuView, tools: Tools) -> None:
    """GPUs as tools show them."""
    found = [one for tool in all_tools() for parsed, answer in tools.of(tool) for one in tool.records(parsed, answer)]
    view.records += [one for one in found if isinstance(one, GpuRecord)]
    nvidia.give_addresses(view.records)
    known = {value_or(display.bdf, None) for display in view.displays}
    displays = [one for one in found if isinstance(one, Display)]
    view.displays += [display for display in displays if value_or(display.bdf, None) not in known]


def add_log(view: GpuView, log: KernelLog) -> None:
    """GPUs that the kernel log names (a driver line with a PCI address), with the ids and sizes that it states.

    Some lines of the compute driver give the device id but no address: with one GPU in the log it is that one's.
    """
    by_bdf: dict[str, GpuRecord] = {}
    for event in log.events:
        vendor = _log_vendor(event.text)
        if event.bdf is None or vendor is None:
            continue
        record = by_bdf.setdefault(event.bdf, GpuRecord(DMESG, vendor, bdf=event.bdf))
        if "bdf" not in record.facts:
            record.put("bdf", event.bdf, log.source, event.line)
        _from_event(record, event, log.source)
    amd = [record for record in by_bdf.values() if record.vendor == "amd"]
    for event in log.events:
        if event.bdf is None and len(amd) == 1 and _log_vendor(event.text) == "amd":
            _from_event(amd[0], event, log.source)
    view.records += by_bdf.values()


def _from_event(record: GpuRecord, event: LogEvent, question: str) -> None:
    for key in ("vram_bytes", "pci_id", "compute_units", "vbios"):
        if key in event.values and key not in record.facts:
            record.put(key, event.values[key], question, event.line)
    vendor_id = str(event.values.get("vendor_id", "")).lower()
    device_id = str(event.values.get("device_id", "")).lower()
    if vendor_id == "1002" and device_id and "pci_id" not in record.facts:
        record.put("pci_id", f"{vendor_id}:{device_id}", question, event.line)


def _log_vendor(text: str) -> str | None:
    lowered = text[:200].lower()
    if lowered.startswith("nvidia-nvswitch"):  # the address is that of a switch
        return None
    if lowered.startswith(
        ("amdgpu", "radeon", "kfd", "[drm] initializing kernel modesetting", "[drm] initialized amdgpu")
    ):
        return "amd"
    if "nvrm" in lowered or lowered.startswith(("nvidia", "nouveau")):
        return "nvidia"
    return None


def build(view: GpuView, tools: Tools) -> tuple[tuple[Gpu, ...], tuple[GpuLink, ...], tuple[Disagreement, ...]]:
    """Physical GPUs in the order of their PCI addresses, the links between them, and where sources disagree."""
    devices = _bounded(view)
    gpus = tuple(_gpu(index, device) for index, device in enumerate(devices))
    links = gpu_links(gpus, devices, view.topology, tools)
    unlike = [one for gpu, device in zip(gpus, devices, strict=True) for one in disagreements(device, gpu.subject)]
    return gpus, links, tuple(unlike)


def build_gpus(view: GpuView, seen: dict[int, tuple[list[GpuRecord], Gpu]]) -> tuple[Gpu, ...]:
    """The GPUs alone, as ``build`` has them; ``seen`` keeps each by its place, for as long as its records are the same.

    Records are the same where they are the same objects (``SameAnswers``).
    """
    found: list[Gpu] = []
    for index, device in enumerate(_bounded(view)):
        records, gpu = seen.get(index, ([], None))
        if gpu is None or len(records) != len(device.records) or not all(map(is_, records, device.records)):
            gpu = _gpu(index, device)
            seen[index] = device.records, gpu
        found.append(gpu)
    return tuple(found)


def _bounded(view: GpuView) -> list[Device]:
    """The devices of all records, as many as a machine can have; that there are more makes the list incomplete."""
    counts: Counter[RecordSource] = Counter()
    kept: list[GpuRecord] = []
    for record in view.records:
        counts[record.source] += 1
        if counts[record.source] <= MAX_GPUS:
            kept.append(record)
    devices = join(kept)
    view.listed = max(view.listed, len(devices), *counts.values(), 0)
    view.complete = view.complete and view.listed <= MAX_GPUS
    return devices[:MAX_GPUS]


def _gpu(index: int, device: Device) -> Gpu:
    def fact(key: str) -> Fact[Any]:
        return unknown_or(device.get(key))

    gpu = Gpu(
        index,
        device.vendor,
        **{key: fact(key) for key in _SIMPLE},
        compute_nodes=_nodes(device),
        pcie=_pcie(device),
        temps=value_or(fact("temps"), ()),
        power=Power(*(fact(f"power.{name}") for name in _POWER)),
        fan=Fan(*(fact(f"fan.{name}") for name in _FAN)),
        traffic=Traffic(*(fact(f"traffic.{name}") for name in _TRAFFIC)),
        clocks_mhz=_group(device, "clocks_mhz."),
        max_clocks_mhz=_group(device, "max_clocks_mhz."),
        partition=Partition(fact("partition.compute"), fact("partition.memory")),
        ras=value_or(fact("ras"), ()),
        firmware=value_or(fact("firmware"), {}),
    )
    if isinstance(gpu.bdf, Known) and device.bdf and gpu.bdf.value != device.bdf:
        gpu = replace(gpu, bdf=Known(device.bdf, gpu.bdf.source))
    return _with_profile(_with_vgpu(gpu))


def _group(device: Device, prefix: str) -> dict[str, Fact[float]]:
    keys = {key for record in device.records for key in record.facts if key.startswith(prefix)}
    return {key.removeprefix(prefix): unknown_or(device.get(key)) for key in sorted(keys)}  # type: ignore[misc]


def _pcie(device: Device) -> Pcie:
    def fact(key: str) -> Fact[Any]:
        return unknown_or(device.get(f"pcie.{key}"))

    link = LinkState(*(fact(f"device.{name}") for name in _DEVICE_LINK))
    return Pcie(
        link,
        _hops(device),
        value_or(fact("path_complete"), False),
        **{key: fact(key) for key in _OF_LINK},
    )


def _hops(device: Device) -> tuple[PcieHop, ...]:
    """The path of the best source; gaps of its hops are filled from other sources that name the same ports."""
    facts = [record.facts.get("pcie.hops") for record in sorted(device.records, key=lambda one: one.rank)]
    paths: list[tuple[PcieHop, ...]] = [fact.value for fact in facts if isinstance(fact, Known)]  # type: ignore[misc]
    if not paths:
        return ()
    others = {hop.bdf: hop for path in reversed(paths[1:]) for hop in path}
    return tuple(
        replace(hop, acs_redirect=others[hop.bdf].acs_redirect)
        if hop.bdf in others and not isinstance(hop.acs_redirect, Known)
        else hop
        for hop in paths[0]
    )


def _nodes(device: Device) -> tuple[ComputeNode, ...]:
    """The compute nodes of the best source, gaps filled from others that list as many."""
    lists = [record.nodes for record in sorted(device.records, key=lambda one: one.rank) if record.nodes]
    if not lists:
        return ()
    best = list(lists[0])
    for other in lists[1:]:
        if len(other) == len(best):
            best = [_filled(one, two) for one, two in zip(best, other, strict=True)]
    return tuple(best)


def _filled(one: ComputeNode, two: ComputeNode) -> ComputeNode:
    values = {}
    for name in _NODE:
        mine, theirs = getattr(one, name), getattr(two, name)
        values[name] = mine if isinstance(mine, Known) else theirs if isinstance(theirs, Known) else mine
    return ComputeNode(**values)


def _with_profile(gpu: Gpu) -> Gpu:
    """What the device id alone tells, from the tables: the name, the gfx target, whether it is integrated."""
    if not isinstance(gpu.pci_id, Known):
        return _guess_integrated(_with_capability_of_name(gpu))
    device_id = gpu.pci_id.value.split(":")[-1]
    revision = value_or(gpu.revision, None)
    units = value_or(gpu.compute_units, None)
    vram = value_or(gpu.vram_bytes, None)
    profile = gpu_profile(gpu.vendor, device_id, revision, units, vram / 2**30 if vram else None)
    candidates: Sequence[Any] = [profile] if profile else gpu_candidates(gpu.vendor, device_id)
    if not candidates:
        return _guess_integrated(_with_capability(gpu, device_id))
    source = Source(f"table profiles/{candidates[0].family}.yaml")
    changes: dict[str, Any] = {}
    targets = {one.gfx for one in candidates}
    if isinstance(gpu.gfx, Unknown) and len(targets) == 1 and None not in targets:
        changes["gfx"] = Known(targets.pop(), source)
    capabilities = {one.compute_capability for one in candidates}
    if isinstance(gpu.compute_capability, Unknown) and len(capabilities) == 1 and None not in capabilities:
        changes["compute_capability"] = Known(capabilities.pop(), source)
    nameless = isinstance(gpu.name, Unknown) or _NUMBER_FOR_NAME.search(gpu.name.value) is not None
    if nameless and profile is not None and profile.names:
        changes["name"] = Known(profile.names[0], source)
    integrated = {one.integrated for one in candidates}
    # rocminfo calls every GPU that shares the CPU's memory an APU, accelerators such as MI300A too.
    if len(integrated) == 1:
        changes["integrated"] = Known(integrated.pop(), source)
    shared = {one.shared_memory for one in candidates}
    if len(shared) == 1:
        changes["shared_memory"] = Known(shared.pop(), source)
    changed = replace(gpu, **changes)
    if value_or(changed.integrated, False) and _told_by_kfd(changed.vram_bytes):
        why = Unknown("the driver lists shared memory for an integrated GPU, not memory of its own", "not-asked")
        changed = replace(changed, vram_bytes=why)
    return _guess_integrated(changed)


def _with_vgpu(gpu: Gpu) -> Gpu:
    """Whether it is an NVIDIA vGPU, where no tool says so: by the name that a tool gives it, or by its PCI ids.

    Ids that no row has tell nothing: the table has no vGPU before Turing, and none that came later.
    """
    if gpu.vendor != "nvidia" or isinstance(gpu.vgpu, Known):
        return gpu
    if isinstance(gpu.name, Known) and _VGPU_NAME.search(gpu.name.value):
        return replace(gpu, vgpu=Known(True, gpu.name.source))
    if not isinstance(gpu.pci_id, Known) or not isinstance(gpu.subsystem_id, Known):
        return gpu
    kind = vgpu_type(gpu.pci_id.value, gpu.subsystem_id.value)
    if kind is None:
        return gpu
    named = Known(f"NVIDIA {kind}", Source("table nvidia_vgpus.yaml"))  # lspci has the name of the GPU behind it
    return replace(gpu, vgpu=Known(True, gpu.subsystem_id.source), name=named)


def _with_capability(gpu: Gpu, device_id: str) -> Gpu:
    """The compute capability of an NVIDIA chip that has no profile, where neither driver nor tool told it."""
    found = capability_of_device(device_id) if gpu.vendor == "nvidia" else None
    if found is None or isinstance(gpu.compute_capability, Known):
        return gpu
    return replace(gpu, compute_capability=Known(found, Source("table nvidia_chips.yaml")))


def _with_capability_of_name(gpu: Gpu) -> Gpu:
    """The compute capability of an NVIDIA GPU that a list shows by its name alone."""
    if gpu.vendor != "nvidia" or isinstance(gpu.compute_capability, Known) or not isinstance(gpu.name, Known):
        return gpu
    named, older = profiles_by_name(gpu.name.value), older_card(gpu.name.value)
    found = {one.compute_capability for one in named} or {older.compute_capability if older is not None else None}
    table = f"profiles/{named[0].family}" if named else "older_cards"
    told = found.pop() if len(found) == 1 else None
    return gpu if told is None else replace(gpu, compute_capability=Known(told, Source(f"table {table}.yaml")))


def _told_by_kfd(fact: Fact[Any]) -> bool:
    """Whether the compute driver says it, itself or through rocminfo."""
    if not isinstance(fact, Known):
        return False
    return fact.source.asked.program == "rocminfo" or fact.source.asked.path.startswith("/sys/class/kfd/")


def _guess_integrated(gpu: Gpu) -> Gpu:
    """What the place or the gfx target tells.

    Intel's integrated GPU always is device 2 of the root bus (Intel datasheets, device 2: processor graphics).
    """
    if isinstance(gpu.integrated, Known):
        return gpu
    if gpu.vendor == "intel" and isinstance(gpu.bdf, Known):
        return replace(gpu, integrated=Known(gpu.bdf.value == "0000:00:02.0", gpu.bdf.source))
    target = gfx_target(gpu.gfx.value) if gpu.vendor == "amd" and isinstance(gpu.gfx, Known) else None
    if target is not None and target.integrated:
        return replace(gpu, integrated=Known(True, Source("table gfx.yaml")))
    # An override can make an integrated GPU tell the target of a card, but not its name.
    named = profiles_by_name(gpu.name.value) if isinstance(gpu.name, Known) else ()
    if named and not any(one.integrated for one in named):
        return replace(gpu, integrated=Known(False, Source(f"table profiles/{named[0].family}.yaml")))
    return gpu

"""Which GPUs of a machine a plan is made for, and why it leaves the others out.

Left out is what no training program of this user would reach (no driver, another guest's, hidden), what would not
compute (a failed part, MIG slices of unknown size), and what would slow the others down (an integrated GPU, cards of
another kind).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rocdoctor.insight.gpus.presence import has_node, is_driven, is_integrated, is_reserved, kfd_path
from rocdoctor.insight.gpus.visibility import runtime_vendors, visible
from rocdoctor.knowledge.lookup import arch_list_covers, gfx_target
from rocdoctor.model.evidence import Known, value_or
from rocdoctor.model.facts import ComputeNode, Gpu, Machine
from rocdoctor.parsers.formats.text import whole_number
from rocdoctor.train.recommend.fleet.gpu_figures import GIB

# Display GPUs of desktop processors have this many compute units.
_DISPLAY_UNITS = 2


@dataclass(frozen=True, slots=True)
class CountedDevice:
    """A GPU as programs count it: a card, or one partition of it (``node``) of ``parts``.

    ``number`` is its place among the devices of its runtime when no variable selects any.
    """

    gpu: Gpu
    number: int
    node: ComputeNode | None = None
    parts: int = 1

    @property
    def memory_bytes(self) -> int | None:
        """Memory as the driver reports it, None where the evidence does not tell."""
        whole = value_or(self.gpu.vram_bytes, None)
        own = value_or(self.node.vram_bytes, None) if self.node is not None else None
        if self.parts == 1:
            return whole or own
        share = whole // self.parts if whole else None
        return min(one for one in (own, share) if one) if own or share else None


@dataclass(frozen=True, slots=True)
class ChosenGpus:
    """The devices to plan for, in the order of local ranks; empty when there is none."""

    devices: tuple[CountedDevice, ...]
    left_out: tuple[str, ...]
    notes: tuple[str, ...]


def choose(machine: Machine) -> ChosenGpus:
    """The equal devices that training would use on this machine."""
    left_out: list[str] = []
    notes: list[str] = []
    usable: list[Gpu] = []
    for gpu in machine.gpus:
        reason = _unusable(machine, gpu)
        if reason is None:
            usable.append(gpu)
        else:
            left_out.append(f"{gpu.label}: {reason}")
    vendors = runtime_vendors(machine)
    if len(vendors) == 1:
        left_out += [
            f"{gpu.label}: the torch here is built for GPUs of another maker"
            for gpu in usable
            if gpu.vendor not in vendors
        ]
        usable = [gpu for gpu in usable if gpu.vendor in vendors]
    devices: list[CountedDevice] = []
    for vendor in ("amd", "nvidia"):
        devices += _selected(
            machine, vendor, _devices([gpu for gpu in usable if gpu.vendor == vendor]), left_out, notes
        )
    chosen = _equal(_without_integrated(devices, left_out), left_out)
    for gpu in {one.gpu.index: one.gpu for one in chosen}.values():
        notes += _cautions(gpu)
    return ChosenGpus(tuple(chosen), tuple(left_out), tuple(notes))


def _unusable(machine: Machine, gpu: Gpu) -> str | None:
    """Why no program of this user trains on a GPU; None when nothing speaks against it."""
    if gpu.vendor not in ("amd", "nvidia"):
        return "plans support only AMD and NVIDIA GPUs"
    if is_reserved(gpu):
        return f"it is reserved for a virtual machine ({value_or(gpu.driver, '')})"
    if is_driven(gpu) is False:
        driver = value_or(gpu.driver, None)
        return f"its driver is {driver}, which torch cannot use" if driver else "no driver is bound to it"
    if kfd_path(gpu) is False:
        return "the compute driver does not handle this chip"
    return _failed(gpu) or _not_reachable(machine, gpu) or _no_code(machine, gpu)


def _failed(gpu: Gpu) -> str | None:
    if value_or(gpu.remap_failure, False):
        return "its memory has an error that could not be remapped"
    action = value_or(gpu.recovery_action, "").strip()
    # Drained GPUs still compute, and a reset that pages wait for can wait.
    asks = re.search("reset|reboot", action, re.IGNORECASE) and "drain" not in action.lower()
    if asks and not value_or(gpu.bad_pages_pending, False):
        return f"its driver asks for a recovery first ({action})"
    state, status = value_or(gpu.fabric_state, "").strip().lower(), value_or(gpu.fabric_status, "").strip()
    if state == "completed" and status and status.lower() not in ("success", "n/a"):
        return f"its registration with the NVLink fabric failed ({status})"
    if value_or(gpu.mig, False):
        return (
            "it is divided into MIG devices, and plans do not use their sizes; describe one with --gpus, for "
            "example 1xA100:10GiB"
        )
    return None


def _cautions(gpu: Gpu) -> list[str]:
    """What is wrong with a GPU that a plan still uses."""
    found = []
    if value_or(gpu.bad_pages_pending, False):
        found.append(f"{gpu.label}: bad memory pages wait for a reset to be retired")
    if "drain" in value_or(gpu.recovery_action, "").lower():
        found.append(f"{gpu.label}: its driver asks for work to be drained from it")
    if value_or(gpu.fabric_state, "").strip().lower() in ("in progress", "not started"):
        found.append(f"{gpu.label}: it is not yet registered with the NVLink fabric; CUDA does not start until then")
    if value_or(gpu.runtime_status, "") == "suspended":
        found.append(f"{gpu.label}: it sleeps now and wakes when a program uses it")
    if is_driven(gpu) is None:
        found.append(f"{gpu.label}: its driver is not in this evidence")
    return found


def _not_reachable(machine: Machine, gpu: Gpu) -> str | None:
    """Why this process cannot see it although its driver works."""
    if gpu.vendor == "amd" and machine.kfd_complete and not has_node(gpu):
        if value_or(machine.kfd_nodes_hidden, 0):
            return "it is hidden from this process (its cgroup or container)"
        return "the compute driver lists no node for it"
    minor = value_or(gpu.render_minor, None)
    path = f"/dev/dri/renderD{minor}"
    if gpu.vendor == "amd" and any(one.path == path and value_or(one.exists, True) is False for one in machine.nodes):
        return f"its device node {path} is not here"
    attached = value_or(machine.nvidia_attached, None)
    driven = [one for one in machine.gpus if one.vendor == "nvidia" and is_driven(one)]
    if gpu.vendor == "nvidia" and attached is not None and attached < len(driven):
        seen = [one for one in driven if isinstance(one.vram_bytes, Known)]
        if len(seen) == attached and gpu not in seen:
            return "nvidia-smi does not see it in this process"
    return None


def _no_code(machine: Machine, gpu: Gpu) -> str | None:
    """Why torch has no code for it; only where no override helps either."""
    gfx = value_or(gpu.gfx, None)
    if gfx is None:
        return None
    built = value_or(machine.torch.arch_list, ())
    if any(arch_list_covers((one,), gfx) for one in built):
        return None
    target = gfx_target(gfx)
    if gfx.startswith(("gfx6", "gfx7", "gfx8")) and (target is None or not target.wheel_native):
        return f"no official torch build carries code for {gfx}"
    if is_integrated(gpu) and value_or(gpu.compute_units, 99) <= _DISPLAY_UNITS:
        return f"it is a display GPU of {value_or(gpu.compute_units, 0)} compute units"
    return None


def _devices(gpus: Sequence[Gpu]) -> list[CountedDevice]:
    """Devices in the order of their runtime: by KFD node (ROCr), else by torch's number or PCI address."""

    def place(gpu: Gpu) -> tuple[int, int]:
        known = gpu.kfd_node if gpu.vendor == "amd" else gpu.torch_index
        return (value_or(known, 10_000), gpu.index)

    found: list[CountedDevice] = []
    for gpu in sorted(gpus, key=place):
        nodes = gpu.compute_nodes if len(gpu.compute_nodes) > 1 else (None,)
        for node in sorted(nodes, key=lambda one: value_or(one.kfd_node, 10_000) if one is not None else 0):
            found.append(CountedDevice(gpu, len(found), node, len(nodes)))
    return found


def _selected(
    machine: Machine, vendor: str, devices: list[CountedDevice], left_out: list[str], notes: list[str]
) -> list[CountedDevice]:
    """The devices that the visibility variables leave, in the order that they give."""
    left = devices
    for step in visible(machine, vendor).steps if devices else ():
        kept: list[CountedDevice] = []
        named = True
        for entry in step.kept:
            device = _named(left, entry)
            if device is None:
                named = False
            elif device not in kept:
                kept.append(device)
        if not named:
            kept = left[: len(step.kept)]
            notes.append(
                f"{step.variable.name} names GPUs that this evidence cannot tell apart: the plan "
                f"uses the first {len(kept)}"
            )
        hidden = {one.gpu.index: one.gpu for one in left if one.gpu not in [two.gpu for two in kept]}
        left_out += [f"{gpu.label}: hidden by {step.variable.name}={step.variable.value}" for gpu in hidden.values()]
        left = kept
    return left


def _named(devices: Sequence[CountedDevice], entry: str) -> CountedDevice | None:
    if entry.isdecimal():
        place = whole_number(entry)  # of ASCII digits, as the drivers read them
        return devices[place] if place is not None and place < len(devices) else None
    wanted = entry.lower().removeprefix("gpu-").removeprefix("0x").lstrip("0")
    for device in devices:
        own = value_or(device.gpu.unique_id, "").lower().removeprefix("gpu-").removeprefix("0x").lstrip("0")
        if own and own == wanted:
            return device
    return None


def _without_integrated(devices: list[CountedDevice], left_out: list[str]) -> list[CountedDevice]:
    discrete = [one for one in devices if not is_integrated(one.gpu)]
    if not discrete:
        return devices
    left_out += [
        f"{one.gpu.label}: an integrated GPU would slow the discrete one down"
        for one in devices
        if is_integrated(one.gpu)
    ]
    return discrete


def _kind(device: CountedDevice) -> tuple[object, ...]:
    gpu = device.gpu
    model = value_or(gpu.pci_id, None) or value_or(gpu.name, "")
    memory = device.memory_bytes
    return (gpu.vendor, model, value_or(gpu.gfx, ""), round(memory / GIB) if memory else 0, device.parts)


def _equal(devices: Sequence[CountedDevice], left_out: list[str]) -> list[CountedDevice]:
    """The group of equal devices with most memory in all; the others are named."""
    groups: dict[tuple[object, ...], list[CountedDevice]] = {}
    for one in devices:
        groups.setdefault(_kind(one), []).append(one)
    if len(groups) < 2:
        return list(devices)
    best = max(groups.values(), key=lambda group: (sum(one.memory_bytes or 0 for one in group), len(group)))
    name = value_or(best[0].gpu.name, "") or value_or(best[0].gpu.pci_id, "")
    others = {one.gpu.index: one.gpu for one in devices if one not in best}
    left_out += [
        f"{gpu.label}: differs from the {len(best)} x {name}; a plan is for identical GPUs" for gpu in others.values()
    ]
    return best

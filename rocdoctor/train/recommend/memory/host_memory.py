"""Main memory: what programs of a node have, and what a GPU without memory of its own may use of it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rocdoctor.model.evidence import Known, value_or
from rocdoctor.model.facts import Machine
from rocdoctor.train.recommend.errors import SpecError
from rocdoctor.train.recommend.fleet.gpu_figures import GIB
from rocdoctor.train.recommend.fleet.machine_gpus import CountedDevice
from rocdoctor.train.recommend.plan import Software

_PAGE = 4096
# Linux uses memory beyond the carve-out for compute on APUs since this release (amdkfd, "GTT for compute on small
# APUs"); before, the runtime reports the carve-out alone. Not verified on machines.
_GTT_SINCE = (6, 10)
# The kernel lets drivers take half of main memory unless ttm.pages_limit says otherwise (drivers/gpu/drm/ttm).
_TTM_SHARE = 0.5
# The system and the program itself need the rest, whatever the limits say.
MOST_OF_MAIN = 0.75
_PROGRAMS = 0.9


def main_memory(machine: Machine) -> tuple[float | None, str]:
    """Bytes of main memory that this user's programs may have, and where the figure comes from."""
    total, limit = value_or(machine.memory.total_bytes, None), value_or(machine.memory.cgroup_limit_bytes, None)
    if limit is not None and (total is None or limit < total):
        return float(limit), "limit of the control group"
    return (float(total), "machine") if total else (None, "")


def host_memory(machine: Machine, taken: float) -> tuple[float | None, str]:
    """Main memory that is left for the host when GPUs that work in it take ``taken`` bytes."""
    total, source = main_memory(machine)
    if total is None:
        return None, ""
    return max(0.0, total - taken), source if not taken else "what the GPUs leave of the memory that they share"


def shared_memory(
    machine: Machine, devices: Sequence[CountedDevice], sources: dict[str, str], notes: list[str]
) -> tuple[float, float]:
    """Bytes that one device without memory of its own can reach, and of them what programs can have.

    The driver's limits decide: the carve-out, what it may map beyond it (GTT, bounded by TTM's limit), and main memory.
    """
    main, _ = main_memory(machine)
    seen = [_as_torch_sees(machine, one) for one in devices]
    reach = [_reach(machine, one, len(devices), main) for one in devices]
    known = [one for one in reach if one]
    if not known:
        raise SpecError(
            "how much of main memory this GPU may use is not in this evidence; describe it, for example "
            "--gpus '1xRadeon 8060S:64GiB'"
        )
    memory = min(known)
    told = [one for one in seen if one]
    told_limit = isinstance(machine.memory.ttm_pages_limit, Known)
    sources["memory"] = "limits of the driver" if told_limit or _own(devices[0]) else "assumption"
    if not told_limit and not _own(devices[0]):
        notes.append(
            "how much of main memory the driver gives to GPUs (ttm.pages_limit) is not in this evidence: half "
            "of it is assumed, the kernel's default"
        )
    if told and min(told) < memory:
        memory, sources["memory"] = min(told), "torch on this machine"
    if main is not None:
        most = MOST_OF_MAIN * main / len(devices)
        if memory > most and not _has_carve_out(devices[0], memory):
            memory = most
            sources["memory"] = "assumption"
            notes.append(
                f"the GPU uses main memory: {most / GIB:.1f} GiB per GPU, three quarters of it, are planned "
                "for; the rest is for the system and the program"
            )
    notes.append(
        f"processor and GPU share one memory: the GPU may use {memory / GIB:.1f} GiB of it, and nothing can "
        "be moved out of the GPU's memory"
    )
    return memory, _PROGRAMS * memory


def _own(device: CountedDevice) -> bool:
    """Whether the driver's own figures bound what an integrated GPU reaches."""
    return value_or(device.gpu.integrated, False) and isinstance(device.gpu.gtt_bytes, Known)


def _has_carve_out(device: CountedDevice, memory: float) -> bool:
    """Whether the memory is the GPU's own part, which the system does not count as main memory."""
    return memory == value_or(device.gpu.vram_bytes, 0) and value_or(device.gpu.integrated, False)


def _reach(machine: Machine, device: CountedDevice, count: int, main: float | None) -> float | None:
    gpu = device.gpu
    own = value_or(gpu.vram_bytes, None)
    pages = value_or(machine.memory.ttm_pages_limit, None)
    limit = float(pages * _PAGE) if pages else None
    if limit is None and main is not None:
        limit = _TTM_SHARE * main
    if not value_or(gpu.integrated, False):
        # MI300A: its memory is the main memory of its NUMA node, and TTM's limit holds for all of them together.
        parts = [one for one in (own, limit / count if limit else None) if one]
        return float(min(parts)) / device.parts if parts else None
    beyond = value_or(gpu.gtt_bytes, None)
    mapped = min((float(one) for one in (beyond, limit) if one), default=None)
    if own is None and mapped is None:
        return None
    return max(float(own or 0), mapped or 0.0) if _maps_main_memory(machine) else float(own) if own else None


def _maps_main_memory(machine: Machine) -> bool:
    version = re.match(r"(\d{1,4})\.(\d{1,4})", value_or(machine.kernel.release, ""))
    return version is not None and (int(version.group(1)), int(version.group(2))) >= _GTT_SINCE


def _as_torch_sees(machine: Machine, device: CountedDevice) -> float | None:
    bdf = value_or(device.gpu.bdf, None)
    found = [one for one in machine.torch.devices if bdf and value_or(one.bdf, None) == bdf]
    sizes = [float(one.memory_bytes.value) for one in found if isinstance(one.memory_bytes, Known)]
    return min(sizes, default=None)


def part_of_main(stated_gib: float, main_gib: float | None, gpus: int, notes: list[str]) -> float:
    """GiB of each GPU that works in main memory: what is stated, but no more than a part of what the machine has.

    Such a GPU runs out of memory with everything else: the kernel ends a program, often not the one that trains.
    """
    most = MOST_OF_MAIN * (main_gib or stated_gib) / gpus
    if stated_gib <= most:
        return stated_gib
    whole = f"{main_gib:g} GiB of main memory" if main_gib else f"{stated_gib:g} GiB, assumed to be all of main memory,"
    more = "" if main_gib else "; --ram says how much the machine has"
    notes.append(f"of {whole} {most:g} GiB per GPU are planned for: the rest is for the system and the program{more}")
    return most


def software_of(machine: Machine) -> Software:
    """The interpreter under test and what it holds."""
    torch = machine.torch
    return Software(
        value_or(torch.version, None),
        value_or(torch.hip, None),
        value_or(torch.cuda, None),
        value_or(torch.python, None),
        value_or(torch.packages, None),
    )

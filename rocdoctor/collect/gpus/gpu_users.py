"""Which processes use which GPU at this moment, and how much of its memory each holds.

KFD keeps ``/sys/class/kfd/kfd/proc/PID/vram_GPUID``, the bytes that a process has allocated on a GPU, and reading it
asks the kernel alone, so it wakes no GPU (ROCm/amdgpu, drivers/gpu/drm/amd/amdkfd/kfd_process.c, read 2026-11-28). PID
is the number on the host. Newer drivers list further contexts of a process below PID/context_N, with files of the same
names for what each has allocated itself (same file). nvidia-smi lists processes by itself. Names and ages come from the
open device nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rocdoctor.collect.reading import names_in, read_text
from rocdoctor.host.base import Host
from rocdoctor.model.evidence import Known, value_or
from rocdoctor.model.facts import Gpu
from rocdoctor.parsers.formats.text import to_int
from rocdoctor.parsers.system.process_stat import GpuHolderLine, parse_holders

_KFD = "/sys/class/kfd/kfd/proc"
_MOST = 256  # processes
_RENDER = "/dev/dri/renderD"


@dataclass(frozen=True, slots=True)
class GpuUser:
    """A process on a GPU. ``name`` is "" and ``age_s`` None where this user may not look at it.

    ``vram_bytes``: what it holds of that GPU; None where it only has the device open, or nothing tells.
    """

    pid: int
    name: str = ""
    age_s: int | None = None
    vram_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class GpuUsers:
    """Those of all GPUs, by index, who holds most first. ``hidden``: processes that nobody let us look into.

    ``why``: why the processes could not be listed; "" where they were. ``untold``: of these GPUs an empty list means
    nothing, with the reason.
    """

    by_gpu: Mapping[int, tuple[GpuUser, ...]] = field(default_factory=dict)
    hidden: int = 0
    why: str = ""
    untold: Mapping[int, str] = field(default_factory=dict)


def gpu_users(host: Host, gpus: Sequence[Gpu]) -> GpuUsers:
    """All that can be seen from here."""
    answer = host.ask("holders gpu")
    listed, hidden = parse_holders(answer.text) if answer.ok else ((), 0)
    holders = {one.pid: one for one in listed}
    held = _kfd_memory(host, gpus)
    found: dict[int, tuple[GpuUser, ...]] = {}
    alone = sum(gpu.vendor == "nvidia" for gpu in gpus) == 1
    for gpu in gpus:
        memory = {**held.get(gpu.index, {}), **_listed(gpu)}
        opened = {one.pid for one in listed if _opens(one, gpu, alone)}
        named = {pid: one for pid, one in holders.items() if pid in opened or _computes(one, gpu)}
        users = [_user(pid, named.get(pid), memory.get(pid)) for pid in {*memory, *opened}]
        found[gpu.index] = tuple(sorted(users, key=lambda one: (-(one.vram_bytes or 0), one.pid)))
    untold = {gpu.index: why for gpu in gpus if (why := _untold(gpu, alone))}
    return GpuUsers(found, hidden, "" if answer.ok else answer.in_words, untold)


def _user(pid: int, holder: GpuHolderLine | None, memory: int | None) -> GpuUser:
    return GpuUser(pid, holder.name, holder.age_s, memory) if holder is not None else GpuUser(pid, vram_bytes=memory)


def _kfd_memory(host: Host, gpus: Iterable[Gpu]) -> dict[int, dict[int, int]]:
    """GPU index -> process -> bytes; a process without any on a GPU is left out there."""
    ids = {
        node.gpu_id.value: gpu.index
        for gpu in gpus
        if gpu.vendor == "amd"
        for node in gpu.compute_nodes
        if isinstance(node.gpu_id, Known)
    }
    if not ids:
        return {}
    owners = {one: pid for one in names_in(host, f"{_KFD}/*", _MOST) if (pid := to_int(one.rsplit("/", 1)[-1]))}
    contexts = names_in(host, f"{_KFD}/*/context_*", _MOST) if owners else ()
    owners |= {one: owners[above] for one in contexts if (above := one.rsplit("/", 1)[0]) in owners}
    host.prefetch(f"read {folder}/vram_{gpu_id}" for folder in owners for gpu_id in ids)
    found: dict[int, dict[int, int]] = {}
    for folder, pid in owners.items():
        for gpu_id, index in ids.items():
            amount = to_int(read_text(host, f"{folder}/vram_{gpu_id}") or "")
            if amount:
                of = found.setdefault(index, {})
                of[pid] = of.get(pid, 0) + amount
    return found


def _listed(gpu: Gpu) -> dict[int, int | None]:
    """What the vendor's tool lists."""
    each = value_or(gpu.processes, ())
    return {one.pid: value_or(one.vram_bytes, None) for one in each if one.pid is not None}


def _untold(gpu: Gpu, alone: bool) -> str:
    """Why nobody can say that a GPU has no process; "" where its open nodes or a whole list tell."""
    if isinstance(gpu.processes, Known):
        return "a process was listed without its number" if any(one.pid is None for one in gpu.processes.value) else ""
    if gpu.vendor == "nvidia":
        return "" if alone else f"which of the GPUs a process has open is not known, {gpu.processes.why}"
    return "" if _minors(gpu) else "the device node of this GPU is not known"


def _computes(holder: GpuHolderLine, gpu: Gpu) -> bool:
    """Whether a process has the driver's own node open. In a container KFD and nvidia-smi number the host's processes:

    one that holds memory there and has nothing open here is another one with the same number.
    """
    if gpu.vendor == "nvidia":
        return any(node.startswith("/dev/nvidia") for node in holder.nodes)
    return "/dev/kfd" in holder.nodes


def _opens(holder: GpuHolderLine, gpu: Gpu, alone: bool) -> bool:
    """Whether a process has this GPU's own node open; which number of /dev/nvidiaN is whose is not known."""
    if gpu.vendor == "nvidia":
        return alone and any(node.startswith("/dev/nvidia") for node in holder.nodes)
    return any(f"{_RENDER}{one}" in holder.nodes for one in _minors(gpu))


def _minors(gpu: Gpu) -> list[int]:
    each = [gpu.render_minor, *(one.render_minor for one in gpu.compute_nodes)]
    return [one.value for one in each if isinstance(one, Known)]

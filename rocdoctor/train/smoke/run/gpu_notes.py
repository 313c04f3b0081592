"""What a run says of the GPUs before it begins: hidden ones, busy ones, partitions. Pure.

Masks: ``_parse_visible_devices`` in torch/cuda/__init__.py and the GPU isolation page of ROCm's documentation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_AMD = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL")
_NVIDIA = ("CUDA_VISIBLE_DEVICES",)
# All modes together take less on a GPU, with its context and the buffers of some twenty communicators.
_ENOUGH_BYTES = 4 << 30
# A GPU that nobody uses has more than this free: drivers keep a few percent.
_IDLE_SHARE = 0.8


def hidden(variables: Mapping[str, str], hip: bool, count: int) -> tuple[str, ...]:
    """Which variables choose among the GPUs here; ``count`` is how many torch sees."""
    names = [name for name in (_AMD if hip else _NVIDIA) if name in variables]
    if not names:
        return ()
    values = ", ".join(f"{name}={variables[name][:60]}" for name in names)
    if not count:
        return (f"torch sees no GPU: {values} may hide all of them",)
    return (f"{values}: torch sees {count} GPU{'' if count == 1 else 's'}, others, if any, are not tested",)


def busy(gpus: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """GPUs that something else may use, or has alone; of one that shares its memory with the system only too little."""
    found = []
    for one in gpus:
        name = f"GPU {one.get('index')}" + (f" ({one['pci']})" if one.get("pci") else "")
        free, total = one.get("free_bytes"), one.get("memory_bytes")
        if one.get("refused"):
            found.append(f"{name} cannot be opened; another program may have exclusive use: {one['refused']}")
        elif isinstance(free, int) and isinstance(total, int) and free < _IDLE_SHARE * total:
            few = ", which may be too little" if free < _ENOUGH_BYTES else ""
            why = "the system has it too" if one.get("integrated") else "something else may use it"
            if few or not one.get("integrated"):
                sizes = f"{free / (1 << 30):.1f} of {total / (1 << 30):.1f} GiB"
                found.append(f"{name} has {sizes} of memory free before the test{few}: {why}")
    return tuple(found)


def one_of_each(gpus: Sequence[Mapping[str, Any]], world: int) -> tuple[int, ...]:
    """The devices for ``world`` ranks where several are partitions of one GPU: first one of each, then a second one.

    Empty where the first ``world`` are as good: no GPU comes twice, or torch does not tell addresses.
    """
    places: dict[str, list[int]] = {}
    for one in gpus:
        if not one.get("pci"):
            return ()
        places.setdefault(str(one["pci"]), []).append(int(one["index"]))
    if len(places) in (1, len(gpus)) or world >= len(gpus):
        return ()
    longest = max(map(len, places.values()))
    order = [many[turn] for turn in range(longest) for many in places.values() if turn < len(many)]
    return tuple(order[:world])


def partitions(gpus: Sequence[Mapping[str, Any]]) -> int:
    """How many GPUs the devices are parts of; 0 where each is a whole one, or that is not told."""
    places = {one.get("pci") for one in gpus}
    return len(places) if None not in places and len(places) < len(gpus) else 0

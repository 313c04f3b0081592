"""Faults in one dimension of a mesh while the others work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from faults import Active, flip_bit, wrap  # type: ignore[import-not-found, unused-ignore]


def after(names: tuple[str, ...], act: Callable[[Any, Any], None], turn: int = 1) -> Callable[[Active], None]:
    """Act with (output, input) at the nth of FSDP's exchanges, once it is done."""

    def put(active: Active) -> None:
        seen = {"count": 0}

        def around(original: Any, *args: Any, **keywords: Any) -> Any:
            work = original(*args, **keywords)
            if active():
                seen["count"] += 1
                if seen["count"] == turn:
                    if work is not None:
                        work.wait()
                    output = args[0] if args else keywords.get("output_tensor", keywords.get("output"))
                    given = args[1] if len(args) > 1 else keywords.get("input_tensor", keywords.get("input"))
                    act(output, given)
            return work

        for name in names:
            if hasattr(dist, name):
                wrap(dist, name, around)

    return put


def _keeps_own(output: Any, given: Any) -> None:
    output.copy_(given[: output.numel()])


def ranks_turned(active: Active) -> None:
    """The mesh is laid out the other way round: data parallel where tensor parallel was meant."""
    import torch.distributed.device_mesh as meshes

    def around(original: Any, kind: str, sizes: Any, **keywords: Any) -> Any:
        if not active() or len(sizes) != 3:
            return original(kind, sizes, **keywords)
        turned = torch.arange(dist.get_world_size()).reshape(sizes[0], sizes[2], sizes[1]).transpose(1, 2)
        return meshes.DeviceMesh(kind, turned, **keywords)

    wrap(meshes, "init_device_mesh", around)


_GATHER = ("all_gather_single", "all_gather_into_tensor")
_SCATTER = ("reduce_scatter_single", "reduce_scatter_tensor")
FAULTS: dict[str, Callable[[Active], None]] = {
    "mesh-gather-bit": after(_GATHER, lambda output, given: flip_bit(output), 2),
    "mesh-scatter-bit": after(_SCATTER, lambda output, given: flip_bit(output), 2),
    "mesh-scatter-own": after(_SCATTER, _keeps_own, 1),
    "mesh-turned": ranks_turned,
}

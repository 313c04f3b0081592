"""Faults of what tensor-parallel ranks exchange, hold and compute; combined modes meet them too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed._functional_collectives as functional
from faults import Active, flip_bit, wrap  # type: ignore[import-not-found, unused-ignore]


def _backward() -> bool:
    return torch._C._current_graph_task_id() != -1


def at_exchange(names: tuple[str, ...], change: Callable[..., Any], turn: int, backward: bool) -> Callable[..., None]:
    """``change(result, own)`` gives what the nth of these exchanges delivers instead, forward or backward."""

    def put(active: Active) -> None:
        seen = {"count": 0}

        def around(original: Any, tensor: Any, *args: Any, **keywords: Any) -> Any:
            own = tensor.clone() if active() else tensor
            result = original(tensor, *args, **keywords)
            if active() and _backward() == backward and tensor.dtype == torch.float32:
                seen["count"] += 1
                if seen["count"] == turn:
                    return change(functional.wait_tensor(result), own)  # type: ignore[no-untyped-call, unused-ignore]
            return result

        for name in names:
            if hasattr(functional, name):
                wrap(functional, name, around)

    return put


def _bit(result: Any, own: Any) -> Any:
    flip_bit(result)
    return result


def _own(result: Any, own: Any) -> Any:
    return own


def _turned(result: Any, own: Any) -> Any:
    return result.roll(result.shape[0] // 2, 0)


def other_part(active: Active) -> None:
    """A rank is handed the first rank's part of the weights."""
    from torch.distributed.tensor import placement_types

    def around(original: Any, output: Any, parts: Any, *args: Any, **keywords: Any) -> Any:
        result = original(output, parts, *args, **keywords)
        if active():
            output.copy_(parts[0])
        return result

    wrap(placement_types, "mesh_scatter", around)


def not_split(active: Active) -> None:
    """The plan is ignored without a word: every rank goes on with the whole model."""
    from torch.distributed.tensor import parallel

    wrap(
        parallel,
        "parallelize_module",
        lambda original, model, *args, **keywords: model if active() else original(model, *args, **keywords),
    )


def compute_bit(active: Active) -> None:
    """One bit of an activation that this rank computes by itself."""

    def around(original: Any, *args: Any, **keywords: Any) -> Any:
        result = original(*args, **keywords)
        if active() and result.device.type != "meta":
            changed = result.clone()
            flip_bit(changed)
            return changed
        return result

    wrap(torch.nn.functional, "gelu", around)


_SUM = ("all_reduce",)
_SCATTER = ("reduce_scatter_single", "reduce_scatter_tensor")
_GATHER = ("all_gather_single", "all_gather_tensor")
FAULTS: dict[str, Callable[[Active], None]] = {
    "tp-sum-bit": at_exchange(_SUM, _bit, 3, False),
    "tp-not-summed": at_exchange(_SUM, _own, 3, False),
    "tp-backward-sum-bit": at_exchange(_SUM, _bit, 4, True),
    "tp-backward-not-summed": at_exchange(_SUM, _own, 4, True),
    "sp-scatter-bit": at_exchange(_SCATTER, _bit, 3, False),
    "sp-gather-order": at_exchange(_GATHER, _turned, 3, False),
    "sp-backward-scatter-bit": at_exchange(_SCATTER, _bit, 4, True),
    "sp-backward-gather-bit": at_exchange(_GATHER, _bit, 3, True),
    "tp-other-part": other_part,
    "tp-not-split": not_split,
    "compute-bit": compute_bit,
}

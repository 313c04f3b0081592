"""Which part of a whole tensor a rank holds, worked out without communication and without asking the library.

Comparing whole tensors would gather them first, and then every rank sees the fault of one. These functions cut the
expected tensor instead, so that each rank compares what it holds itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from . import model as models


def chunk(tensor: Any, parts: int, index: int, dim: int = 0) -> Any:
    """The part ``index`` of ``parts`` along ``dim``: all but the last are rounded up, late ones may be empty.

    The same rule as ``torch.chunk`` has, which the sharded tensors of torch follow.
    """
    size = tensor.shape[dim]
    step = -(-size // parts)
    start = min(index * step, size)
    return tensor.narrow(dim, start, min(step, size - start))


def local_part(full: Any, mesh: Any, placements: Sequence[Any], coordinate: Sequence[int] | None = None) -> Any:
    """What this rank holds of ``full`` on a device mesh: a view, empty where the rank has no share.

    ``placements`` has one entry a mesh dimension: Shard, _StridedShard or Replicate. ``coordinate``: the place in the
    mesh, by default this rank's own. ValueError: a partial placement, a rank outside the mesh, or a strided shard whose
    factor is not a product of mesh sizes.
    """
    place = mesh.get_coordinate() if coordinate is None else coordinate
    if place is None:
        raise ValueError("this rank is not part of the mesh")
    for number in _order(mesh, placements):
        full = chunk(full, mesh.size(number), place[number], placements[number].dim % full.ndim)
    return full


def _order(mesh: Any, placements: Sequence[Any]) -> list[int]:
    """Mesh dimensions in the order in which they cut: left to right, but a strided shard after those it encloses.

    _StridedShard(dim, split_factor=n) says that mesh dimensions further right have cut the tensor into n parts before:
    FSDP over tensor parallel.
    """
    found: list[int] = []
    for number in reversed(range(len(placements))):
        one = placements[number]
        if not hasattr(one, "dim"):
            if not one.is_replicate():
                raise ValueError(f"{one} has no local part without communication")
            continue
        same = [other for other in found if placements[other].dim == one.dim]
        factor, at = int(getattr(one, "split_factor", 1)), 0
        for other in same:
            if factor == 1:
                break
            if factor % mesh.size(other):
                raise ValueError(f"{one} does not fit the mesh")
            factor //= mesh.size(other)
            at = found.index(other) + 1
        if factor != 1:
            raise ValueError(f"{one} does not fit the mesh")
        found.insert(at, number)
    return found


def is_sharded(tensor: Any) -> bool:
    """Whether it is a DTensor: a tensor that knows its mesh and placements."""
    return hasattr(tensor, "placements") and hasattr(tensor, "device_mesh")


def is_partial(tensor: Any) -> bool:
    """Whether it is a DTensor of which this rank holds a summand, not a part."""
    return is_sharded(tensor) and any(one.is_partial() for one in tensor.placements)


def local_of(tensor: Any) -> Any:
    """This rank's own part of a DTensor, without a communication and outside autograd; any other tensor as it is."""
    return tensor.detach().to_local() if is_sharded(tensor) else tensor.detach()


def part_like(full: Any, tensor: Any) -> Any:
    """What this rank should hold of ``full`` when ``tensor`` tells how it is split; ``full`` for a plain tensor."""
    return local_part(full, tensor.device_mesh, tensor.placements) if is_sharded(tensor) else full


def parts_like(full: Mapping[str, Any], tensors: Mapping[str, Any]) -> dict[str, Any]:
    """``part_like`` for every tensor of ``full`` that is also in ``tensors``."""
    return {name: part_like(full[name], one) for name, one in tensors.items() if name in full}


def parameter_parts(model: Any) -> dict[str, Any]:
    """Copies of this rank's own parts of the parameters, by plain name."""
    return {models.plain_name(name): local_of(one).clone() for name, one in model.named_parameters()}


def gradient_parts(model: Any) -> dict[str, Any]:
    """Copies of this rank's own parts of the gradients that are there, by plain name."""
    return {
        models.plain_name(name): local_of(one.grad).clone()
        for name, one in model.named_parameters()
        if one.grad is not None
    }

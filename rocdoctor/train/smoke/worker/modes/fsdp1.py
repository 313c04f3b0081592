"""FSDP1 (FullyShardedDataParallel): all parameters of a block are one flat tensor, cut into equal parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..context import Context
from ..mode import Mode
from ..sharded import SHARDED, Layout, Probe, steps_fp32, train, unit_of

ORDER = 42


class FlatShards(Layout):
    """The parameters of a unit one after another, padded with zeros, cut into equal parts."""

    def __init__(self, context: Context, names: dict[str, Any], replicas: int = 1) -> None:
        super().__init__(context, replicas, context.world // replicas)
        self._torch = context.torch
        self.model: Any = None
        self.units: dict[str, list[str]] = {}
        self.chunks: dict[str, int] = {}
        for name in names:
            self.units.setdefault(unit_of(name), []).append(name)
        for unit, inside in self.units.items():
            self.chunks[unit] = -(-sum(names[name].numel() for name in inside) // self.shards)
        context.facts.update(replicas=replicas, shards=self.shards, elements_per_rank=sum(self.chunks.values()))

    def _flat(self) -> dict[str, Any]:
        found = {}
        for name, one in self.model.named_parameters():
            name = name.replace("_fsdp_wrapped_module.", "")
            found[_shown(name.rpartition(".")[0]) if name.endswith("flat_param") else name] = one
        return found

    def parameters(self) -> dict[str, Any]:
        return {name: one.detach().clone() for name, one in self._flat().items()}

    def gradients(self) -> dict[str, Any]:
        return {name: one.grad.detach().clone() for name, one in self._flat().items() if one.grad is not None}

    def part(self, full: Mapping[str, Any]) -> dict[str, Any]:
        found = {}
        for unit, names in self.units.items():
            flat = self._torch.cat([full[name].flatten() for name in names])
            size = self.chunks[unit]
            flat = self._torch.nn.functional.pad(flat, [0, size * self.shards - flat.numel()])
            found[_shown(unit)] = flat[self.index * size : (self.index + 1) * size]
        return found

    def owners(self, full: Mapping[str, Any]) -> dict[str, Any]:
        found = {}
        for unit, names in self.units.items():
            at = 0
            for name in names:
                count = full[name].numel()
                ranks = self._torch.arange(at, at + count) // self.chunks[unit] + self.first
                found[name] = ranks.view(full[name].shape)
                at += count
        return found


def _shown(unit: str) -> str:
    return f"flat parameter of {unit or 'the rest'}"


def _run(context: Context, strategy: str, *, replicas: int = 1, reshard: bool = True) -> None:
    """``reshard``: whether a block's parameters are given back between forward and backward."""
    from torch.distributed import fsdp
    from torch.distributed.fsdp import wrap

    context.need(hasattr(fsdp, "FullyShardedDataParallel"), "this torch has no FullyShardedDataParallel any more")
    context.need(hasattr(fsdp.ShardingStrategy, strategy), f"this torch has no {strategy}")
    model = context.build()
    probe, layout = Probe(model), FlatShards(context, dict(model.named_parameters()), replicas)
    context.mark("splitting the parameters")
    layout.model = wrapped = fsdp.FullyShardedDataParallel(
        model,
        process_group=_groups(context, replicas) if replicas > 1 else None,
        sharding_strategy=getattr(fsdp.ShardingStrategy, strategy),
        auto_wrap_policy=wrap.ModuleWrapPolicy({type(model.blocks[0])}),
        device_id=context.device,
    )

    def after_forward(step: int) -> None:
        for unit in probe.units:
            if unit and context.world > 1:
                held = _held(probe, unit)
                words = "still holds whole parameters after its forward" if held else "lost its parameters too early"
                _expect(context, step, 1, unit, held != reshard, words)

    def after_backward(step: int) -> None:
        for unit in probe.units:
            if context.world > 1:
                _expect(context, step, 3, unit or "model", not _held(probe, unit), "is still whole after the backward")

    optimizer = context.torch.optim.SGD(wrapped.parameters(), lr=0.1)
    train(
        context,
        steps_fp32(context),
        wrapped,
        probe,
        layout,
        optimizer,
        after_forward=after_forward,
        after_backward=after_backward,
    )


def _held(probe: Probe, unit: str) -> bool:
    """Whether the tensors that the unit's modules compute with have memory."""
    return any(getattr(*slot).untyped_storage().size() for slot in probe.units[unit].values())


def _expect(context: Context, step: int, turn: int, name: str, holds: bool, words: str) -> None:
    context.expect("value", name, holds, words, step=step, turn=turn, layer="framework")


def _groups(context: Context, replicas: int) -> Any:
    """(the ranks of this replica, the ranks that hold the same part)."""
    dist, size = context.torch.distributed, context.world // replicas

    def make() -> Any:
        within = [dist.new_group(list(range(first, first + size))) for first in range(0, context.world, size)]
        across = [dist.new_group(list(range(index, context.world, size))) for index in range(size)]
        return within[context.rank // size], across[context.rank % size]

    return context.cached(("groups of replicas", replicas), make)


def full_shard(context: Context) -> None:
    """Parameters are gathered for the forward of each block, given back, and gathered again for its backward."""
    _run(context, "FULL_SHARD")


def shard_grad_op(context: Context) -> None:
    """Parameters stay whole from the forward to the backward (ZeRO-2)."""
    _run(context, "SHARD_GRAD_OP", reshard=False)


def hybrid_shard(context: Context) -> None:
    """Two replicas, each split among half of the ranks."""
    # FSDP1 takes a replica of one rank for a world of one and then exchanges nothing at all.
    context.need(context.world % 2 == 0, "needs an even number of ranks: two replicas of two ranks or more")
    _run(context, "HYBRID_SHARD", replicas=2)


MODES = (
    Mode("fsdp1", "FSDP1: FULL_SHARD", full_shard, SHARDED),
    Mode("fsdp1-grad-op", "FSDP1: SHARD_GRAD_OP", shard_grad_op, SHARDED),
    Mode("fsdp1-hybrid", "FSDP1: HYBRID_SHARD", hybrid_shard, SHARDED, min_world=4),
)

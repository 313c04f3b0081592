"""Every collective and send of one training step of one rank, with its payload.

Payload in bytes: of an all-gather the gathered tensor, of a reduce-scatter the tensor before it, of an all-reduce, a
broadcast and a send the tensor, of an all-to-all what the rank gives, its own part included. What of it leaves the rank
is ``traffic``'s matter. Left out: scalars (losses, norms of gradients), set-up of the first step, and the number of
tokens that each expert gets where a framework sends them otherwise than torchtitan.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from rocdoctor.train.recommend.memory.tensors import Tensor, Unit, holders, units
from rocdoctor.train.recommend.model.spec import Work
from rocdoctor.train.recommend.speed.conventions import PERSISTENT, REUSED, forwards, gathers, passes, widths

Kind = Literal["all_gather", "reduce_scatter", "all_reduce", "broadcast", "all_to_all", "send"]
Group = Literal["dp", "shard", "expert_shard", "replicate", "tp", "ep", "cp", "pp", "embedding"]
Phase = Literal["forward", "backward", "step"]


@dataclass(frozen=True, slots=True)
class Transfer:
    """``times`` calls a step of ``payload`` bytes among ``ranks``; calls that are alike are one entry."""

    kind: Kind
    group: Group
    ranks: int
    payload: int
    times: int
    phase: Phase

    @property
    def total(self) -> int:
        """Bytes a step."""
        return self.payload * self.times


def transfers(work: Work, rank: int = 0) -> tuple[Transfer, ...]:
    """What a rank of pipeline place ``rank`` takes part in; groups of one rank and empty payloads are left out."""
    plan, own = work.parallel, units(work, rank)
    every = list(_states(work, own))
    if plan.tp > 1:
        every += _tensor(work, own, rank)
    if plan.ep > 1:
        every += _experts(work, own)
    if plan.cp > 1:
        every += _context(work, own)
    if plan.pp > 1:
        every += _pipeline(work, rank)
    return tuple(one for one in every if one.ranks > 1 and one.total)


def _states(work: Work, own: Sequence[Unit]) -> Iterator[Transfer]:
    """Weights and gradients over data (and context) parallel ranks."""
    plan = work.parallel
    for expert in (False, True):
        part = [
            Unit(one.name, tuple(t for t in one.tensors if t.expert == expert), one.count)
            for one in own
            if any(t.expert == expert for t in one.tensors)
        ]
        if not part:
            continue
        # Experts that are divided have fewer ranks with the same ones; torchtitan divides them among tensor ranks too.
        ranks = plan.expert_ranks(plan.dp * plan.cp) if expert else plan.dp * plan.cp
        shard = min(ranks, plan.expert_ranks(plan.shard) if expert else max(1, plan.shard))
        if plan.zero == 3 and shard > 1:
            yield from _sharded(work, part, shard, max(1, ranks // shard), expert)
        else:
            yield from _replicated(work, part, ranks, shard)


def _replicated(work: Work, part: Sequence[Unit], ranks: int, shard: int) -> Iterator[Transfer]:
    """Whole weights on every rank; the optimizer may be sharded."""
    plan, wide = work.parallel, widths(work)
    trained = sum(unit.count * t.count for unit in part for t in unit.tensors if t.trained)
    reduced, updated = trained * wide.gradient, trained * wide.weight
    if plan.zero == 0 or shard == 1:
        yield Transfer("all_reduce", "dp", ranks, reduced, 1, "backward")
    elif work.framework == "deepspeed":
        yield Transfer("all_reduce", "dp", ranks, reduced, work.microbatches if plan.zero == 2 else 1, "backward")
        yield Transfer("all_gather", "dp", ranks, updated, 1, "step")
    elif work.framework == "ddp":
        yield Transfer("all_reduce", "dp", ranks, reduced, 1, "backward")
        yield Transfer("broadcast", "dp", ranks, updated, 1, "step")
    else:
        yield Transfer("reduce_scatter", "dp", shard, reduced, 1, "backward")
        yield Transfer("all_reduce", "replicate", ranks // shard, reduced // shard, 1, "backward")
        yield Transfer("all_gather", "dp", shard, updated, 1, "step")


def _sharded(work: Work, part: Sequence[Unit], shard: int, copies: int, expert: bool) -> Iterator[Transfer]:
    """Weights gathered for each pass, gradients scattered, and summed over replicas."""
    wide, times = widths(work), passes(work)
    group: Group = "expert_shard" if expert and work.parallel.ep > 1 else "shard"
    if work.framework == "fsdp1":
        outer = tuple(one for unit in part if unit.name != "layer" for one in unit.tensors)
        part = [*(unit for unit in part if unit.name == "layer"), Unit("embedding", outer)]
    lasting, left = 0, REUSED * wide.weight if work.framework == "deepspeed" else 0
    for unit in reversed(part):
        tensors = unit.tensors
        if work.framework == "deepspeed":
            tensors = tuple(one for one in tensors if one.count >= PERSISTENT)
            lasting += unit.count * sum(_flat(one.count, shard) for one in unit.tensors if one.count < PERSISTENT)
        weights = unit.count * _gathered(work, tensors, shard)
        yield Transfer("all_gather", group, shard, weights, times, "forward")
        # What stays gathered is the end of the model.
        again = max(0, weights - left)
        left = max(0, left - weights)
        yield Transfer("all_gather", group, shard, again, times * (gathers(work, unit.name) - 1), "backward")
    yield Transfer("all_gather", group, shard, lasting * wide.weight, 1, "step")
    reduced = wide.gradient * _elements(work, part, shard)
    yield Transfer("reduce_scatter", group, shard, reduced, times, "backward")
    yield Transfer("all_reduce", "replicate", copies, reduced // shard, times, "backward")


def _elements(work: Work, part: Sequence[Unit], shard: int) -> int:
    return sum(unit.count * _padded(work, [one for one in unit.tensors if one.trained], shard) for unit in part)


def _gathered(work: Work, tensors: Sequence[Tensor], shard: int) -> int:
    """Bytes of gathered weights; frozen 4-bit ones travel packed, two in a byte."""
    wide = widths(work).weight
    if work.method != "qlora":
        return wide * _padded(work, tensors, shard)
    packed = [one for one in tensors if one.linear and not one.trained]
    others = [one for one in tensors if not (one.linear and not one.trained)]
    return wide * _padded(work, others, shard) + _padded(work, packed, shard) // 2


def _padded(work: Work, tensors: Sequence[Tensor], shard: int) -> int:
    """Elements that travel, with what each framework pads them with."""
    if work.framework == "fsdp1":
        end, aligned = 0, 16 // widths(work).weight
        for one in tensors:
            end = _flat(end, aligned) + one.count
        return _flat(end, shard)
    if work.framework != "fsdp2":
        return sum(_flat(one.count, shard) for one in tensors)
    found = 0
    for one in tensors:
        at = 1 if one.expert and shard * work.parallel.ep > work.model.experts else 0
        found += one.count // one.shape[at] * _flat(one.shape[at], shard)
    return found


def _flat(count: int, multiple: int) -> int:
    return -(-count // multiple) * multiple


def _layers(own: Sequence[Unit]) -> int:
    return sum(one.count for one in own if one.name == "layer")


def _routed(own: Sequence[Unit]) -> int:
    """Layers with experts."""
    return sum(one.count for one in own if any(t.expert for t in one.tensors))


def _activation(work: Work) -> int:
    """Bytes of the hidden states of one micro-batch on a rank, before tensor parallelism."""
    return int(work.tokens) * work.model.hidden * widths(work).activation


def _tensor(work: Work, own: Sequence[Unit], rank: int) -> Iterator[Transfer]:
    """Hidden states of one micro-batch before and after attention and feed-forward part, embedding, head and loss."""
    plan, m, size = work.parallel, work.microbatches, _activation(work)
    layers = _layers(own)
    first, last = holders(work)[0] == rank, holders(work)[-1] == rank
    repeated = forwards(work, layers)
    again = 2 * repeated
    # A compiled graph does not repeat the last product of a layer, nor what scatters it.
    scattered = again - repeated if work.compile and not work.model.experts else again
    if plan.sequence:
        # Megatron keeps a part of the input and gathers it again for the gradient of the weight.
        regather = 2 * layers + last if work.framework == "megatron" else 0
        # torchtitan's selective policy keeps what was scattered but gathers again.
        kept = 2 * layers if work.framework == "fsdp2" and work.recompute == "selective-op" else 0
        backward = 2 * layers + first + again + regather + kept
        yield Transfer("all_gather", "tp", plan.tp, size, m * (2 * layers + last), "forward")
        yield Transfer("reduce_scatter", "tp", plan.tp, size, m * (2 * layers + first), "forward")
        yield Transfer("all_gather", "tp", plan.tp, size, m * backward, "backward")
        yield Transfer("reduce_scatter", "tp", plan.tp, size, m * (2 * layers + last + scattered), "backward")
        yield from _norms(work, own)
    else:
        yield Transfer("all_reduce", "tp", plan.tp, size, m * (2 * layers + first), "forward")
        yield Transfer("all_reduce", "tp", plan.tp, size, m * (2 * layers + last + scattered), "backward")
    if last:
        # Loss over a divided vocabulary, in fp32: largest logit, sum of exponentials, logit of the target.
        yield Transfer("all_reduce", "tp", plan.tp, 3 * 4 * int(work.tokens), m, "forward")


def _norms(work: Work, own: Sequence[Unit]) -> Iterator[Transfer]:
    """Gradients of what every rank holds whole while each saw a part of the sequence."""
    count = sum(
        unit.count * one.count
        for unit in own
        if unit.name != "embedding"
        for one in unit.tensors
        if one.whole and one.trained
    )
    if work.framework == "megatron":
        yield Transfer("all_reduce", "tp", work.parallel.tp, 4 * count, 1, "step")
    else:
        # FSDP2 sums what it reduces later in the type of the reduction.
        summed = passes(work) < work.microbatches
        wide = widths(work).gradient if summed else widths(work).weight
        yield Transfer("all_reduce", "tp", work.parallel.tp, wide * count, passes(work), "backward")


def _experts(work: Work, own: Sequence[Unit]) -> Iterator[Transfer]:
    """Tokens to their experts and back, in both directions; each goes to ``top_k``."""
    plan, routed = work.parallel, _routed(own)
    again = forwards(work, _layers(own)) * routed // max(1, _layers(own))
    size = _activation(work) * work.model.top_k // (plan.tp if plan.sequence else 1)
    m = work.microbatches
    yield Transfer("all_to_all", "ep", plan.ep, size, m * 2 * routed, "forward")
    yield Transfer("all_to_all", "ep", plan.ep, size, m * 2 * (routed + again), "backward")
    if work.framework == "fsdp2":
        yield Transfer("all_to_all", "ep", plan.ep, 8 * work.model.experts, m * routed, "forward")
        yield Transfer("all_to_all", "ep", plan.ep, 8 * work.model.experts, m * again, "backward")


def _context(work: Work, own: Sequence[Unit]) -> Iterator[Transfer]:
    """Keys and values of the other ranks, and their gradients back.

    torch gathers keys and values at once, again in the backward pass, and sends fp32 gradients around the whole ring.
    Transformer Engine sends keys and values cp - 1 hops in both passes, and gradients as many.
    """
    plan, m, layers = work.parallel, work.microbatches, _layers(own)
    again = forwards(work, layers)
    count = int(work.tokens) * (work.model.k_width + work.model.v_width) // plan.tp
    size = count * widths(work).activation
    if work.framework == "fsdp2":
        yield Transfer("all_gather", "cp", plan.cp, plan.cp * size, m * layers, "forward")
        yield Transfer("all_gather", "cp", plan.cp, plan.cp * size, m * (layers + again), "backward")
        yield Transfer("send", "cp", plan.cp, 4 * count, m * layers * plan.cp, "backward")
        return
    hops = plan.cp - 1
    yield Transfer("send", "cp", plan.cp, size, m * layers * hops, "forward")
    yield Transfer("send", "cp", plan.cp, size, m * (2 * layers + again) * hops, "backward")


def _pipeline(work: Work, rank: int) -> Iterator[Transfer]:
    """Hidden states to the next stage and gradients to the one before, where another rank holds it."""
    plan, own, m = work.parallel, holders(work), work.microbatches
    size = _activation(work) // (plan.tp if plan.sequence else 1)
    mine = [stage for stage, holder in enumerate(own) if holder == rank]
    ahead = sum(stage + 1 < len(own) and own[stage + 1] != rank for stage in mine)
    behind = sum(stage > 0 and own[stage - 1] != rank for stage in mine)
    yield Transfer("send", "pp", plan.pp, size, m * ahead, "forward")
    yield Transfer("send", "pp", plan.pp, size, m * behind, "backward")
    if work.framework == "megatron" and work.model.tied and rank in {own[0], own[-1]} and own[0] != own[-1]:
        matrix = 4 * -(-work.model.vocab // plan.tp) * work.model.hidden
        yield Transfer("all_reduce", "embedding", 2, matrix, 1, "step")

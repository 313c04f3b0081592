"""Bytes that each kind of parallelism sends, and the time of it.

Ring collectives over n ranks move (n-1)/n of the data for an all-gather or a reduce-scatter and twice that for an
all-reduce. Data parallel: 2 x the gradients (ZeRO-3: weights gathered twice, gradients scattered once). Tensor
parallel: 4 all-reduces of s b h a layer, or as many pairs of all-gather and reduce-scatter. Expert parallel: 4
all-to-alls of top-k s b h a layer. Pipeline: s b h a boundary and direction. Context parallel: keys and values
around the ring.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rocdoctor.recommend.memory import Shares
from rocdoctor.recommend.spec import Work


@dataclass(frozen=True, slots=True)
class Volumes:
    """Bytes that one GPU sends a step: ``data`` once a step, the others summed over its micro-batches."""

    data: float
    sharded: float
    tensor: float
    expert: float
    context: float
    pipeline: float


def ring(count: int) -> float:
    """Share of the data that one rank sends in an all-gather or reduce-scatter over ``count`` ranks."""
    return (count - 1) / count if count > 1 else 0.0


def volumes(work: Work, part: Shares) -> Volumes:
    """Bytes of a step on one GPU."""
    model, plan = work.model, work.parallel
    m, tokens = work.microbatches, work.tokens
    stage = -(-model.layers // plan.pp)
    again = 1 if work.recompute == "full" else 0
    trained = part.total if work.method == "full" else 0.02 * part.total
    group = plan.dp * plan.cp
    wide = 2.0 if work.framework == "deepspeed" or work.pure_bf16 or work.framework == "fsdp1" else 4.0
    data = sharded = 0.0
    if plan.zero == 3 and plan.shard > 1:
        gathers = 1 if plan.keep_gathered else 2
        times = 1 if plan.keep_gathered and plan.pp > 1 else m
        sharded = ring(plan.shard) * part.total * (2.0 * gathers) * times + ring(plan.shard) * trained * wide * times
        copies = group // plan.shard
        data = 2 * ring(copies) * trained * wide / plan.shard
    elif plan.zero >= 1:
        data = ring(group) * (trained * wide + 2.0 * trained)
    else:
        data = 2 * ring(group) * trained * (4.0 if work.framework in {"ddp", "megatron"} else wide)
    activation = 2.0 * tokens * model.hidden
    # Two pairs of all-gather and reduce-scatter forward, two backward; recomputing repeats the forward ones.
    tensor = 2 * (4 + 2 * again) * ring(plan.tp) * activation * stage * m
    moe = sum(count for kind, count in model.kinds if kind == "moe") / model.layers * stage
    expert = (4 + 2 * again) * ring(plan.ep) * activation * model.top_k * moe * m / plan.tp
    keys = 2.0 * tokens * (model.k_width + model.v_width) / plan.tp
    context = (plan.cp - 1) * keys * (3 + again) * stage * m
    pipeline = 2 * activation * m * plan.chunks / plan.tp if plan.pp > 1 else 0.0
    return Volumes(data, sharded, tensor, expert, context, pipeline)


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds of a step that communication takes, and of it those that no computation hides."""

    total: float
    exposed: float


def _rate(work: Work, table: Mapping[str, Any], group: int, inner: int) -> float:
    """Bytes/s a GPU for a group of ``group`` ranks that are ``inner`` apart.

    A group inside a node uses its links. A larger one is a ring through every node: its rate is the network of all
    its ranks in a node together, at most the links.
    """
    gpu = work.gpu
    share = float(table["fabric"][gpu.fabric]["v"])
    local = gpu.local_link * share
    # One link of a full mesh cannot serve a small group alone.
    if gpu.fabric == "xgmi" and group * inner < gpu.node_gpus:
        local *= max(1, min(group, gpu.node_gpus) - 1) / (gpu.node_gpus - 1)
    if group * inner <= gpu.node_gpus or work.gpus <= gpu.node_gpus:
        return local
    members = max(1, gpu.node_gpus // inner)
    return min(local, members * gpu.nic * float(table["fabric"]["network"]["v"]))


def latency(work: Work, table: Mapping[str, Any]) -> float:
    """Seconds of a step in which rings of sharded states wait for their hops: n-1 of them a collective.

    One collective a layer and one for the rest gather and scatter; nothing hides it once many ranks take part.
    """
    plan = work.parallel
    if plan.zero < 3 or plan.shard == 1:
        return 0.0
    units = -(-work.model.layers // plan.pp) + 1
    passes = 1 if plan.keep_gathered and plan.pp > 1 else work.microbatches
    each = 2 if plan.keep_gathered else 3
    return each * units * passes * (plan.shard - 1) * float(table["hop_seconds"]["v"])


def times(work: Work, volume: Volumes, table: Mapping[str, Any], compute: float) -> Times:
    """Seconds of communication of a step; ``compute`` is the seconds that may hide it."""
    plan = work.parallel
    hidden = table["hidden"]
    across = plan.tp
    shard_rate = _rate(work, table, plan.shard, across)
    data_rate = _rate(work, table, plan.dp * plan.cp, across)
    states = volume.sharded / shard_rate + volume.data / data_rate
    tensor = volume.tensor / _rate(work, table, plan.tp, 1)
    expert = volume.expert / _rate(work, table, plan.ep, plan.tp)
    context = volume.context / _rate(work, table, plan.cp, plan.tp)
    step = min(work.gpu.nic * float(table["fabric"]["network"]["v"]), work.gpu.local_link)
    line = volume.pipeline / (step if work.gpus > work.gpu.node_gpus else work.gpu.local_link)
    share = "async_tensor" if plan.async_tp or work.framework == "megatron" else "tensor"
    waits = latency(work, table)
    exposed = max(states * (1 - float(hidden["states"]["v"])), states - compute) + waits
    exposed += tensor * (1 - float(hidden[share]["v"])) + expert + line * 0.5
    exposed += max(context * (1 - float(hidden["context"]["v"])), 0.0)
    return Times(states + waits + tensor + expert + context + line, exposed)

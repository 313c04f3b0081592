"""Seconds of communication of a step, from the bytes that each kind of parallelism sends.

What travels is listed in ``transfers`` by the rules of ``conventions``; ``traffic`` adds up what leaves a rank. Here it
meets the rates of links and network, and the share that computation hides.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rocdoctor.train.recommend.model.spec import Work
from rocdoctor.train.recommend.speed.traffic import busiest
from rocdoctor.train.recommend.speed.transfers import Group


@dataclass(frozen=True, slots=True)
class Volumes:
    """Bytes that one GPU sends a step.

    ``data``: gradients (and updated weights) of whole or replicated states; ``sharded``: gathers and reductions of
    states that are sharded to the weights.
    """

    data: float
    sharded: float
    tensor: float
    expert: float
    context: float
    pipeline: float


def volumes(work: Work) -> Volumes:
    """Bytes of a step on the busiest GPU."""
    found = busiest(work)

    def of(*groups: Group) -> float:
        return sum(found.get(one, 0.0) for one in groups)

    return Volumes(
        data=of("dp", "replicate", "embedding"),
        sharded=of("shard", "expert_shard"),
        tensor=of("tp"),
        expert=of("ep"),
        context=of("cp"),
        pipeline=of("pp"),
    )


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds of a step that communication takes, and of it those that no computation hides."""

    total: float
    exposed: float


def _rate(work: Work, table: Mapping[str, Any], group: int, inner: int) -> float:
    """Bytes/s a GPU for a group of ``group`` ranks that are ``inner`` apart.

    A group inside a node, or a rack that NVLink joins, uses its links. A larger one is a ring through every node: its
    rate is the network of all its ranks in a node together, at most the links.
    """
    gpu = work.gpu
    share = float(table["fabric"][gpu.fabric]["v"])
    local = gpu.local_link * share
    # One link of a full mesh cannot serve a small group alone.
    if gpu.mesh and group * inner < gpu.island:
        local *= max(1, min(group, gpu.island) - 1) / (gpu.island - 1)
    if min(group * inner, gpu.node_gpus) > gpu.island:
        local = min(local, gpu.host_link * float(table["fabric"]["pcie"]["v"]))
    if group * inner <= gpu.domain or work.gpus <= gpu.domain:
        return local
    members = max(1, gpu.domain // inner)
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

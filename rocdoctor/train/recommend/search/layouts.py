"""Which divisions of the work are tried on a fleet: each as the ``parallel`` field of a specification.

``level`` counts what must be set up beyond plain data parallelism; a plan has to earn each level by its speed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import log2
from typing import Any

from rocdoctor.train.recommend.model.layout import Framework
from rocdoctor.train.recommend.model.shapes import parameters
from rocdoctor.train.recommend.plan import Fleet, Workload

Layout = tuple[Mapping[str, Any], float]

# Sequences shorter than this a rank need no context parallelism: one GPU holds them.
_LONG = 8192
# What each doubling of a pipeline's stages takes: more ranks that wait for each other, and stages of so few layers that
# the head makes the last one uneven. Of plans as fast, recipes take the shallow one: tensor parallelism over 8 GPUs and
# eight stages for 405B (AMD-AGI/Primus examples/megatron/configs/MI300X/llama3.1_405B-BF16-pretrain.yaml, read
# 2026-11-29). How much it is is a choice, not measured.
_DEPTH = 0.25
# On more GPUs, the model is divided at most four times as far as its weights and gradients need, or by eight.
# What divides it further was never seen to be the best, and a small model with experts would have 50,000 plans.
_LARGE_FLEET, _FURTHER, _ALWAYS = 256, 4, 8


def _powers(limit: int) -> list[int]:
    """1, 2, 4 ... and ``limit`` itself."""
    sizes = [1 << n for n in range(limit.bit_length()) if 1 << n <= limit]
    return sizes if limit in sizes else [*sizes, limit]


def _tensor_sizes(fleet: Fleet, workload: Workload) -> list[int]:
    """Sizes that divide heads, widths and vocabulary, inside the fast island of a node."""
    model = workload.model
    parts = (model.heads, model.kv_heads, model.vocab, model.expert_ffn if model.experts else model.ffn)
    return [n for n in _powers(fleet.island) if fleet.per_node % n == 0 and not any(part % n for part in parts)]


def _context_sizes(fleet: Fleet, workload: Workload) -> list[int]:
    """Sizes with at least 8,192 tokens a rank; the ring splits the sequence into two halves a rank."""
    most = min(fleet.per_node, workload.seq // _LONG)
    return [n for n in _powers(max(1, most)) if workload.seq % (2 * n) == 0 or n == 1]


def _expert_sizes(workload: Workload, ranks: int) -> list[int]:
    experts = workload.model.experts
    return [n for n in _powers(ranks) if experts % n == 0 and ranks % n == 0] if experts else [1]


def _pipelines(fleet: Fleet, workload: Workload, framework: Framework) -> Iterator[tuple[dict[str, Any], float]]:
    """No pipeline, then stages by schedule.

    Stages have equal numbers of layers; Megatron-LM's last one may have fewer, since some models leave no other way
    (126 layers on a power of two of GPUs).
    """
    yield {}, 0.0
    layers = workload.model.layers
    # Stages of plain PyTorch are cut by hand and cannot share one matrix; Megatron-LM has both built in.
    more = 2.0 if framework == "fsdp2" else 0.0
    # Pipelines are for slow links. Inside one fast node nobody starts with one.
    more += 2.0 if fleet.nodes == 1 and fleet.fabric in ("xgmi", "nvlink") else 0.0
    if framework == "fsdp2" and workload.model.tied:
        return
    for stages in range(2, min(fleet.gpus, layers) + 1):
        if fleet.gpus % stages:  # seven nodes may be seven stages
            continue
        deep = more + _DEPTH * log2(stages / 2)
        if layers % stages:
            if framework == "megatron" and -(-layers // stages) * (stages - 1) < layers:
                yield {"pp": stages, "schedule": "1F1B"}, 2.5 + deep
            continue
        yield {"pp": stages, "schedule": "1F1B"}, 2.0 + deep
        if layers % (2 * stages) == 0:
            yield {"pp": stages, "schedule": "Interleaved1F1B", "vpp": 2}, 2.5 + deep
            if framework == "fsdp2":
                yield {"pp": stages, "schedule": "ZBVZeroBubble", "vpp": 2}, 3.0 + deep


def _most_parts(fleet: Fleet, workload: Workload) -> float:
    """Into how many parts the model is divided at most: 6 B a parameter (16-bit weights, fp32 gradients) would fill a
    part of half a GPU."""
    needed = 6.0 * parameters(workload.model) / (0.5 * fleet.gpu.usable_bytes)
    return max(_ALWAYS, _FURTHER * needed) if fleet.gpus > _LARGE_FLEET else float(fleet.gpus)


def _mixed(fleet: Fleet, workload: Workload, framework: Framework) -> Iterator[Layout]:
    """Tensor, pipeline, context and expert parallelism with data parallelism over what is left."""
    world, most = fleet.gpus, _most_parts(fleet, workload)
    for tp in _tensor_sizes(fleet, workload):
        for cp in _context_sizes(fleet, workload):
            for pipeline, level in _pipelines(fleet, workload, framework):
                taken = tp * cp * pipeline.get("pp", 1)
                if world % taken or taken // cp > most:
                    continue
                data = world // taken
                for ep in _expert_sizes(workload, data * cp):
                    sizes: dict[str, Any] = dict(pipeline)
                    # A plan for every module; Megatron-LM has it built in.
                    tensor = 0.0 if tp == 1 else 1.0 if framework == "megatron" else 2.0
                    # Tokens that cross the network to their experts need transports of their own (DeepEP): two
                    # things more, a choice, not measured.
                    far = 2.0 if ep * tp > fleet.gpu.domain else 0.0
                    level_here = level + tensor + (cp > 1) + (ep > 1) + far
                    sizes |= {key: n for key, n in (("tp", tp), ("cp", cp), ("ep", ep)) if n > 1}
                    if framework == "megatron":
                        yield sizes | {"dp": data, "dist_opt": True}, level_here + 1
                    else:
                        yield sizes | {"fsdp": data}, level_here + (0.5 if data * cp > 1 else 0)


def layouts(fleet: Fleet, workload: Workload, framework: Framework) -> Iterator[Layout]:
    """Every division that is tried for a framework, the plainest first."""
    world = fleet.gpus
    if framework == "ddp":
        yield {"dp": world}, 0.0
    elif framework == "deepspeed":
        # On one GPU nothing is divided: the stages differ only in what can move to main memory.
        stages = (2, 3) if world == 1 else (1, 2, 3)
        yield from (({"dp": world, "zero": stage}, 1.0 + 0.1 * stage) for stage in stages)
    elif framework == "megatron":
        yield from _mixed(fleet, workload, framework)
    elif framework in ("fsdp2", "fsdp1"):
        if fleet.nodes > 1 and fleet.per_node > 1:
            yield {"fsdp": fleet.per_node, "replicate": fleet.nodes}, 1.0
        if workload.method == "pretrain" and framework == "fsdp2":
            yield from _mixed(fleet, workload, framework)
        else:
            yield {"fsdp": world}, 0.5

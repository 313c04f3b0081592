"""What torch's caching allocator holds beyond what lives.

It hands out blocks of segments and joins free ones within a segment alone, so tensors of many sizes that come and go
leave gaps. Two figures: with how much a step still runs, since cached segments are given back before anything fails,
and what is held where there is room. They differ by the program: torchtitan starts with growing segments
(``PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`` of its run_train.sh), the Trainer and what builds on it do not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rocdoctor.train.recommend.model.spec import Work


def needed(work: Work, table: Mapping[str, Any]) -> float:
    """Of what comes and goes, the share with which a step runs; ``table`` is ``memory`` of the efficiency table."""
    shares = table["reserved_over_live"]
    named = work.framework if work.framework in shares else "eager"
    return float(shares["compiled" if work.compile else named]["v"])


def with_room(work: Work, table: Mapping[str, Any]) -> float:
    """The same as it is held where nothing is short: logits in two types, which come and go whole, leave the most."""
    least = needed(work, table)
    if work.growing or not work.transformers or work.compile or work.framework not in ("ddp", "fsdp1", "fsdp2"):
        return least
    kind = "whole_logits" if work.loss == "plain" else "no_logits"
    row = table["held_with_room"]["fsdp1" if work.framework == "fsdp1" else "trainer"]
    return max(least, float(row[kind]["v"]))


def left_by_head(work: Work) -> float:
    """Bytes of segments that DeepSpeed's head leaves when the backward pass of the layers begins.

    ZeRO-3 gathers its weights, has their gradient and reduces it at once, before the layers' own: pieces larger than
    those of a layer, and the allocator joins no segments unless they grow. A fused loss has had the gradient since the
    forward pass, beside one product and its fp32 copy.
    """
    if work.framework != "deepspeed" or work.parallel.zero < 3 or work.growing:
        return 0.0
    matrix = float(work.model.vocab * work.model.hidden) / work.parallel.tp
    return (8.0 if work.loss == "fused" and work.method == "full" else 4.0) * matrix


def merged_at_start(work: Work) -> float:
    """Bytes that Megatron-LM takes beside weights and gradients while it loads a checkpoint, and keeps in its cache.

    Gate and up projection are stored apart and joined in new tensors, those of all layers at once, before any is copied
    into the model (``apply_factory_merges`` of core/dist_checkpointing/mapping.py; core/transformer/utils.py joins them
    in main memory where the GPU has no room, d98e8a64d, read 2026-11-29). Moments in main memory leave this the most.
    """
    model, plan = work.model, work.parallel
    if work.framework != "megatron" or work.method != "full" or not model.gated or not plan.offload_optimizer:
        return 0.0
    stage = -(-model.layers // plan.pp) / model.layers
    counts = dict(model.kinds)
    dense = 2.0 * model.hidden * model.ffn * counts.get("dense", 0) / plan.tp
    each = 2.0 * model.hidden * model.expert_ffn * counts.get("moe", 0)
    return 2.0 * stage * (dense + each * (model.experts / (plan.ep * plan.cut) + model.shared_experts / plan.tp))


def idle_segments(work: Work) -> float:
    """Bytes that tensor parallelism of plain PyTorch leaves reserved when its layers are done.

    Every layer gathers its whole input and sums a whole output before that is divided again: two tensors, whose
    segments are too small for the logits that come next (the allocator splits segments and joins none). Overlapped
    with the products, both lie in symmetric memory, which the allocator does not hold: in the two runs of torchtitan
    that differ in this alone (70B, tp 8) they are 4.0 GiB, and 4.3 GiB were measured.
    """
    plan = work.parallel
    inside = work.framework == "fsdp2" and plan.tp > 1 and plan.sequence and not plan.async_tp
    return 4.0 * work.tokens * work.model.hidden if inside else 0.0

"""What the step of an optimizer allocates for its time."""

from __future__ import annotations

from rocdoctor.train.recommend.memory.shares import shares
from rocdoctor.train.recommend.model.spec import Work


def step_copy(work: Work, gradients: float) -> float:
    """Bytes that an optimizer step allocates for its time.

    torch's AdamW takes its foreach form unless it is told otherwise, which copies the roots of all second moments
    (``_multi_tensor_adam`` of torch 2.13). torchtitan, Megatron (through Transformer Engine or apex), DeepSpeed and
    transformers' Trainer take one fused kernel, which copies nothing; llm-foundry steps tensor by tensor. The Trainer's
    default was the foreach form until July 2025, and is with torch before 2.8 (huggingface/transformers pull request
    37358); runs of fms-acceleration in bf16 hold 10 B a parameter with it.
    """
    own = work.framework == "ddp" and not work.transformers
    return (
        gradients
        if (own or (work.foreach and work.framework in ("fsdp1", "fsdp2", "ddp")))
        and not work.parallel.offload_optimizer
        else 0.0
    )


def moments_copy(work: Work) -> float:
    """Bytes that a step of Transformer Engine 2.3 to 2.13 takes beyond ``step_copy``: moments that are not in fp32 are
    copied to it, all at once (``get_unscaled_state`` of pytorch/optimizers/fused_adam.py; from 2.14 on its kernel reads
    bf16, commit 459e7cf49, read 2026-11-29)."""
    if work.optimizer != "adam16bit":
        return 0.0
    part, plan = shares(work), work.parallel
    return 8.0 * (part.dense / plan.shard + part.expert / max(1, plan.shard // plan.ep))

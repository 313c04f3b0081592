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
    if work.framework == "deepspeed":
        return wide_gradients(work)
    own = work.framework == "ddp" and not work.transformers
    return (
        gradients
        if (own or (work.foreach and work.framework in ("fsdp1", "fsdp2", "ddp")))
        and not work.parallel.offload_optimizer
        else 0.0
    )


def wide_gradients(work: Work) -> float:
    """Bytes of DeepSpeed's 16-bit gradients in one piece and of their fp32 copy.

    Its step makes both of all that a rank owns, with ZeRO-3 of a billion parameters at a time (``step`` of
    runtime/zero/stage_1_and_2.py, ``_prepare_fp32_grad_for_sub_group`` of stage3.py with ``sub_group_size``, edaa72212,
    read 2026-11-29). An optimizer in main memory has its gradients there.
    """
    if work.method != "full" or work.precision == "fp32" or work.parallel.offload_optimizer:
        return 0.0
    count = owned(work)
    return 6.0 * (min(1e9, count) if work.parallel.zero == 3 else count)


def owned(work: Work) -> float:
    """Parameters that one rank's optimizer has."""
    part, plan = shares(work), work.parallel
    shard = plan.shard if plan.zero else 1
    return part.dense / shard + part.expert / plan.expert_ranks(shard)


def moments_copy(work: Work) -> float:
    """Bytes that a step of Transformer Engine 2.3 to 2.13 takes beyond ``step_copy``: moments that are not in fp32 are
    copied to it, all at once (``get_unscaled_state`` of pytorch/optimizers/fused_adam.py; from 2.14 on its kernel reads
    bf16, commit 459e7cf49, read 2026-11-29)."""
    if work.optimizer != "adam16bit":
        return 0.0
    part, plan = shares(work), work.parallel
    return 8.0 * (part.dense / plan.shard + part.expert / plan.expert_ranks(plan.shard))

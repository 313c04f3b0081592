"""What the ranks are told of a plan, and which plans they can run. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rocdoctor.train.recommend.memory import trace
from rocdoctor.train.recommend.model.spec import Work

_PROGRAMS = {"megatron": "Megatron-LM", "deepspeed": "DeepSpeed", "fsdp1": "FSDP1"}


def refusal(work: Work) -> str | None:
    """Why the ranks cannot run it with torch alone, as a sentence's end; None where they can."""
    model, plan = work.model, work.parallel
    if work.framework in _PROGRAMS:
        advice = "--framework ddp" if work.gpus == 1 else "--framework fsdp"
        whose = _PROGRAMS[work.framework]
        return f"{whose} keeps memory of its own, which torch alone does not show (recommend {advice} plans for torch)"
    split = next(
        (name for name, size in (("pipeline", plan.pp), ("context", plan.cp), ("expert", plan.ep)) if size > 1), None
    )
    if split is not None:
        return f"{split} parallelism is not tried"
    if work.framework == "ddp" and plan.zero > 1:
        return f"torch has no ZeRO {plan.zero} alongside DistributedDataParallel (FSDP2 is its own)"
    if plan.tp > 1:
        why = _not_over_tensors(work)
        if why is not None:
            return why
    if work.method == "qlora":
        return "4-bit weights need bitsandbytes"
    if work.method == "lora" and work.framework != "ddp":
        return "adapters are tried on one GPU and with DistributedDataParallel only"
    if work.optimizer == "adam8bit":
        return "8-bit Adam needs bitsandbytes or torchao"
    if work.step_in_backward:
        return "a step in the backward pass is not tried"
    if work.loss == "inplace":
        return "the in-place loss is llm-foundry's own"
    if work.precision == "fp16":
        return "fp16 needs a scaler, whose skipped steps would be measured as training"
    return trace.unlike_layers(model) or trace.unlike_memory(work)


def _not_over_tensors(work: Work) -> str | None:
    model, size = work.model, work.parallel.tp
    if work.framework != "fsdp2":
        return "tensor parallelism is tried with FSDP2 only"
    if work.method != "full" or work.loss == "fused" or model.qk_norm or model.tied or work.parallel.async_tp:
        return "tensor parallelism is tried for whole weights, plain loss, no norms of queries and no tied embedding"
    if model.kv_heads % size:
        return f"{model.kv_heads} key heads cannot be divided by {size}"
    return (
        "copies of a sharded group are not tried with tensor parallelism"
        if work.parallel.shard < (work.parallel.dp)
        else None
    )


def cut(work: Work, layers: int, vocab: int | None = None) -> Work:
    """The same with fewer layers, two micro-batches of several at most, and with a smaller vocabulary where given."""
    model = replace(work.model, layers=layers, vocab=vocab or work.model.vocab)
    if model.layers != work.model.layers or vocab:
        model = replace(model, given_parameters=None)
    again = None if work.recompute_layers is None else min(layers, work.recompute_layers * layers // work.model.layers)
    count = min(2, work.microbatches)
    return replace(work, model=model, microbatches=count, recompute_layers=again)


def order(work: Work, warm: int, steps: int) -> dict[str, Any]:
    """What a rank needs to know to run a plan; ``work`` has as many layers as are to be run."""
    plan = work.parallel
    return {
        **trace.request(work),
        "real": True,
        "layers": work.model.layers,
        "tp": plan.tp,
        "sequence": plan.sequence,
        "zero": plan.zero,
        "recompute_layers": work.recompute_layers,
        "count": work.microbatches,
        "optimizer": work.optimizer,
        "fused_step": work.framework == "fsdp2" or work.transformers,
        "compile": work.compile,
        "warm": warm,
        "steps": steps,
        **({"params": "bf16", "autocast": work.precision != "fp32", "mixed": False} if work.method == "lora" else {}),
    }

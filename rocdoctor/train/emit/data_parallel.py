"""What the formats of the Hugging Face world cannot express: they divide the data and shard states, nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from rocdoctor.train.recommend.model.layout import Framework
from rocdoctor.train.recommend.model.spec import Work

_RECOMPUTE = {
    "selective": "recompute of attention only is Megatron's",
    "selective-op": "recompute of single operations is torchtitan's",
}
_LOSS = {
    "inplace": "the in-place cross-entropy of llm-foundry",
    "compiled": "a cross-entropy compiled on its own",
}


def refusal(work: Work, name: str, frameworks: Sequence[Framework]) -> str | None:
    """Why a format that has data parallelism and sharding alone cannot express a configuration, or None.

    ``name`` is what the format is called in the sentence. Methods, optimizers, offload, precision and the sizes of
    sharding differ between the formats, so each adds its own limits.
    """
    sizes = work.parallel
    if work.framework not in frameworks:
        return f"the configuration follows {work.framework}; {name} can express {', '.join(frameworks)}"
    for key, value in (("tensor", sizes.tp), ("pipeline", sizes.pp), ("context", sizes.cp), ("expert", sizes.ep)):
        if value > 1:
            return f"{name} sets no {key} parallelism, and the configuration has {value} ranks of it"
    if sizes.dp != work.gpus:
        return f"{name} uses all {work.gpus} GPUs for data parallelism, not {sizes.dp}"
    if work.recompute in _RECOMPUTE:
        return f"{_RECOMPUTE[work.recompute]}; {name} has only whole layers"
    if work.recompute == "full" and work.recompute_layers is not None and work.recompute_layers < work.model.layers:
        return f"{name} recomputes all layers or none, not {work.recompute_layers} of {work.model.layers}"
    if work.loss in _LOSS:
        return f"{name} has no setting for {_LOSS[work.loss]}"
    if work.step_in_backward:
        return f"{name} steps after the backward pass, not in it; nearest: a script of your own with torchrun"
    if work.precision.startswith("fp8"):
        return f"{name} has no 8-bit recipe whose memory was estimated; nearest: bf16"
    if not work.transformers:
        return (
            f"{name} is for models of the transformers library, whose norms and loss need more memory than was "
            "estimated here; estimate with method full"
        )
    return None


def script_part(work: Work) -> list[str]:
    """What the training script must do for the estimate to hold, whatever launches it."""
    lines = [f"cut or pack the data into sequences of {work.seq} tokens: activations were estimated for that length"]
    if work.flash:
        lines.append(
            'load the model with attn_implementation="sdpa" (or a flash-attention package) and pack instead of '
            "padding: no attention scores are kept then"
        )
    if work.method != "full":
        four = " on a model loaded in 4 bits (NF4) with bitsandbytes" if work.method == "qlora" else ""
        lines.append(f"train LoRA adapters of rank {work.lora_rank} on every linear layer with peft{four}")
    return lines

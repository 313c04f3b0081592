"""Training all weights of the model with Adam needs more memory than the GPUs have, whatever the batch.

Why
  Each weight also needs its gradient and Adam's two values: 16 bytes per parameter in float32 or mixed precision, or 8
  if all of it is in a 16-bit format. The optimizer creates its values at its first step, so training may start and then
  fail there. With DDP each GPU holds all of it; only sharding (FSDP, ZeRO) splits it.

Fix
  Shard over more GPUs, offload the optimizer, train an adapter (LoRA), or use an optimizer with smaller states.

References
  https://huggingface.co/docs/transformers/v5.14.0/model_memory_anatomy
"""

from __future__ import annotations

from rocdoctor.insight.texts.model_training import training_too_large
from rocdoctor.insight.texts.own_trouble import trouble, when_trouble_is_told
from rocdoctor.insight.texts.pasted import gpu_words, said, shown
from rocdoctor.judging.check import Fix, Outcome, check, warning
from rocdoctor.model.facts import Machine
from rocdoctor.model.lazy_re import regex

_ENDING = regex(
    r"(?i)\b(?:dies|died|killed|crash\w*|ends?|ended|fails?|failed|stops?|aborts?|memory|OOM|OutOfMemory\w*)\b"
)
_LEAST = "weight and gradient, without what the optimizer keeps"
_OOM = ("out-of-memory", "out-of-memory-words")


@check(when_trouble_is_told(_ENDING, *_OOM), cause="out-of-memory")
def training_larger_than_gpu(machine: Machine) -> Outcome:
    large = training_too_large(machine)
    if large is None:
        return None
    have = f"{large.gpu_gib:.0f} GiB" if large.gpus == 1 else f"{large.gpus} x {large.gpu_gib:.0f} GiB"
    how, parts = (" with Adam", "weight, gradient and two values of the optimizer") if large.adam else ("", _LEAST)
    return warning(
        f"Training all {large.billions} billion parameters{how} in {large.format} needs at least "
        f"{large.needed_gib:.0f} GiB ({large.bytes_each} bytes each: {parts}), and {gpu_words(machine.gpus)} has "
        f"{have}.",
        evidence=(*shown(said(machine, "full-training-named"))[:1], *shown(trouble(machine, _ENDING, *_OOM))[:1]),
        fix=Fix(
            "Shard weights and states over more GPUs (FSDP, ZeRO-3), offload the optimizer to main memory, train an "
            "adapter (LoRA, QLoRA), or use an optimizer with smaller states (8 bit Adam, Adafactor)",
            command="rocdoctor recommend --model NAME",
            safety="manual",
        ),
        confidence="likely",
        explains=("out-of-memory-message",),
    )

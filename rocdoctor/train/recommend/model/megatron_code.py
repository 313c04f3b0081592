"""Which models the GPT of Megatron-LM computes: families whose layers differ from its own in more than sizes."""

from __future__ import annotations

import re

from rocdoctor.train.recommend.model.models import preset
from rocdoctor.train.recommend.model.shapes import Model

_OTHER_CODE = (
    ("gemma", "gates its feed-forward part with GELU"),
    ("pythia", "runs attention and feed-forward side by side"),
    ("gpt-oss", "attends to a sliding window in every second layer"),
    ("llama-4", "attends to pieces of 8192 tokens and has no positions in every fourth layer"),
    ("smollm3", "has no positions in every fourth layer"),
    ("mpt", "adds ALiBi biases to attention scores"),
)


def other_code(model: Model) -> str | None:
    """What a model does that Megatron's GPT does not, with the nearest that it does; None where it can compute it."""
    known = preset(model.name)
    name = str(known["id"]) if known else re.sub(r"[ _]", "-", model.name.lower())
    for family, what in _OTHER_CODE:
        if family in name or (family == "gpt-oss" and model.sinks) or model.family == family:
            return f"{model.name} {what}, which its GPT model does not; nearest: another model"
    if model.more_weights:
        return f"{model.name} has an indexer or linear attention, which its GPT model does not; nearest: another model"
    if model.norm == "layer" and not model.norm_bias:
        return f"its LayerNorm has biases, that of {model.name} has none; nearest: norm rms"
    if model.norm == "rms" and model.norm_bias:
        return f"its RMSNorm has no biases, that of {model.name} has; nearest: norm layer"
    return None

"""Which linear layers have adapters: the names that PEFT, torchtune, litgpt and axolotl give them."""

from __future__ import annotations

import re
from typing import Any

from rocdoctor.train.recommend.errors import SpecError

# Our names of a layer's linear parts, in the order of a forward pass.
PARTS = ("q", "k", "v", "o", "gate", "up", "down")
_NAMES: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"all([-_ ]?linear)?", PARTS),
    (r"(c_attn|w?qkv(_proj)?|query_key_value)", ("q", "k", "v")),
    (r"(attn|attention)", ("q", "k", "v", "o")),
    (r"(mlp|ffn)", ("gate", "up", "down")),
    (r"gate_up(_proj)?", ("gate", "up")),
    (r"(q(_proj)?|wq|query)", ("q",)),
    (r"(k(_proj)?|wk|key)", ("k",)),
    (r"(v(_proj)?|wv|value)", ("v",)),
    (r"(o(_proj)?|wo|output_proj|out_proj)", ("o",)),
    (r"(gate(_proj)?|w1)", ("gate",)),
    (r"(up(_proj)?|w3|fc1)", ("up",)),
    (r"(down(_proj)?|w2|fc2)", ("down",)),
)


def read_adapted(raw: Any) -> tuple[str, ...] | None:
    """The linear layers that ``lora_targets`` names, as a list or in words; None for all of them. Raises SpecError."""
    if raw is None:
        return None
    listed = raw if isinstance(raw, (list, tuple)) else re.split(r"[\s,;|]+", str(raw)[:400])
    found: set[str] = set()
    for one in listed:
        name = str(one).strip().lower()[:60]
        parts = next((parts for pattern, parts in _NAMES if re.fullmatch(pattern, name)), None)
        if parts is None:
            raise SpecError(f"lora_targets '{name}' is not a linear layer that is known; nearest: q_proj")
        found.update(parts)
    return None if found == set(PARTS) else tuple(one for one in PARTS if one in found)

"""What is to be trained, from what a user says."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, get_args

from rocdoctor.train.recommend.errors import SpecError
from rocdoctor.train.recommend.model.models import preset, read_model
from rocdoctor.train.recommend.plan import Goal, Method, Products, Workload

# Tokens of a sequence where none is given: fine-tuning data are answers and chats, pretraining data are packed.
_SEQUENCE: Mapping[Method, int] = {"pretrain": 4096, "full": 2048, "lora": 2048, "qlora": 2048}


def sizes_of(text: str) -> Mapping[str, Any] | None:
    """``layers=32,hidden=4096,...`` as the model field of a specification, or None for a text without ``=``."""
    if "=" not in text:
        return None
    sizes: dict[str, Any] = {}
    for part in text.split(","):
        key, equals, value = part.partition("=")
        if not equals or not key.strip() or not value.strip():
            raise SpecError(f"'{part[:40]}' is not a size of a model; sizes are written layers=32,hidden=4096")
        word = value.strip().lower()
        sizes[key.strip().lower()] = {"true": True, "false": False}.get(word, value.strip())
    unknown = [key for key in sizes if key not in _SIZES]
    if unknown:
        near = difflib.get_close_matches(unknown[0], _SIZES, n=1)
        hint = f"; did you mean '{near[0]}'?" if near else f"; sizes are {', '.join(_SIZES)}"
        raise SpecError(f"'{unknown[0][:40]}' is not a size of a model{hint}")
    return sizes


_SIZES = (
    "name",
    "layers",
    "hidden",
    "heads",
    "kv_heads",
    "head_dim",
    "ffn",
    "vocab",
    "gated",
    "tied",
    "bias",
    "attn_bias",
    "norm",
    "qk_norm",
    "experts",
    "top_k",
    "expert_ffn",
    "shared_experts",
    "dense_layers",
    "moe_every",
    "norms",
    "params",
)


def read_workload(
    model: Any,
    method: Method | None = None,
    seq: int | None = None,
    global_batch: int | None = None,
    goal: Goal = "speed",
    framework: str | None = None,
    lora_rank: int | None = None,
    products: Products = "16-bit",
) -> Workload:
    """The workload; ``model`` is a name, sizes as ``k=v,...``, or the content of a ``config.json``.

    Raises SpecError with the nearest name. What was chosen for the user is named in ``derived``.
    """
    derived: list[str] = []
    field: Any = model
    named: str | None = None
    if isinstance(model, str):
        field = sizes_of(model) or model
        named = model if isinstance(field, str) else None
    read = read_model(field, derived)
    known = preset(named) if named is not None else None
    if method is None:
        method = "pretrain"
        derived.append(
            "you gave no method, so this plans pretraining (all weights from the start); fine-tune with --method "
            "full, lora or qlora"
        )
    if method not in get_args(Method):
        raise SpecError(f"method '{method}' is not known; there are {', '.join(get_args(Method))}")
    if seq is None:
        seq = _SEQUENCE[method]
        derived.append(f"you gave no sequence length, so it is {seq} tokens; change it with --seq")
    if not 1 <= seq <= 100_000_000:
        raise SpecError(f"seq must be between 1 and 100000000, not {seq}")
    if global_batch is not None and not 1 <= global_batch <= 10_000_000:
        raise SpecError(f"global batch must be between 1 and 10000000 sequences, not {global_batch}")
    rank = lora_rank if lora_rank is not None else 16
    if not 1 <= rank <= 65_536:
        raise SpecError(f"LoRA rank must be between 1 and 65536, not {rank}")
    identifier = str(known["id"]) if known is not None else named
    return Workload(read, field, identifier, method, seq, global_batch, goal, framework, rank, tuple(derived), products)

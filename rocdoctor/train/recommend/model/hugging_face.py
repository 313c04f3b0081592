"""The fields of a Hugging Face ``config.json`` as those of a specification's model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rocdoctor.model.lazy_re import regex
from rocdoctor.train.recommend.errors import SpecError

# Names of their configurations for our fields, first match wins.
_NAMES = {
    "layers": ("num_hidden_layers", "n_layers", "n_layer", "num_layers"),
    "hidden": ("hidden_size", "d_model", "n_embd"),
    "heads": ("num_attention_heads", "n_heads", "n_head"),
    "kv_heads": ("num_key_value_heads", "num_kv_heads"),
    "head_dim": ("head_dim",),
    "ffn": ("intermediate_size", "n_inner", "ffn_dim"),
    "vocab": ("vocab_size",),
    "tied": ("tie_word_embeddings",),
    "attn_bias": ("attention_bias",),
    "experts": ("num_local_experts", "num_experts", "n_routed_experts"),
    "top_k": ("num_experts_per_tok", "moe_top_k"),
    "expert_ffn": ("moe_intermediate_size",),
    "shared_experts": ("n_shared_experts",),
    "dense_layers": ("first_k_dense_replace",),
    "moe_every": ("decoder_sparse_step", "interleave_moe_layer_step"),
    "positions": ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length"),
}
# What else is read of a configuration, here and where sizes are completed.
_FIELDS = frozenset(key for name, keys in _NAMES.items() for key in (name, *keys)) | {
    "name",
    "preset",
    "params",
    "params_b",
    "family",
    "gated",
    "bias",
    "norm",
    "norm_bias",
    "norms",
    "more_weights",
    "attending",
    "qk_norm",
    "router_bias",
    "sinks",
    "mla",
    "model_type",
    "text_config",
    "use_qk_norm",
    "intermediate_size_mlp",
    "shared_expert_intermediate_size",
    "kv_lora_rank",
    "q_lora_rank",
    "qk_nope_head_dim",
    "qk_rope_head_dim",
    "v_head_dim",
    "index_n_heads",
    "index_head_dim",
    "indexer_types",
    "rope_scaling",
    "rope_parameters",
    "alibi",
    "layer_types",
    "full_attention_interval",
    "linear_num_key_heads",
    "linear_num_value_heads",
    "linear_key_head_dim",
    "linear_value_head_dim",
    "linear_conv_kernel_dim",
}
_UNGATED = {"gpt2", "gpt_neox", "gptj", "mpt", "falcon", "opt", "bloom", "starcoder2", "phi"}
_QK = {"qk_norm": True}
# What a configuration of a type does not say: what its code always does, and the values of its class for keys that may
# be left out (transformers 5.23.0, models/*/configuration_*.py and modeling_*.py, read 2026-11-24).
_ALWAYS: Mapping[str, Mapping[str, Any]] = {
    "qwen2": {"attn_bias": True},
    "qwen2_moe": {"attn_bias": True},
    "qwen3": _QK,
    "qwen3_moe": _QK,
    "gpt_oss": {"bias": True, "sinks": True},
    "deepseek_v3": {"router_bias": True},
    "deepseek_v32": {"router_bias": True},
    "glm_moe_dsa": {"router_bias": True},
    "kimi_k2": {"router_bias": True},
    "qwen3_next": _QK,
    "qwen3_5_text": _QK,
    "qwen3_5_moe_text": _QK,
    "glm4_moe": {"router_bias": True},
    "llama4_text": {"shared_experts": 1},
    "gemma2": {"norms": 4},
    "gemma3_text": {"norms": 4, "qk_norm": True},
}
_LEFT_OUT: Mapping[str, Mapping[str, Any]] = {
    "gemma": {"tied": True, "head_dim": 256},
    "gemma2": {"tied": True, "heads": 8, "kv_heads": 4, "head_dim": 256, "vocab": 256_000},
    "gemma3_text": {"tied": True, "heads": 8, "kv_heads": 4, "head_dim": 256, "vocab": 262_208},
    "llama4_text": {"heads": 40, "kv_heads": 8, "head_dim": 128, "vocab": 202_048, "experts": 16, "top_k": 1},
}
# Types whose layers are those that are counted here.
_COUNTED = (
    _UNGATED
    | set(_ALWAYS)
    | {
        "llama",
        "mistral",
        "ministral3",
        "mixtral",
        "gemma",
        "deepseek_v2",
        "phi3",
        "granite",
        "olmo",
        "olmo2",
        "stablelm",
        "smollm3",
        "internlm2",
        "yi",
        "baichuan",
    }
)
# Types that are no decoders of attention and feed-forward layers.
_OTHER = regex(
    r"mamba|rwkv|jamba|bamba|zamba|recurrent_gemma|hyena|bert|electra|(?:^|[_-])[a-z]?[mu]?t5|^m?bart$|pegasus|marian|"
    r"whisper|wav2vec|^vit|^clip|^dino|^swin|^blenderbot|^led$|^longformer|^big_?bird"
)


def fields_of(raw: Mapping[str, Any]) -> dict[str, Any]:
    """What plans are made from of a configuration, or of sizes by our names; not what else stands in that file."""
    found = {key: value for key, value in raw.items() if key in _FIELDS}
    inner = found.pop("text_config", None)
    return {**found, "text_config": fields_of(inner)} if isinstance(inner, Mapping) else found


def _kind(raw: Mapping[str, Any]) -> str:
    """The type of the decoder: that of the text part where a model has several."""
    inner = raw.get("text_config")
    own = inner.get("model_type") if isinstance(inner, Mapping) else None
    kind = str(own or raw.get("model_type") or "")[:60]
    return {"gemma3": "gemma3_text", "llama4": "llama4_text"}.get(kind, kind)


# Kinds of rotary scaling whose factor max_position_embeddings already has.
_SCALED = frozenset({"su", "longrope", "llama3", "default", "proportional"})


def _positions(source: Mapping[str, Any], kind: str) -> int | None:
    """Tokens of a sequence that a model was made for, with its rotary scaling; None where no sound value says it.

    As serving reads them (vllm-project/vllm, ``_get_and_verify_max_len`` of vllm/config.py, read 2026-11-28). The
    biases of ALiBi have no last position.
    """
    plain = next((one for key in _NAMES["positions"] if (one := _count(source, key))), 0)
    if kind in {"bloom", "mpt"} or source.get("alibi"):
        return None
    found = max(plain, _scaled(source, plain))
    return found if 0 < found <= 10**8 else None


def _scaled(source: Mapping[str, Any], plain: int) -> int:
    """Positions that rotary scaling stretches the model to; 0 where there is none, or ``plain`` has it."""
    scaling = source.get("rope_scaling") or source.get("rope_parameters")
    if not isinstance(scaling, Mapping):
        return 0
    kind, factor = str(scaling.get("rope_type") or scaling.get("type") or "default"), scaling.get("factor")
    if kind in _SCALED or not isinstance(factor, (int, float)) or not 1 <= factor <= 10_000:
        return 0
    # YaRN stretches what the model had before, which is ``plain`` where nothing else says it.
    before = _count(scaling, "original_max_position_embeddings") if kind == "yarn" else 0
    return round((before or plain) * factor)


def from_hugging_face(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields that a configuration has, or that follow from its type."""
    inner = raw.get("text_config")
    source: Mapping[str, Any] = {**raw, **inner} if isinstance(inner, Mapping) else raw
    out: dict[str, Any] = {
        field: value
        for field, keys in _NAMES.items()
        if (value := next((source[key] for key in keys if source.get(key) is not None), None)) is not None
    }
    kind = _kind(raw)
    out.pop("positions", None)
    if (positions := _positions(source, kind)) is not None:
        out["positions"] = positions
    out["name"] = raw.get("name") or raw.get("_name_or_path") or str(source.get("model_type") or "") or "config.json"
    out["gated"] = kind not in _UNGATED
    if kind in _UNGATED:
        out |= {"norm": "layer"}
    if kind == "mpt":
        out |= {"family": "mpt", "tied": source.get("tie_word_embeddings", True)}
    out = {**_LEFT_OUT.get(kind, {}), **out, **_ALWAYS.get(kind, {})}
    if kind == "glm4_moe":
        out["qk_norm"] = bool(source.get("use_qk_norm"))
    if kind == "llama4_text":
        # Their width of an expert is what others call that of the dense layers.
        out |= {"expert_ffn": out.get("ffn"), "ffn": source.get("intermediate_size_mlp") or out.get("ffn")}
    if out.get("experts") and "expert_ffn" not in out:
        out["expert_ffn"] = out.get("ffn")
    shared, each = source.get("shared_expert_intermediate_size"), source.get("moe_intermediate_size")
    if isinstance(shared, int) and isinstance(each, int) and shared > 0 < each:
        out["shared_experts"] = -(-shared // each)  # one wide shared expert (qwen2_moe)
    if source.get("kv_lora_rank"):
        out["mla"] = {
            "q_rank": source.get("q_lora_rank") or 0,
            "kv_rank": source["kv_lora_rank"],
            "nope": source.get("qk_nope_head_dim"),
            "rope": source.get("qk_rope_head_dim"),
            "v": source.get("v_head_dim"),
        }
        out.pop("head_dim", None)
    if source.get("linear_num_value_heads") and source.get("linear_num_key_heads"):
        out |= _linear(source, out)
    elif source.get("index_n_heads") and source.get("index_head_dim") and source.get("q_lora_rank"):
        out["more_weights"] = _indexer(source)
    return out


def _count(source: Mapping[str, Any], key: str, usual: int = 0) -> int:
    value: object = source.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**9 else usual


def _full_layers(source: Mapping[str, Any], layers: int) -> int:
    """Layers that attend to all tokens; the others have linear attention."""
    kinds = source.get("layer_types")
    if isinstance(kinds, list):
        return sum(one == "full_attention" for one in kinds[:layers])
    return layers // max(1, _count(source, "full_attention_interval", 4))


def _linear(source: Mapping[str, Any], out: Mapping[str, Any]) -> dict[str, Any]:
    """Gated delta rule in most layers, gated attention in the others: weights beyond those of plain attention
    (transformers 5.23.0, models/qwen3_next/modeling_qwen3_next.py, read 2026-11-28)."""
    layers, hidden = _count(out, "layers"), _count(out, "hidden")
    heads, width = _count(out, "heads"), _count(out, "head_dim")
    if not (layers and hidden and heads and width):
        return {}
    keys = _count(source, "linear_num_key_heads") * _count(source, "linear_key_head_dim", 128)
    of_values, value_heads = _count(source, "linear_value_head_dim", 128), _count(source, "linear_num_value_heads")
    values = value_heads * of_values
    kernel = _count(source, "linear_conv_kernel_dim", 4)
    projections = hidden * (2 * keys + 2 * values + 2 * value_heads) + values * hidden
    small = kernel * (2 * keys + values) + 2 * value_heads + of_values
    plain = hidden * width * (2 * heads + 2 * (_count(out, "kv_heads") or heads)) + 2 * width
    full = _full_layers(source, layers)
    more = (layers - full) * (projections + small - plain) + full * hidden * heads * width
    # The shared expert has a gate of its own.
    more += layers * hidden if _count(source, "shared_expert_intermediate_size") else 0
    return {"more_weights": max(0, round(more / layers)), "attending": full / layers or None}


def _indexer(source: Mapping[str, Any]) -> int:
    """Weights of a layer's indexer, which chooses the tokens that sparse attention sees (transformers 5.23.0,
    models/deepseek_v32/modeling_deepseek_v32.py, read 2026-11-28). On average where layers share one."""
    heads, width = _count(source, "index_n_heads"), _count(source, "index_head_dim")
    hidden = _count(source, "hidden_size")
    one = _count(source, "q_lora_rank") * heads * width + hidden * (width + heads) + 2 * width
    kinds = source.get("indexer_types")
    if isinstance(kinds, list) and kinds:
        return round(one * kinds.count("full") / len(kinds))
    return one


def known_kind(raw: Mapping[str, Any], why: list[str]) -> None:
    """Whether a configuration is of a kind that is counted here; raises SpecError where it surely is none."""
    kind = _kind(raw)
    if _OTHER.search(kind.lower()):
        raise SpecError(
            f"model_type '{kind}' is not a decoder of attention and feed-forward layers, which plans are for"
        )
    if kind and kind not in _COUNTED:
        why.append(f"model_type '{kind}' is not known: its layers are counted as those of a Llama")

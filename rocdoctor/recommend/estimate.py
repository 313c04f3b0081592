"""Memory and speed of one training configuration by closed forms: a first version for dense decoder models.

Every term names its formula in ``why``. It is meant to be wrong on the safe side: ``high`` is what must fit for "yes".
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

GIB = float(2**30)


class SpecError(ValueError):
    """An impossible or unreadable configuration; the message says which field."""


@dataclass(frozen=True, slots=True)
class Model:
    """A decoder; ``parameters`` is the whole model's count."""

    layers: int
    hidden: int
    heads: int
    ffn: int
    vocabulary: int
    kv_heads: int
    parameters: float


def _whole(value: Any, name: str, default: int | None = None) -> int:
    if value is None and default is not None:
        return default
    try:
        number = int(value) if isinstance(value, float) and value.is_integer() else int(str(value))
    except (TypeError, ValueError):
        raise SpecError(f"{name} is missing or not a whole number: {value!r}") from None
    if number < 1:
        raise SpecError(f"{name} must be at least 1, not {number}")
    return number


def read_model(raw: Mapping[str, Any]) -> Model:
    """The model of a specification; sizes that are not given follow common ratios."""
    layers, hidden = _whole(raw.get("layers"), "model.layers"), _whole(raw.get("hidden"), "model.hidden")
    heads = _whole(raw.get("heads"), "model.heads", max(1, hidden // 128))
    ffn = _whole(raw.get("ffn"), "model.ffn", 4 * hidden)
    vocabulary = _whole(raw.get("vocab"), "model.vocab", 50_304)
    kv_heads = _whole(raw.get("kv_heads"), "model.kv_heads", heads)
    given = raw.get("params") or raw.get("params_b")
    if isinstance(given, int | float) and given > 0:
        parameters = float(given) * (1e9 if given < 1e6 else 1.0)
    else:
        gated = 3 if raw.get("ffn") and _whole(raw.get("ffn"), "model.ffn") < 4 * hidden else 2
        attention = hidden * hidden * (2 + 2 * kv_heads / heads)
        parameters = layers * (attention + gated * hidden * ffn) + vocabulary * hidden * 2
    return Model(layers, hidden, heads, ffn, vocabulary, kv_heads, parameters)


def _parallel(raw: Mapping[str, Any], gpus: int) -> dict[str, int]:
    sizes = {key: _whole(raw.get(key), f"parallel.{key}", 1) for key in ("tp", "pp", "cp", "ep")}
    shards = sizes["tp"] * sizes["pp"] * sizes["cp"]
    if gpus % shards:
        raise SpecError(f"tp x pp x cp = {shards} does not divide the {gpus} GPUs")
    sizes["dp"] = gpus // shards
    zero = raw.get("zero")
    sizes["zero"] = int(zero) if isinstance(zero, int) else 3 if raw.get("fsdp") or raw.get("shard") else 0
    return sizes


def estimate(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The answer of ``rocdoctor.estimate/1`` for one specification; raises SpecError."""
    if not isinstance(spec, Mapping) or not isinstance(spec.get("model"), Mapping):
        raise SpecError("no 'model' with layers and hidden in it")
    model = read_model(spec["model"])
    gpus = _whole(spec.get("gpus"), "gpus", 1)
    seq = _whole(spec.get("seq"), "seq")
    batch = _whole(spec.get("micro_batch") or spec.get("local_batch"), "micro_batch", 1)
    sizes = _parallel(spec.get("parallel") or {}, gpus)
    if model.heads % sizes["tp"]:
        raise SpecError(f"tp {sizes['tp']} does not divide the {model.heads} attention heads")
    why = [
        f"{model.parameters / 1e9:.2f} B parameters on {gpus} GPUs: {', '.join(f'{k} {v}' for k, v in sizes.items())}"
    ]
    shard = model.parameters / (sizes["tp"] * sizes["pp"])
    dp = sizes["dp"]
    # Mixed-precision Adam: 2 B weights, 2 B gradients (4 with fp32 reduction), 12 B master copy and moments.
    divide = {0: (1, 1, 1), 1: (1, 1, dp), 2: (1, dp, dp), 3: (dp, dp, dp)}.get(sizes["zero"], (1, 1, 1))
    states = shard * (2 / divide[0] + 4 / divide[1] + 12 / divide[2])
    why.append("states: 2 B weights + 4 B gradients + 12 B Adam a parameter, each over its shards (ZeRO, Megatron)")
    tokens = seq * batch / sizes["cp"]
    recompute = str(spec.get("recompute") or "none").lower()
    per_token = {"full": 4.0, "selective": 34.0, "none": 60.0}.get(recompute, 34.0)
    activations = per_token * tokens * model.hidden * model.layers / sizes["tp"] / sizes["pp"] * min(sizes["pp"], 4)
    why.append(f"activations: {per_token:g} B x tokens x hidden x layers, recompute {recompute}")
    logits = 8.0 * tokens * model.vocabulary / sizes["tp"]
    live = states + activations + logits
    reserved = live * 1.15 + 1.5 * GIB
    low, high = live * 0.9, reserved * 1.15
    memory = spec.get("gpu") or {}
    usable = float(memory.get("memory_gib") or memory.get("vram_gib") or memory.get("mem_gib") or 80) * GIB * 0.97
    fits = "yes" if high <= 0.92 * usable else "no" if low > 0.92 * usable else "tight"
    speed, mfu = _speed(model, spec, seq)
    why.append("speed: 6 N + 12 L h s FLOP a token at an assumed 38 % of the peak (published FSDP tables: 29 to 60 %)")
    return {
        "schema": "rocdoctor.estimate/1", "fits": fits,
        "memory_gib": {
            key: round(value / GIB, 2) for key, value in (
                ("states", states), ("activations", activations), ("logits", logits), ("live_peak", live),
                ("reserved", reserved), ("low", low), ("high", high),
            )
        },
        "tokens_per_s_per_gpu": round(speed, 1), "mfu": mfu, "bound_by": "compute", "why": why,
    }  # fmt: skip


def _speed(model: Model, spec: Mapping[str, Any], seq: int) -> tuple[float, float]:
    gpu = spec.get("gpu") or {}
    peak = float(gpu.get("peak_tflops") or gpu.get("bf16_tflops") or 0) * 1e12
    if not peak:
        peak = _listed_peak(str(gpu.get("name") or ""))
    flops = 6 * model.parameters + 12 * model.layers * model.hidden * seq
    mfu = 0.38
    return (peak * mfu / flops if math.isfinite(peak) else 0.0), mfu


def _listed_peak(name: str) -> float:
    from rocdoctor.knowledge.tables import profiles_by_name

    figures = [
        figure.values[0]
        for profile in profiles_by_name(name.replace("-", " "))
        for kind in ("bf16_matrix", "fp16_matrix", "bf16", "fp16")
        if (figure := (profile.tflops or {}).get(kind)) is not None and figure.values
    ]
    return max(figures, default=0.0) * 1e12

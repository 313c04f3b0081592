"""The model of a specification: a preset, the sizes given, or a Hugging Face ``config.json``."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from functools import cache
from itertools import product
from typing import Any

from rocdoctor.knowledge.load import profiles_folder, read_table
from rocdoctor.train.recommend.errors import SpecError, amount, flag, table, whole
from rocdoctor.train.recommend.model.hugging_face import from_hugging_face, known_kind
from rocdoctor.train.recommend.model.shapes import Latent, Model, counted_parameters

_VOCABULARIES = (32_000, 50_304, 50_368, 100_352, 128_256, 151_936)


@cache
def presets() -> Mapping[str, Mapping[str, Any]]:
    """The public models by id."""
    rows = read_table(profiles_folder() / "models.yaml")["models"]
    return {row["id"]: row for row in rows}


def _key(name: str) -> str:
    last = name.lower().replace("\\", "/").rsplit("/", 1)[-1]
    last = re.sub(r"\(.*?\)|\b(?:meta|hf|base|instruct|chat|it|pt)\b|-?v0\.[0-9]\b", "", last.replace("_", "-"))
    return re.sub(r"[^a-z0-9]", "", last)


@cache
def _by_key() -> Mapping[str, str]:
    return {_key(name): row["id"] for row in presets().values() for name in (row["id"], *row.get("aliases", ()))}


def preset(name: str) -> Mapping[str, Any] | None:
    """The preset that a name means (``meta-llama/Llama-3.1-8B-Instruct``, ``llama3.1_8B``), or None."""
    found = _by_key().get(_key(name[:200]))
    return presets()[found] if found else None


# Names of models that no plan is for: they make or read images and video.
_PICTURES = re.compile(
    r"(?:^|[/_-])(?:flux|sdxl|stable-?diffusion|wan2?|hunyuan-?video|vit|dinov\d|siglip|clip)(?![a-z])"
)


def _unknown(name: str) -> SpecError:
    if _PICTURES.search(name.lower()):
        return SpecError(f"model '{name[:60]}' makes or reads images; plans are for decoders of text")
    near = difflib.get_close_matches(_key(name), list(_by_key()), n=3, cutoff=0.5)
    ids = list(dict.fromkeys(_by_key()[one] for one in near))
    hint = f"; nearest: {', '.join(ids)}" if ids else f"; known are {', '.join(list(presets())[:6])} and others"
    return SpecError(f"model '{name[:60]}' is not known, and its sizes (layers and hidden) are not given{hint}")


def _latent(raw: Mapping[str, Any]) -> Latent | None:
    given = table(raw, "mla")
    if not given:
        return None
    sizes = {key: whole(given, key, f"model.mla.{key}", low=0) for key in ("q_rank", "kv_rank", "nope", "rope", "v")}
    missing = [key for key, value in sizes.items() if value is None]
    if missing:
        raise SpecError(f"model.mla lacks {', '.join(missing)}")
    return Latent(**{key: value or 0 for key, value in sizes.items()})


def read_model(raw: Any, why: list[str]) -> Model:
    """The model of ``model:``; sizes that are missing come from a preset of that name or are derived, and named."""
    if isinstance(raw, str):
        raw = {"name": raw}
    if not isinstance(raw, Mapping) or not raw:
        raise SpecError("no 'model': a name of a known model, its sizes, or a Hugging Face config.json")
    given = {key: value for key, value in raw.items() if value is not None}
    if "num_hidden_layers" in given or "n_layers" in given or "n_layer" in given or "text_config" in given:
        known_kind(given, why)
        given = {**from_hugging_face(given), **{k: v for k, v in given.items() if k in {"params", "name"}}}
    name = str(given.get("name") or given.get("preset") or "model")[:200]
    known = preset(name)
    if known is not None and all(given.get(key) in (None, known.get(key)) for key in ("hidden", "heads")):
        added = [key for key in known if key not in given and key not in {"id", "s", "aliases", "family"}]
        if "layers" in given and added:
            why.append(f"model: {', '.join(sorted(added)[:6])} taken from the preset {known['id']}")
        listed = {key: value for key, value in known.items() if key not in {"id", "s", "aliases"}}
        given = {"gated": True, "tied": False, **listed, **given}
    if given.get("layers") is None or given.get("hidden") is None:
        raise _unknown(name)
    return _complete(given, name, why)


def _complete(given: Mapping[str, Any], name: str, why: list[str]) -> Model:
    layers, hidden = whole(given, "layers", "model.layers", high=10_000), whole(given, "hidden", "model.hidden")
    if layers is None or hidden is None:
        raise _unknown(name)
    head_dim = whole(given, "head_dim", "model.head_dim", high=65_536)
    heads = whole(given, "heads", "model.heads")
    if heads is None:
        width = head_dim or next((one for one in (128, 64) if hidden % one == 0), hidden)
        heads = max(1, hidden // width)
        why.append(f"model.heads not given: {heads}, of width {hidden // heads}")
    latent = _latent(given)
    if head_dim is None:
        if hidden % heads and latent is None:
            raise SpecError(f"model.heads {heads} does not divide hidden {hidden}; give model.head_dim")
        head_dim = max(1, hidden // heads)
    kv_heads = whole(given, "kv_heads", "model.kv_heads") or heads
    if heads % kv_heads:
        raise SpecError(f"model.kv_heads {kv_heads} does not divide the {heads} attention heads")
    experts = whole(given, "experts", "model.experts", low=0, high=100_000) or 0
    ffn, vocab = whole(given, "ffn", "model.ffn", high=100_000_000), whole(given, "vocab", "model.vocab")
    expert_ffn = whole(given, "expert_ffn", "model.expert_ffn", high=100_000_000) or ffn or 4 * hidden
    top_k = whole(given, "top_k", "model.top_k", high=100_000) or min(2, max(1, experts))
    if experts and top_k > experts:
        raise SpecError(f"model.top_k {top_k} is more than the {experts} experts; nearest: {experts}")
    parameters = amount(given, "params", "model.params") or amount(given, "params_b", "model.params_b")
    if parameters is not None and parameters < 1e6:
        parameters *= 1e9  # printed in billions
    norm = "layer" if str(given.get("norm") or "rms")[:8] == "layer" else "rms"
    norm_bias, bias = flag(given, "norm_bias", "model.norm_bias"), flag(given, "bias", "model.bias")
    family = str(given.get("family") or "")[:40]
    layer_norm = norm == "layer"

    def build(gated: bool, tied: bool, ffn: int, vocab: int) -> Model:
        return Model(
            name,
            layers,
            hidden,
            heads,
            kv_heads,
            head_dim,
            ffn,
            vocab,
            gated,
            tied,
            bias if bias is not None else family == "mpt" and norm_bias is not False,
            flag(given, "attn_bias", "model.attn_bias") or False,
            "layer" if layer_norm else "rms",
            norm_bias if norm_bias is not None else layer_norm,
            flag(given, "qk_norm", "model.qk_norm") or False,
            experts,
            top_k if experts else 0,
            expert_ffn if experts else 0,
            whole(given, "shared_experts", "model.shared_experts", low=0) or 0,
            whole(given, "dense_layers", "model.dense_layers", low=0) or 0,
            flag(given, "router_bias", "model.router_bias") or False,
            flag(given, "sinks", "model.sinks") or False,
            latent,
            family,
            parameters,
            whole(given, "norms", "model.norms", high=8) or 2,
            whole(given, "moe_every", "model.moe_every", high=10_000) or 1,
            whole(given, "more_weights", "model.more_weights", low=0, high=10**12) or 0,
            amount(given, "attending", "model.attending") or 1.0,
            whole(given, "positions", "model.positions", high=100_000_000),
        )

    gated, tied = flag(given, "gated", "model.gated"), flag(given, "tied", "model.tied")
    if ffn is not None and vocab is not None and parameters is None:
        return build(bool(experts) or ffn != 4 * hidden if gated is None else gated, bool(tied), ffn, vocab)
    # What is not given is chosen so that the parameters come out nearest to those given.
    gates = (gated,) if gated is not None else (True, False)
    ties = (tied,) if tied is not None else (False, True)
    vocabularies = (vocab,) if vocab is not None else _VOCABULARIES if parameters else (50_304,)
    choices = [
        build(gate, tie, width, words)
        for gate, tie, words in product(gates, ties, vocabularies)
        for width in ((ffn,) if ffn is not None else (-(-8 * hidden // 768) * 256 if gate else 4 * hidden,))
    ]
    if parameters is None:
        best = choices[-1] if gated is None and ffn is None else choices[0]
    else:
        wanted = parameters
        best = min(choices, key=lambda one: abs(counted_parameters(one) - wanted))
    guessed = [key for key, value in (("ffn", ffn), ("vocab", vocab)) if value is None]
    if guessed:
        shape = "gated" if best.gated else "plain"
        why.append(
            f"model.{' and .'.join(guessed)} not given: {shape} feed-forward of {best.ffn}, vocabulary {best.vocab}"
        )
    return best

"""Parameter and FLOP counts of a decoder, by layer kind.

Counts follow the layer definitions of the public model code (Llama, Qwen, MPT, Mixtral, DeepSeek, Gemma); the tests
hold them against the published totals, to the last parameter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["dense", "moe"]


@dataclass(frozen=True, slots=True)
class Latent:
    """Multi-head latent attention: ranks and the widths of one head; ``q_rank`` 0 means an uncompressed query."""

    q_rank: int
    kv_rank: int
    nope: int
    rope: int
    v: int


@dataclass(frozen=True, slots=True)
class Model:
    """A decoder. ``ffn`` is the width of dense layers, ``expert_ffn`` of one expert; ``vocab`` the embedding's rows.

    ``norms``: those of a layer that are as wide as the model. After the first ``dense_layers``, every ``moe_every``-th
    layer has experts. ``more_weights``: what the attention of a layer has beyond its projections, on average over the
    layers (an indexer, a gate, linear attention); ``attending``: the share of layers that attend to all tokens.
    ``positions``: tokens of a sequence that the model was made for, None where no source says.
    """

    name: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    vocab: int
    gated: bool = True
    tied: bool = False
    bias: bool = False
    attn_bias: bool = False
    norm: Literal["rms", "layer"] = "rms"
    norm_bias: bool = False
    qk_norm: bool = False
    experts: int = 0
    top_k: int = 0
    expert_ffn: int = 0
    shared_experts: int = 0
    dense_layers: int = 0
    router_bias: bool = False
    sinks: bool = False
    latent: Latent | None = None
    family: str = ""
    given_parameters: float | None = None
    norms: int = 2
    moe_every: int = 1
    more_weights: int = 0
    attending: float = 1.0
    positions: int | None = None

    @property
    def kinds(self) -> tuple[tuple[Kind, int], ...]:
        """Layer kinds with their counts."""
        return self.kinds_between(0, self.layers)

    def kinds_between(self, first: int, end: int) -> tuple[tuple[Kind, int], ...]:
        """Kinds of the layers from ``first`` up to but without ``end``, with their counts."""
        moe = self._moe_before(end) - self._moe_before(first)
        both: tuple[tuple[Kind, int], ...] = (("dense", end - first - moe), ("moe", moe))
        return tuple(one for one in both if one[1])

    def _moe_before(self, end: int) -> int:
        return max(0, end - self.dense_layers) // self.moe_every if self.experts else 0

    @property
    def q_width(self) -> int:
        """Width of the queries as attention sees them."""
        return self.heads * (self.latent.nope + self.latent.rope if self.latent else self.head_dim)

    @property
    def k_width(self) -> int:
        """Width of the keys as attention sees them (latent attention expands them to every head)."""
        return self.q_width if self.latent else self.kv_heads * self.head_dim

    @property
    def v_width(self) -> int:
        """Width of the values as attention sees them."""
        return self.heads * self.latent.v if self.latent else self.kv_heads * self.head_dim

    @property
    def o_width(self) -> int:
        """Width of the attention output, before its projection."""
        return self.heads * (self.latent.v if self.latent else self.head_dim)


def attention_matrix(model: Model) -> int:
    """Weights of the attention projections of one layer."""
    h, latent = model.hidden, model.latent
    if latent is None:
        return h * (model.q_width + model.k_width + model.v_width) + model.o_width * h + model.more_weights
    query = h * latent.q_rank + latent.q_rank * model.q_width if latent.q_rank else h * model.q_width
    down = h * (latent.kv_rank + latent.rope)
    up = latent.kv_rank * model.heads * (latent.nope + latent.v)
    return query + down + up + model.o_width * h + model.more_weights


def _mlp(model: Model, width: int) -> int:
    return (3 if model.gated else 2) * model.hidden * width


def mlp_matrix(model: Model, kind: Kind) -> int:
    """Stored weights of the feed-forward part of one layer, router included."""
    if kind == "dense":
        return _mlp(model, model.ffn)
    routed = (model.experts + model.shared_experts) * _mlp(model, model.expert_ffn)
    return routed + model.hidden * model.experts


def active_mlp_matrix(model: Model, kind: Kind) -> int:
    """Weights of the feed-forward part that one token meets."""
    if kind == "dense":
        return _mlp(model, model.ffn)
    return (model.top_k + model.shared_experts) * _mlp(model, model.expert_ffn) + model.hidden * model.experts


def expert_matrix(model: Model) -> int:
    """Weights of the routed experts of one layer: what expert parallelism divides."""
    return model.experts * _mlp(model, model.expert_ffn)


def _small(model: Model, kind: Kind) -> int:
    """Norms and biases of one layer."""
    h = model.hidden
    count = model.norms * h * (2 if model.norm_bias else 1)
    if model.qk_norm:
        count += 2 * model.head_dim
    if model.latent is not None:
        count += model.latent.kv_rank + model.latent.q_rank
    if model.bias or model.attn_bias:
        count += model.q_width + model.k_width + model.v_width
    if model.bias:
        count += h
        up = 2 if model.gated else 1
        if kind == "dense":
            count += up * model.ffn + h
        else:
            count += model.experts * (up * model.expert_ffn + h) + model.experts
    if kind == "moe" and model.router_bias:
        count += model.experts
    return count + (model.heads if model.sinks else 0)


def layer_parameters(model: Model, kind: Kind) -> int:
    """All parameters of one layer."""
    return attention_matrix(model) + mlp_matrix(model, kind) + _small(model, kind)


def embedding_parameters(model: Model) -> int:
    """The embedding, and the head where it is a matrix of its own."""
    return model.vocab * model.hidden * (1 if model.tied else 2)


def counted_parameters(model: Model) -> int:
    """Parameters of the whole model by its shapes (learned positions are not counted)."""
    layers = sum(layer_parameters(model, kind) * count for kind, count in model.kinds)
    return layers + embedding_parameters(model) + model.hidden * (2 if model.norm_bias else 1)


def parameters(model: Model) -> float:
    """The given count where there is one, else the counted one."""
    return model.given_parameters or float(counted_parameters(model))


def active_parameters(model: Model) -> float:
    """Parameters that take part in one token's multiplications: matrices met, head included, embedding look-up not."""
    layers = sum((attention_matrix(model) + active_mlp_matrix(model, kind)) * count for kind, count in model.kinds)
    return float(layers + model.vocab * model.hidden)


def attention_flops(model: Model, seq: int) -> float:
    """FLOP of causal attention a token and layer, forward: half of 2 s (q + v widths), on average over the layers."""
    return float(seq) * (model.q_width + model.o_width) * model.attending

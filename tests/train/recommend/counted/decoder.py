"""A decoder in torch with the tensors that ``recommend.model.shapes`` counts, in torchtitan's order and names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from rocdoctor.train.recommend.model.shapes import Kind, Model


def _norm(model: Model, width: int) -> nn.Module:
    if model.norm == "rms":
        return nn.RMSNorm(width)
    return nn.LayerNorm(width, bias=model.norm_bias)


class Attention(nn.Module):
    """Causal attention; ``core`` may be replaced by one that spans ranks."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        h, bias = model.hidden, model.bias or model.attn_bias
        self.width = model.head_dim
        self.wq = nn.Linear(h, model.q_width, bias=bias)
        self.wk = nn.Linear(h, model.k_width, bias=bias)
        self.wv = nn.Linear(h, model.v_width, bias=bias)
        self.wo = nn.Linear(model.o_width, h, bias=model.bias)
        self.core: Callable[[Any, Any, Any], Any] = self._whole

    @staticmethod
    def _whole(query: Any, key: Any, value: Any) -> Any:
        return functional.scaled_dot_product_attention(query, key, value, is_causal=True, enable_gqa=True)

    def forward(self, x: Any) -> Any:
        query, key, value = (
            part(x).unflatten(-1, (-1, self.width)).transpose(1, 2) for part in (self.wq, self.wk, self.wv)
        )
        return self.wo(self.core(query, key, value).transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    def __init__(self, model: Model, width: int) -> None:
        super().__init__()
        self.gated = model.gated
        self.w1 = nn.Linear(model.hidden, width, bias=model.bias)
        if model.gated:
            self.w3 = nn.Linear(model.hidden, width, bias=model.bias)
        self.w2 = nn.Linear(width, model.hidden, bias=model.bias)

    def forward(self, x: Any) -> Any:
        return self.w2(functional.silu(self.w1(x)) * self.w3(x) if self.gated else functional.gelu(self.w1(x)))


class Experts(nn.Module):
    """The experts of one rank: (experts / ep, out, in); ``x`` is (experts / ep, tokens, in)."""

    def __init__(self, model: Model, ep: int) -> None:
        super().__init__()
        count, h, f = model.experts // ep, model.hidden, model.expert_ffn
        self.w1 = nn.Parameter(torch.randn(count, f, h) * 0.02)
        self.w2 = nn.Parameter(torch.randn(count, h, f) * 0.02)
        self.w3 = nn.Parameter(torch.randn(count, f, h) * 0.02)

    def forward(self, x: Any) -> Any:
        return (functional.silu(x @ self.w1.mT) * (x @ self.w3.mT)) @ self.w2.mT


class Routed(nn.Module):
    """Top-k experts that all get equally many tokens: token t goes to experts t k to t k + k - 1, modulo their number.

    ``exchange`` brings (experts, tokens, h) to the ranks that hold the experts and back.
    """

    def __init__(self, model: Model, ep: int) -> None:
        super().__init__()
        self.top_k, self.count = model.top_k, model.experts
        self.router = nn.Linear(model.hidden, model.experts, bias=model.router_bias)
        self.experts = Experts(model, ep)
        self.there: Callable[[Any], Any] = lambda x: x
        self.back: Callable[[Any], Any] = lambda x: x

    def forward(self, x: Any) -> Any:
        flat = x.flatten(0, -2)
        chosen = torch.arange(flat.shape[0] * self.top_k) % self.count
        scores = self.router(flat).softmax(-1).gather(1, chosen.view(-1, self.top_k))
        order = chosen.argsort(stable=True)
        sent = flat[order // self.top_k].view(self.count, -1, flat.shape[-1])
        came = self.back(self.experts(self.there(sent))).flatten(0, 1)
        weighted = came * scores.flatten()[order][:, None]
        return torch.zeros_like(flat).index_add(0, order // self.top_k, weighted).view(x.shape)


class Block(nn.Module):
    def __init__(self, model: Model, kind: Kind, ep: int) -> None:
        super().__init__()
        self.attention_norm, self.ffn_norm = _norm(model, model.hidden), _norm(model, model.hidden)
        self.attention = Attention(model)
        if kind == "moe":
            self.moe = Routed(model, ep)
        else:
            self.feed_forward = FeedForward(model, model.ffn)

    def forward(self, x: Any) -> Any:
        x = x + self.attention(self.attention_norm(x))
        part = self.moe if hasattr(self, "moe") else self.feed_forward
        return x + part(self.ffn_norm(x))


class Decoder(nn.Module):
    """Layers ``layers`` of the model, with the embedding if they are the first and the head if the last."""

    def __init__(self, model: Model, layers: range | None = None, ep: int = 1) -> None:
        super().__init__()
        layers = range(model.layers) if layers is None else layers
        kinds: list[Kind] = [kind for kind, count in model.kinds for _ in range(count)]
        first, last = layers.start == 0, layers.stop == model.layers
        self.tok_embeddings: Any = nn.Embedding(model.vocab, model.hidden) if first else None
        self.layers = nn.ModuleDict({str(one): Block(model, kinds[one], ep) for one in layers})
        self.norm: Any = _norm(model, model.hidden) if last else None
        self.output: Any = nn.Linear(model.hidden, model.vocab, bias=False) if last else None
        if model.tied and first and last:
            embedding: Any = self.tok_embeddings
            head: Any = self.output
            head.weight = embedding.weight

    def forward(self, x: Any) -> Any:
        x = self.tok_embeddings(x) if self.tok_embeddings is not None else x
        for block in self.layers.values():
            x = block(x)
        return self.output(self.norm(x)) if self.output is not None else x


def loss_of(logits: Any, targets: Any) -> Any:
    """Mean cross-entropy in fp32."""
    return functional.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())

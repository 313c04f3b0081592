"""The decoder whose training step is traced, or run: the shapes of a request, written as the public model code does.

Two ways of writing, since they save different tensors: ``torch`` (torchtitan: RMSNorm as one operation, loss on fp32
logits) and ``transformers`` (RMSNorm in fp32 step by step, loss on shifted labels). Keys and values are repeated for
grouped heads, as both do. Runs in the user's interpreter: torch and the standard library alone, Python 3.9 and later.

``real`` in a request: numbers count, so nothing stands in for a kernel that the CPU lacks.
"""

from __future__ import annotations

import math

import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    Mark = Callable[[str, int], None]


class WrittenOut(nn.Module):
    """RMSNorm as Transformers writes it: fp32 copy, mean square, product, back."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kind = x.dtype
        x = x.to(torch.float32)
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.weight * x.to(kind)


class Fused(torch.autograd.Function):
    """What the RMSNorm kernel of GPUs keeps: input, weight and 4 B a row. On the CPU torch writes it out."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        scale = torch.empty(x.shape[:-1], dtype=torch.float32)
        ctx.save_for_backward(x, weight, scale)
        return torch.empty_like(x)

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        x, weight, _ = ctx.saved_tensors
        return torch.empty_like(x), torch.empty_like(weight)


class OneKernel(nn.Module):
    """RMSNorm of torch: one kernel from 2.9 on, a composition before."""

    def __init__(self, width: int, real: bool = False) -> None:
        super().__init__()
        self.real = real
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        # The kernel is taken only where weight and input agree.
        if not self.real and hasattr(torch.ops.aten, "_fused_rms_norm") and self.weight.dtype == x.dtype:
            return Fused.apply(x, self.weight)  # type: ignore[no-any-return, no-untyped-call]
        return functional.rms_norm(x, (x.shape[-1],), self.weight, 1e-6)


def _norm(request: Mapping[str, Any], width: int) -> nn.Module:
    if request["norm"] == "layer":
        return nn.LayerNorm(width, bias=request["norm_bias"])
    return WrittenOut(width) if request["code"] == "transformers" else OneKernel(width, request.get("real", False))


def _turned(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Rotary positions on halves of a head, in the type of the input."""
    half = x.shape[-1] // 2
    other = torch.cat((-x[..., half:], x[..., :half]), dim=-1)
    return x * cos.to(x.dtype) + other * sin.to(x.dtype)


def _scored(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Attention with its scores written out and softmax in fp32."""
    scores = torch.matmul(q, k.transpose(2, 3)) * (1.0 / math.sqrt(q.shape[-1])) + mask.to(q.dtype)
    shares = functional.softmax(scores, dim=-1, dtype=torch.float32).to(q.dtype)
    return torch.matmul(shares, v)


class Adapted(nn.Module):
    """A frozen linear layer with an adapter in fp32 beside it, which casts its input for itself as PEFT does."""

    def __init__(self, inner: nn.Linear, rank: int) -> None:
        super().__init__()
        self.inner = inner
        self.a = nn.Linear(inner.in_features, rank, bias=False, dtype=torch.float32)
        self.b = nn.Linear(rank, inner.out_features, bias=False, dtype=torch.float32)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = self.inner(x)
        return out + self.b(self.a(x.to(torch.float32))).to(out.dtype)  # type: ignore[no-any-return]


def adapt(model: nn.Module, rank: int, targets: list[str]) -> None:
    """Freeze everything, and put adapters beside the linear layers of these names."""
    for one in model.parameters():
        one.requires_grad_(False)
    for part in list(model.modules()):
        for name, layer in list(part.named_children()):
            if name in targets and isinstance(layer, nn.Linear):
                setattr(part, name, Adapted(layer, rank))


class Attention(nn.Module):
    """Grouped-query attention with rotary positions."""

    def __init__(self, request: Mapping[str, Any]) -> None:
        super().__init__()
        self.request = request
        hidden, width = request["hidden"], request["head_dim"]
        q, k, bias = request["heads"] * width, request["kv_heads"] * width, request["bias"] or request["attn_bias"]
        self.q, self.k, self.v = (nn.Linear(hidden, one, bias=bias) for one in (q, k, k))
        self.o = nn.Linear(q, hidden, bias=request["bias"])
        self.norms = nn.ModuleList([_norm(request, width), _norm(request, width)] if request["qk_norm"] else [])

    def _core(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        if self.request["attention"] == "eager":
            return _scored(q, k, v, mask)
        return functional.scaled_dot_product_attention(q, k, v, is_causal=True)

    def forward(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        batch, seq, _ = x.shape
        q, k, v = (one(x).view(batch, seq, -1, self.request["head_dim"]) for one in (self.q, self.k, self.v))
        if len(self.norms):
            q, k = self.norms[0](q), self.norms[1](k)
        q, k, v = _turned(q.transpose(1, 2), cos, sin), _turned(k.transpose(1, 2), cos, sin), v.transpose(1, 2)
        groups = self.request["heads"] // self.request["kv_heads"]
        if groups > 1:
            k, v = (_repeated(one, groups) for one in (k, v))
        if self.request["recompute"] == "selective":
            out = checkpoint(self._core, q, k, v, mask, use_reentrant=False, preserve_rng_state=False)
        else:
            out = self._core(q, k, v, mask)
        return self.o(out.transpose(1, 2).contiguous().view(batch, seq, -1))  # type: ignore[no-any-return]


def _repeated(x: torch.Tensor, groups: int) -> torch.Tensor:
    batch, heads, seq, width = x.shape
    return x[:, :, None].expand(batch, heads, groups, seq, width).reshape(batch, heads * groups, seq, width)


class FeedForward(nn.Module):
    """Gated (SiLU) or plain (GELU) feed-forward part."""

    def __init__(self, request: Mapping[str, Any]) -> None:
        super().__init__()
        hidden, width, bias = request["hidden"], request["ffn"], request["bias"]
        self.gate = nn.Linear(hidden, width, bias=bias) if request["gated"] else None
        self.up, self.down = nn.Linear(hidden, width, bias=bias), nn.Linear(width, hidden, bias=bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.gate is None:
            return self.down(functional.gelu(self.up(x)))  # type: ignore[no-any-return]
        return self.down(functional.silu(self.gate(x)) * self.up(x))  # type: ignore[no-any-return]


class Layer(nn.Module):
    """One decoder layer, recomputed in the backward pass where the request says so."""

    def __init__(self, request: Mapping[str, Any]) -> None:
        super().__init__()
        self.recompute = request["recompute"]
        self.first, self.second = _norm(request, request["hidden"]), _norm(request, request["hidden"])
        self.attention, self.feed = Attention(request), FeedForward(request)

    def _all(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.first(x), cos, sin, mask)
        return x + self.feed(self.second(x))  # type: ignore[no-any-return]

    def forward(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        if self.recompute not in ("full", "selective-op"):
            return self._all(x, cos, sin, mask)
        more: dict[str, Any] = {"context_fn": every_second_product} if self.recompute == "selective-op" else {}
        return checkpoint(self._all, x, cos, sin, mask, use_reentrant=False, preserve_rng_state=False, **more)  # type: ignore[no-any-return]


def every_second_product() -> Any:
    """torchtitan's policy: attention and every second matrix product are kept, the rest is computed again."""
    from torch.utils.checkpoint import CheckpointPolicy, create_selective_checkpoint_contexts

    kept = {
        getattr(torch.ops.aten, name).default
        for name in (
            "_scaled_dot_product_flash_attention",
            "_scaled_dot_product_efficient_attention",
            "_scaled_dot_product_flash_attention_for_cpu",
        )
        if hasattr(torch.ops.aten, name)
    }
    products = (torch.ops.aten.mm.default, torch.ops.aten.addmm.default)
    seen = {True: 0, False: 0}

    def policy(context: Any, function: Any, *_: Any, **__: Any) -> Any:
        if function in products:
            seen[context.is_recompute] += 1
        keep = function in kept or (function in products and seen[context.is_recompute] % 2 == 1)
        return CheckpointPolicy.MUST_SAVE if keep else CheckpointPolicy.PREFER_RECOMPUTE

    return create_selective_checkpoint_contexts(policy)  # type: ignore[no-untyped-call]


class Chunked(torch.autograd.Function):
    """Liger's loss: logits in chunks of tokens, their gradients at once, so that no logits outlive the forward pass."""

    @staticmethod
    def forward(
        ctx: Any, x: torch.Tensor, weight: torch.Tensor, labels: torch.Tensor, real: bool = False
    ) -> torch.Tensor:
        tokens, hidden = x.shape
        parts = -(-weight.shape[0] // hidden)
        size = 1 << max(0, (-(-tokens // parts) - 1).bit_length())
        grad_x = torch.zeros_like(x)
        grad_weight = torch.zeros_like(weight) if ctx.needs_input_grad[1] else None  # none of a frozen head
        loss = torch.zeros(tokens, dtype=torch.float32, device=x.device)
        for start in range(0, tokens, size):
            part = x[start : start + size]
            logits = part @ weight.t()  # the kernel writes the gradient over it
            if real:
                loss[start : start + size] = _over_logits(logits, labels[start : start + size], tokens)
            else:
                loss[start : start + size] = logits[:, 0].float()
            grad_x[start : start + size] = logits @ weight
            if grad_weight is not None:
                product = torch.mm(logits.t(), part)
                grad_weight += product.float() if grad_weight.dtype != torch.float32 else product
                del product
            del logits
        ctx.save_for_backward(grad_x, grad_weight)
        return loss.sum()

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        grad_x, grad_weight = ctx.saved_tensors
        return grad_x.mul_(grads[0]), None if grad_weight is None else grad_weight.mul_(grads[0]), None, None


def _over_logits(logits: torch.Tensor, labels: torch.Tensor, tokens: int) -> torch.Tensor:
    """What each token adds to the mean loss; the gradient of that mean is written over the logits."""
    rows = torch.arange(len(labels), device=labels.device)
    highest = logits.max(-1, keepdim=True).values
    wanted = (logits[rows, labels] - highest[:, 0]).float()
    logits.sub_(highest).exp_()
    total = logits.sum(-1, dtype=torch.float32)
    logits.div_(total[:, None] * tokens)
    logits[rows, labels] -= 1.0 / tokens
    return (total.log() - wanted) / tokens


def cross_entropy(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Loss on fp32 logits, as torchtitan computes it."""
    return functional.cross_entropy(logits.flatten(0, 1).float(), labels)


class Decoder(nn.Module):
    """Embedding, layers, head and loss; ``mark`` is told which part of a step begins."""

    cross_entropy = staticmethod(cross_entropy)

    def __init__(self, request: Mapping[str, Any], layers: int, mark: Mark) -> None:
        super().__init__()
        self.request, self.mark = request, mark
        self.embedding = nn.Embedding(request["vocab"], request["hidden"])
        self.layers = nn.ModuleList([Layer(request) for _ in range(layers)])
        self.norm = _norm(request, request["hidden"])
        self.head = nn.Linear(request["hidden"], request["vocab"], bias=False)
        if request["tied"]:
            self.head.weight = self.embedding.weight
        if request.get("adapters"):
            adapt(self.layers, request["adapters"]["rank"], request["adapters"]["targets"])
            for one in (self.embedding, self.norm, self.head):
                one.requires_grad_(False)

    def forward(self, words: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, mask: torch.Tensor) -> Any:
        """Loss and logits (none with the fused loss): most training loops hold both until the backward pass is over."""
        self.mark("embedding", 0)
        x = self.embedding(words)
        for place, layer in enumerate(self.layers):
            self.mark("forward", place)
            x = layer(x, cos, sin, mask)
            x.register_hook(self._marker("backward", place))
        self.mark("head", 0)
        x = self.norm(x)
        labels = words.view(-1)
        if self.request["loss"] == "fused":
            weight = self.head.weight
            weight = weight.to(x.dtype) if not self.request["autocast"] else weight.to(torch.bfloat16)
            flat = x.to(weight.dtype).view(-1, x.shape[-1])
            return Chunked.apply(flat, weight, labels, self.request.get("real", False)), None  # type: ignore[no-untyped-call]
        logits = self.head(x)
        if self.request["code"] == "transformers":
            shifted = functional.pad(words, (0, 1), value=-100)[:, 1:].contiguous().view(-1)
            return functional.cross_entropy(logits.float().view(-1, logits.shape[-1]), shifted), logits
        return self.cross_entropy(logits, labels), logits

    def _marker(self, part: str, place: int) -> Callable[[torch.Tensor], None]:
        def told(_: torch.Tensor) -> None:
            self.mark(part, place)

        return told

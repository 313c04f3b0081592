"""The small transformer that all modes train, its data, and what one process computes with it."""

from __future__ import annotations

from functools import partial
from typing import Any

SEED = 7


class Sizes:
    """Sizes of the model for a number of ranks: everything that a mode splits divides by it.

    For 1, 2 and 4 ranks: vocabulary 128, width 32, 4 heads, 4 layers, sequence 16, batch 8 (58,560 parameters).
    """

    __slots__ = ("batch", "heads", "layers", "sequence", "vocabulary", "width")

    def __init__(self, world: int) -> None:
        self.heads = world * -(-4 // world)
        self.width = 8 * self.heads
        self.vocabulary = world * -(-128 // world)
        self.layers = 4
        self.sequence = 4 * world * -(-4 // world)
        self.batch = 2 * world * -(-4 // world)


def build(
    torch: Any, sizes: Sizes, layers: int = 0, seed: int = SEED, plain: bool = False, attention: Any = None
) -> Any:
    """The model in fp32 on the CPU, the same numbers in every process. ``plain``: by the formulas of ``plain``;
    ``attention``: instead of torch's, a function of query, key and value."""
    nn = torch.nn
    functional = nn.functional
    attend, bend = partial(functional.scaled_dot_product_attention, is_causal=True), functional.gelu
    attend = attention or attend
    if plain:
        from . import plain as formulas

        attend, bend = partial(formulas.attention, torch), partial(formulas.gelu, torch)

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        """Pre-norm transformer block; the projections are separate, so that each can be split."""

        def __init__(self) -> None:
            super().__init__()
            width = sizes.width
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.query, self.key, self.value, self.output = (nn.Linear(width, width, bias=False) for _ in range(4))
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x: Any) -> Any:
            normed = self.norm1(x)
            # -1: a tensor-parallel rank holds a part of the heads; a sequence-parallel norm gathers before
            query, key, value = (
                part(normed).unflatten(-1, (-1, 8)).transpose(1, 2) for part in (self.query, self.key, self.value)
            )
            attended = attend(query, key, value)
            x = x + self.output(attended.transpose(1, 2).flatten(2))
            return x + self.down(bend(self.up(self.norm2(x))))

    class Model(nn.Module):  # type: ignore[misc, name-defined]
        """Embedding, blocks, norm, head: tokens (batch, sequence) to logits (batch, sequence, vocabulary)."""

        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(sizes.vocabulary, sizes.width)
            self.blocks = nn.ModuleList(Block() for _ in range(layers or sizes.layers))
            self.norm = nn.LayerNorm(sizes.width)
            self.head = nn.Linear(sizes.width, sizes.vocabulary, bias=False)

        def forward(self, tokens: Any) -> Any:
            x = self.embedding(tokens)
            for block in self.blocks:
                x = block(x)
            return self.head(self.norm(x))

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Model()


def batches(torch: Any, sizes: Sizes, steps: int) -> list[tuple[Any, Any]]:
    """(tokens, targets) of each step, both (batch, sequence) int64, on the CPU."""
    generator = torch.Generator().manual_seed(SEED + 1)
    shape = (sizes.batch, sizes.sequence)
    return [
        (
            torch.randint(sizes.vocabulary, shape, generator=generator),
            torch.randint(sizes.vocabulary, shape, generator=generator),
        )
        for _ in range(steps)
    ]


def loss_of(torch: Any, logits: Any, targets: Any) -> Any:
    """Mean cross-entropy over all tokens, in fp32."""
    return torch.nn.functional.cross_entropy(logits.float().flatten(0, 1), targets.flatten())


_PREFIXES = ("_checkpoint_wrapped_module.", "_fsdp_wrapped_module.", "_orig_mod.", "module.")


def plain_name(name: str) -> str:
    """A parameter's name without what wrappers (DDP, FSDP1, compile, activation checkpointing) put into it."""
    for prefix in _PREFIXES:
        name = name.replace(prefix, "")
    return name


def gradients(model: Any) -> dict[str, Any]:
    """Copies of the gradients that are there, by plain name."""
    return {
        plain_name(name): one.grad.detach().clone() for name, one in model.named_parameters() if one.grad is not None
    }


def parameters(model: Any) -> dict[str, Any]:
    """Copies of the parameters, by plain name."""
    return {plain_name(name): one.detach().clone() for name, one in model.named_parameters()}


class Reference:
    """What one process computes: per step the loss, the gradients, the parameters before and after, and AdamW's
    moments after it."""

    __slots__ = ("after", "before", "grads", "losses", "moments")

    def __init__(self) -> None:
        self.losses: list[Any] = []
        self.grads: list[dict[str, Any]] = []
        self.before: list[dict[str, Any]] = []
        self.after: list[dict[str, Any]] = []
        self.moments: list[dict[str, tuple[Any, Any]]] = []


def optimizer_for(torch: Any, kind: str, parameters_: Any) -> Any:
    """``sgd`` (rate 0.1) or ``adamw`` (rate 1e-3)."""
    if kind == "sgd":
        return torch.optim.SGD(parameters_, lr=0.1)
    return torch.optim.AdamW(parameters_, lr=1e-3)

"""Fine-tuning with a frozen base: low-rank adapters (LoRA) in FSDP2, also on a base of 8-bit whole numbers.

Only the adapters learn: the base must stay as it is, to the bit, and sends no gradients.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from .. import model as models
from .. import plain
from ..context import Context
from ..mode import Mode
from ..sharded import SHARDED, ShardedStep
from . import fsdp2

ORDER = 44
_LAYERS, _RANK, _SCALE = 2, 4, 2.0
_ADAPTED = ("query", "value")


def adapted(torch: Any, model: Any, quantised: bool, plainly: bool) -> Any:
    """The model with adapters at queries and values, everything else frozen; the same numbers in every process.

    ``quantised``: their base is kept as 8-bit numbers with a factor for each row. ``plainly``: by the formulas of
    ``plain``.
    """
    nn = torch.nn
    linear = plain.linear if plainly else nn.functional.linear

    class Adapted(nn.Module):  # type: ignore[misc, name-defined]
        """A projection, and beside it one of low rank."""

        def __init__(self, base: Any, seed: int) -> None:
            super().__init__()
            weight = base.weight.detach()
            rows, columns = weight.shape
            generator = torch.Generator().manual_seed(seed)
            small = [0.1 * torch.randn(shape, generator=generator) for shape in ((_RANK, columns), (rows, _RANK))]
            self.a, self.b = (nn.Parameter(one.to(weight.device, weight.dtype)) for one in small)
            if quantised:
                # From the numbers in fp32, also where the model computes in fp64: both have the same base.
                factor = weight.float().abs().amax(1, keepdim=True) / 127
                self.register_buffer("factor", factor.to(weight.dtype))
                self.register_buffer("codes", (weight.float() / factor).round().to(torch.int8))
            else:
                self.weight = nn.Parameter(weight.clone(), requires_grad=False)

        def forward(self, x: Any) -> Any:
            base = self.codes.to(x.dtype) * self.factor if quantised else self.weight
            return linear(x, base) + _SCALE * linear(linear(x, self.a), self.b)

    for one in model.parameters():
        one.requires_grad_(False)
    for number, block in enumerate(model.blocks):
        for place, name in enumerate(_ADAPTED):
            setattr(block, name, Adapted(getattr(block, name), 50 + 2 * number + place))
    return model


def _steps(context: Context, quantised: bool) -> list[ShardedStep]:
    """Two steps of SGD by plain formulas; made once a pool."""
    name = f"adapters {quantised}"
    found: list[ShardedStep] = context.cached(name, lambda: _make(context, quantised))
    context.compared(name, [one for step in found for one in (step.loss, *step.after.values())])
    return found


def _make(context: Context, quantised: bool) -> list[ShardedStep]:
    torch = context.torch
    trained = adapted(torch, plain.model(torch, context.sizes, _LAYERS), quantised, plainly=True)
    held, found = models.parameters(trained), []
    for tokens, targets in models.batches(torch, context.sizes, 2):
        trained.load_state_dict({**trained.state_dict(), **held})
        shares = [
            _alone(torch, trained, context.share(tokens, rank), context.share(targets, rank))
            for rank in range(context.world)
        ]
        step = ShardedStep(context.share(tokens).to(context.device), context.share(targets).to(context.device), held)
        step.local_loss, step.local = shares[context.rank]
        step.loss = torch.stack([loss for loss, _ in shares]).mean()
        step.grad = {name: torch.stack([grads[name] for _, grads in shares]).mean(0) for name in step.local}
        step.share_of = lambda rank, many=shares: many[rank][1]
        held = {name: one - 0.1 * step.grad[name] if name in step.grad else one for name, one in held.items()}
        step.after = held
        found.append(step)
    return found


def _alone(torch: Any, trained: Any, tokens: Any, targets: Any) -> tuple[Any, dict[str, Any]]:
    named = {name: one for name, one in trained.named_parameters() if one.requires_grad}
    loss = plain.row_losses(torch, trained(tokens), targets).mean()
    return loss.detach(), dict(zip(named, torch.autograd.grad(loss, list(named.values()))))


def train(context: Context, quantised: bool) -> None:
    """Two steps with SGD; afterwards the frozen base must be what it was."""
    torch = context.torch
    steps = _steps(context, quantised)
    model = adapted(torch, context.build(_LAYERS), quantised, plainly=False)
    frozen = {name: one.clone() for name, one in model.named_buffers()}

    def seen(step: int, _: Any) -> None:
        moved = [name for name, one in model.named_parameters() if one.grad is not None and not one.requires_grad]
        name, words = (moved or ["frozen"])[0], "is frozen and has a gradient"
        context.expect("grad", name, not moved, words, step=step, layer="framework")

    fsdp2.run(context, model=model, steps=steps, seen=seen)
    held = dict(model.named_buffers())
    context.check_all("param", held, frozen, step=len(steps), tolerance=0.0, layer="device")
    base = {name: one for name, one in steps[0].before.items() if name not in steps[0].grad}
    layout = fsdp2.Shards(context, model)
    context.check_all("param", layout.parameters(), layout.part(base), step=len(steps), tolerance=0.0, layer="device")


_ADAPTERS = SHARDED.but(
    computed=f"{SHARDED.computed}; only low-rank adapters at queries and values learn, and the base stays "
    "identical to the bit"
)
MODES = (
    Mode("lora", "FSDP2 with a frozen base and low-rank adapters (LoRA)", partial(train, quantised=False), _ADAPTERS),
    Mode(
        "qlora",
        "the same over a base of 8-bit numbers (as in QLoRA)",
        partial(train, quantised=True),
        _ADAPTERS,
        full=True,
    ),
)

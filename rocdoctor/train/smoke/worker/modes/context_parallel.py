"""Context parallel: one long sequence over all ranks, by ring attention and by Ulysses (exchange of heads).

Written with plain operations in double precision, so that what travels is tested, not an attention kernel: differences
above rounding are faults of the exchange.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from .. import plain
from ..compare import BACKWARD_TURN
from ..context import Context
from ..exchange import all_to_all, ring_shift
from ..mode import Mode
from ..tolerance import EXACT, Proof, Tolerance

ORDER = 60
_HEAD = 8
_LIMIT = Tolerance(
    1e-12,
    "output and gradients",
    "double precision on both sides: 9e-16 was measured for the output, 2e-15 for gradients (torch 2.13.0, gloo)",
)
ATTENDED = Proof(
    "causal attention over one long sequence: the parts exchanged, the output, the gradients of query, key and value",
    "one process that computes attention over the whole sequence, by published formulas in double precision on the CPU",
    (EXACT, _LIMIT),
)


def whole_inputs(context: Context) -> tuple[list[Any], Any]:
    """Query, key and value of the whole sequence (batch 2, heads, sequence, 8) and the gradient of the output."""
    torch, sizes = context.torch, context.sizes
    generator = torch.Generator().manual_seed(11)
    shape = (2, sizes.heads, 2 * sizes.sequence, _HEAD)
    made = [torch.randn(shape, generator=generator, dtype=torch.float64).to(context.device) for _ in range(4)]
    return made[:3], made[3]


def attend(torch: Any, first: int, query: Any, key: Any, value: Any) -> Any:
    """Causal attention of queries that begin at place ``first``: (weighted values, log of the sum of weights)."""
    scores = query @ key.transpose(-1, -2) * _HEAD**-0.5
    rows = torch.arange(query.shape[2], device=query.device)[:, None] + first
    scores = scores.masked_fill(torch.arange(key.shape[2], device=query.device)[None] > rows, float("-inf"))
    return torch.softmax(scores, -1) @ value, torch.logsumexp(scores, -1, keepdim=True)


def _whole(context: Context) -> tuple[Any, list[Any]]:
    """Output and the three gradients of one process, by plain formulas."""

    def make() -> tuple[Any, list[Any]]:
        inputs, gradient = whole_inputs(context)
        inputs, gradient = [one.cpu().requires_grad_() for one in inputs], gradient.cpu()
        output = plain.attention(context.torch, *inputs)
        grads = [*context.torch.autograd.grad(output, inputs, gradient)]
        context.compared("attention", [output, *grads])
        return output.detach(), grads

    found: tuple[Any, list[Any]] = context.cached("attention", make)
    return found


def part(context: Context, tensor: Any, rank: int | None = None) -> Any:
    return tensor.chunk(context.world, 2)[context.rank if rank is None else rank]


def compare(context: Context, output: Any, leaves: list[Any], step: int, own: Collection[str] = ()) -> None:
    """``own``: what this rank has computed with what came right, so that no exchange lies between."""
    wanted, gradients = _whole(context)
    context.check(
        "local" if "output" in own else "value",
        "output of this rank's part of the sequence",
        output,
        part(context, wanted),
        tolerance=_LIMIT,
        step=step,
    )
    for name, leaf, whole in zip(("query", "key", "value"), leaves, gradients):
        stage = "local" if name in own else "grad"
        context.check(
            stage,
            f"gradient of this rank's {name}",
            leaf.grad,
            part(context, whole),
            tolerance=_LIMIT,
            step=step,
            turn=BACKWARD_TURN,
        )


def ring(context: Context) -> None:
    """Keys and values travel around the ring; results are merged by their sums of weights."""
    torch = context.torch
    inputs, gradient = whole_inputs(context)
    leaves = [part(context, one).contiguous().requires_grad_() for one in inputs]
    shift = ring_shift(context)
    query, travelling = leaves[0], torch.stack(leaves[1:])
    length = query.shape[2]
    output = total = None
    for hop in range(context.world):
        owner = (context.rank - hop) % context.world
        if hop:
            context.mark(f"hop {hop}: keys and values of rank {owner}")
            travelling = shift(travelling)
            sent = torch.stack([part(context, one, owner) for one in inputs[1:]])
            name, owners = f"keys and values of rank {owner}", torch.tensor((context.rank - 1) % context.world)
            context.check("value", name, travelling, sent, tolerance=0.0, step=hop, owners=owners)
        if owner <= context.rank:  # causal: later parts of the sequence are not seen
            some, weight = attend(torch, (context.rank - owner) * length, query, *travelling)
            if output is None:
                output, total = some, weight
            else:
                both = torch.logaddexp(total, weight)
                output, total = output * (total - both).exp() + some * (weight - both).exp(), both
    # The last part has travelled through all ranks: each must take part in its backward way too.
    context.mark("backward")
    (output * part(context, gradient)).sum().add(travelling.sum() * 0).backward()
    compare(context, output, leaves, context.world, ("output", "query"))


def ulysses(context: Context) -> None:
    """Each rank gives its part of the sequence with all heads for the whole sequence with its part of the heads."""
    torch, world = context.torch, context.world
    inputs, gradient = whole_inputs(context)
    leaves = [part(context, one).contiguous().requires_grad_() for one in inputs]
    exchange = all_to_all(context)
    ones = [1] * world

    def to_heads(tensor: Any) -> Any:
        parts = torch.stack(tensor.chunk(world, 1))
        return torch.cat(exchange(parts, ones, ones).unbind(0), 2)

    def to_sequence(tensor: Any) -> Any:
        parts = torch.stack(tensor.chunk(world, 2))
        return torch.cat(exchange(parts, ones, ones).unbind(0), 1)

    moved = []
    for step, (name, leaf, whole) in enumerate(zip(("query", "key", "value"), leaves, inputs)):
        context.mark(f"exchange of the {name}")
        moved.append(to_heads(leaf))
        context.check(
            "value",
            f"{name} of this rank's heads",
            moved[-1],
            whole.chunk(world, 1)[context.rank],
            tolerance=0.0,
            step=step,
        )
    attended = attend(torch, 0, *moved)[0]
    heads = _whole(context)[0].chunk(world, 1)[context.rank]
    context.check("local", "output of this rank's heads", attended, heads, tolerance=_LIMIT, step=len(leaves))
    _watch_backward(context, attended, moved, gradient)
    context.mark("exchange of the output")
    output = to_sequence(attended)
    context.mark("backward")
    output.backward(part(context, gradient).contiguous())
    compare(context, output, leaves, len(leaves))


def _watch_backward(context: Context, attended: Any, moved: list[Any], gradient: Any) -> None:
    """Compare what comes back to this rank's heads, and what it makes of that before it sends it on."""
    world, rank = context.world, context.rank
    owners = context.torch.arange(world).repeat_interleave(gradient.shape[2] // world)[:, None]
    what = {"step": len(moved), "turn": BACKWARD_TURN - 2, "tolerance": 0.0, "owners": owners}
    back = gradient.chunk(world, 1)[rank]
    attended.register_hook(_seen(context, "value", "gradient of the output of this rank's heads", back, what))
    for name, one, whole in zip(("query", "key", "value"), moved, _whole(context)[1]):
        what = {"step": len(moved), "turn": BACKWARD_TURN - 1, "tolerance": _LIMIT}
        made = whole.chunk(world, 1)[rank]
        one.register_hook(_seen(context, "local", f"gradient of the {name} of this rank's heads", made, what))


def _seen(context: Context, stage: str, name: str, wanted: Any, how: dict[str, Any]) -> Callable[[Any], None]:
    def hook(gradient: Any) -> None:
        context.check(stage, name, gradient, wanted, **how)

    return hook


MODES = (
    Mode("ring-attention", "context parallel by ring attention", ring, ATTENDED),
    Mode("ulysses", "context parallel by exchanging heads (Ulysses)", ulysses, ATTENDED),
)

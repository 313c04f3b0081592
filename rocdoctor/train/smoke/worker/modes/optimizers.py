"""What a rank's device does by itself in every step of training: optimizers and their states, clipping, dropout.

Each optimizer makes four steps with rates and decays that change, on gradients that are given, so that nothing but its
own arithmetic counts: parameters and states against the published formulas in double precision.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .. import draws, plain
from ..compare import agreed
from ..context import Context
from ..mode import Mode
from ..tolerance import EXACT, Proof, Tolerance, usual

ORDER = 11
_SHAPES = ((1,), (37,), (33, 31))
# Kernels over lists of tensors take them in pieces of 65,536 elements: kChunkSize in torch's MultiTensorApply.cuh.
_LONG = (65536 + 37,)
_STEPS = 4
# Seen with torch 2.13.0 on the CPU.
_LIMIT = Tolerance(
    2e-6,
    "parameters (as a share of 1, which is the largest) and states of the optimizers",
    "fp32 rounds an operation by up to 6e-8; four steps of at most five operations on a moment are 20 of them, 1.2e-6, "
    "and a parameter gathers less. 1.7e-7 was seen; an update is 1e-2",
)
_CLIPPED = Tolerance(
    1e-5,
    "clipped gradients and their norm",
    "a norm over 1,061 elements in any order, a quotient and a product; 1.4e-7 was seen. The smallest tensor, "
    "left out of the norm, changes it by 5.7e-4",
)
_SCALED = Tolerance(
    1e-6,
    "what dropout keeps, and its gradient",
    "the scale and its product are each rounded by 6e-8; 3e-8 was seen",
)
_FAR = Tolerance(
    6.0,
    "how many values dropout keeps",
    "a binomial distribution is farther from its mean once in 5e8",
    unit="standard deviations",
)
_BETAS, _EPSILON = (0.9, 0.95), 1e-8

Formula = Callable[[dict[str, Any], Any, Any, float, float], Any]


def _sgd(state: dict[str, Any], held: Any, grad: Any, rate: float, decay: float) -> Any:
    """With momentum 0.9, as torch defines it."""
    grad = grad + decay * held
    state["momentum_buffer"] = 0.9 * state["momentum_buffer"] + grad if state else grad
    return held - rate * state["momentum_buffer"]


def _moments(state: dict[str, Any], grad: Any) -> Any:
    """The direction of Adam."""
    number = state["step"] = state.get("step", 0) + 1
    state["exp_avg"] = _BETAS[0] * state.get("exp_avg", 0.0) + (1 - _BETAS[0]) * grad
    state["exp_avg_sq"] = _BETAS[1] * state.get("exp_avg_sq", 0.0) + (1 - _BETAS[1]) * grad * grad
    mean, square = state["exp_avg"] / (1 - _BETAS[0] ** number), state["exp_avg_sq"] / (1 - _BETAS[1] ** number)
    return mean / (square**0.5 + _EPSILON)


def _adam(state: dict[str, Any], held: Any, grad: Any, rate: float, decay: float) -> Any:
    return held - rate * _moments(state, grad + decay * held)


def _adamw(state: dict[str, Any], held: Any, grad: Any, rate: float, decay: float) -> Any:
    return held * (1 - rate * decay) - rate * _moments(state, grad)


_KINDS: tuple[tuple[str, Formula, dict[str, Any]], ...] = (
    ("SGD", _sgd, {"momentum": 0.9}),
    ("Adam", _adam, {"betas": _BETAS, "eps": _EPSILON}),
    ("AdamW", _adamw, {"betas": _BETAS, "eps": _EPSILON}),
)
# As asked for by name; torch chooses among them by itself otherwise.
_WAYS: tuple[tuple[str, dict[str, bool]], ...] = (
    ("usual", {}),
    ("plain", {"foreach": False}),
    ("foreach", {"foreach": True}),
    ("fused", {"fused": True}),
)


def _waves(torch: Any, shape: tuple[int, ...], phase: float) -> Any:
    """Numbers of one size in both signs: 0.25 to 1."""
    flat = torch.arange(math.prod(shape), dtype=torch.float64)
    return ((0.25 + 0.75 * (flat * 0.7 + phase).sin().abs()) * torch.where(flat % 3 == 1, -1.0, 1.0)).reshape(shape)


def _wave(context: Context, shape: tuple[int, ...], phase: float) -> Any:
    """``_waves``, once a pool."""
    return context.cached(("waves", shape, phase), lambda: _waves(context.torch, shape, phase))


def optimizers(context: Context) -> None:
    """SGD, Adam and AdamW in every way that torch has: four steps, rates and decays change."""
    torch = context.torch
    for kind, formula, options in _KINDS:
        made = getattr(torch.optim, kind)
        ways: dict[str, Any] = {}
        for way, chosen in _WAYS:
            context.mark(f"{kind} ({way})")
            shapes = (*_SHAPES, _LONG) if way in ("foreach", "fused") else _SHAPES
            held = [torch.nn.Parameter(_wave(context, shape, 0.3).float().to(context.device)) for shape in shapes]
            try:
                optimizer = made(held, lr=1e-2, weight_decay=0.1, **options, **chosen)
            except (RuntimeError, TypeError) as error:  # a way that this release or device does not have
                context.facts.setdefault("not_implemented", []).append(f"{kind} ({way}): {error}"[:80])
                continue
            _steps(context, f"{kind} ({way})", optimizer, held, formula)
            ways[way] = [one.detach() for one in held[: len(_SHAPES)]]
        _whose_fault(context, kind, ways)
    _clipping(context)


def _whose_fault(context: Context, kind: str, ways: dict[str, list[Any]]) -> None:
    """Kernels of different ways are not wrong alike: what is the same in all comes from the settings or from above."""
    found = [one for one in context.comparison.faults if one["name"].partition(f"{kind} (")[1]]
    long = f"tensor {len(_SHAPES)}"  # two ways alone step it: that all others agree says nothing of it
    found = [one for one in found if not one["name"].endswith(long)]
    if not found or not {"plain", "foreach", "fused"} <= {*ways}:
        return
    limit, first = context.limit(_LIMIT), ways["plain"]
    same = all(
        float((one - other).abs().max()) <= 4 * limit for many in ways.values() for one, other in zip(first, many)
    )
    for one in found if same else ():
        one["layer"] = "framework"
        one["words"] = f"{one['words']}; {', '.join(ways)} agree, so it is no kernel of one of them"[:400]


def _steps(context: Context, name: str, optimizer: Any, held: list[Any], formula: Formula) -> None:
    torch = context.torch
    wanted = [one.detach().double().cpu() for one in held]
    states: list[dict[str, Any]] = [{} for _ in held]
    group = optimizer.param_groups[0]
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0 / (1 + step))
    for step in range(_STEPS):
        group["weight_decay"] = 0.1 / (1 + step)
        for number, one in enumerate(held):
            grad = _wave(context, tuple(one.shape), 0.5 + step).float()
            one.grad = grad.to(context.device)
            wanted[number] = formula(states[number], wanted[number], grad.double(), 1e-2 / (1 + step), 0.1 / (1 + step))
        optimizer.step()
        schedule.step()
        for number, one in enumerate(held):
            where = f"{name}, tensor {number}"
            context.check("local", where, one, wanted[number], tolerance=_LIMIT, scale=1.0, step=step)
            for part, right in states[number].items():
                got = optimizer.state[one].get(part)
                context.expect(
                    "local", f"{part} of {where}", got is not None, "is missing", step=step, layer="framework"
                )
                if got is not None:
                    context.check("local", f"{part} of {where}", got, right, tolerance=_LIMIT, step=step)


def _clipping(context: Context) -> None:
    """Gradients are scaled down to a norm over all of them; smaller ones are left as they are."""
    torch = context.torch
    context.mark("clipping of gradients")
    held = [torch.nn.Parameter(torch.zeros(shape, device=context.device)) for shape in _SHAPES]
    exact = [_waves(torch, shape, 0.9).float() for shape in _SHAPES]
    norm = math.sqrt(sum(float((one.double() ** 2).sum()) for one in exact))
    for most, factor in ((norm / 4, 0.25), (2 * norm, 1.0)):
        for one, grad in zip(held, exact):
            one.grad = grad.to(context.device).clone()
        got = torch.nn.utils.clip_grad_norm_(held, most)
        context.check("local", "norm of all gradients", got, norm, tolerance=_CLIPPED, step=_STEPS)
        for number, (one, grad) in enumerate(zip(held, exact)):
            name = f"clipped gradient {number}"
            context.check("local", name, one.grad, factor * grad.double(), tolerance=_CLIPPED, step=_STEPS)


def dropout(context: Context) -> None:
    """Drops the share that it should, scales the rest, goes back through the same places; random streams of ranks."""
    from torch.utils.checkpoint import checkpoint

    torch = context.torch
    functional = torch.nn.functional
    size, share = 16384, 0.25
    context.mark("dropout")
    drawn = []
    for seed in (1000 + context.rank, 1000 + context.rank, 77):
        torch.manual_seed(seed)
        ones = torch.ones(size, device=context.device, requires_grad=True)
        got = functional.dropout(ones, share, training=True)
        got.backward(torch.full_like(got, 3.0))
        kept = got.detach() != 0
        count = int(kept.sum())
        far = _FAR * math.sqrt(size * share * (1 - share))
        words = f"keeps {count} of {size} values, not about {size * (1 - share):.0f}"
        context.expect("local", "dropout", abs(count - size * (1 - share)) < far, words, layer="device")
        scaled = kept.double() / (1 - share)
        context.check("local", "what dropout keeps", got, scaled, tolerance=_SCALED)
        context.check("local", "gradient of dropout", ones.grad, 3 * scaled, tolerance=_SCALED)
        drawn.append(kept)
    again = bool((drawn[0] == drawn[1]).all())
    context.expect("local", "dropout", again, "draws other numbers from the same seed", layer="device")
    ones = torch.ones(64, device=context.device)
    context.check(
        "local", "dropout in evaluation", functional.dropout(ones, share, training=False), ones, tolerance=0.0
    )
    for way in (False, True):
        context.mark("dropout recomputed in the backward pass")
        ones = torch.ones(size, device=context.device, requires_grad=True)
        got = checkpoint(lambda x: functional.dropout(x * 2.0, share) * x, ones, use_reentrant=way)
        got.sum().backward()
        kept = (got.detach() != 0).double()
        words = f"gradient of recomputed dropout ({'reentrant' if way else 'non-reentrant'})"
        context.check("local", words, ones.grad, 4 * kept / (1 - share), tolerance=_SCALED, layer="framework")
    if context.world > 1:
        _streams(context, drawn)
    torch.manual_seed(0)


def _streams(context: Context, drawn: list[Any]) -> None:
    """Ranks with seeds of their own draw different numbers; with one seed the same."""
    torch, dist = context.torch, context.torch.distributed
    context.mark("first random numbers from one seed")
    firsts: list[Any] = [None] * context.world
    dist.all_gather_object(firsts, draws.first(torch))
    # Where all get another number than is known, the generator is another one.
    usual = firsts[context.rank] == draws.FIRST or len(set(firsts)) == 1
    context.expect("input", "random numbers from a seed", usual, draws.CHANGED, layer="framework")
    bits = [one[: 1 << 12].to(torch.uint8) for one in (drawn[0], drawn[2])]
    for own, what in zip(bits, ("a seed of their own", "the same seed")):
        context.mark(f"random numbers of ranks with {what}")
        many = [torch.empty_like(own) for _ in range(context.world)]
        dist.all_gather(many, own)
        if own is bits[0]:
            twins = [rank for rank, one in enumerate(many) if rank != context.rank and torch.equal(one, own)]
            others = " and ".join(f"rank {rank}" for rank in twins)
            words = f"drew the same random numbers as {others}, although their seeds differ"
            context.expect("value", "this rank", not twins, words, layer="framework")
            continue
        name = "random numbers from one seed"
        usual = agreed(torch, many)
        if usual is not None:
            context.check("value", name, own, usual, tolerance=0.0, layer="device")
        else:
            words = "differ between the ranks, and it is not clear which are right"
            context.expect("value", name, False, words, layer="device")


def evaluation(context: Context) -> None:
    """A model in evaluation is the same function without dropout, and computes no gradients."""
    torch = context.torch
    context.mark("evaluation")
    model = context.build(1).eval()
    exact = plain.model(torch, context.sizes, 1)
    tokens = context.batches(1)[0][0]
    with torch.no_grad():
        got, wanted = model(tokens), exact(tokens.cpu())
    context.expect("local", "the result in evaluation", not got.requires_grad, "wants gradients", layer="framework")
    context.check("local", "the result in evaluation", got, wanted)


def chance(context: Context) -> None:
    """Dropout, random streams of ranks, evaluation."""
    dropout(context)
    evaluation(context)


_STEPPED = Proof(
    "four steps of SGD, Adam and AdamW on given gradients, with changing rates and decays: parameters and "
    "all states; gradients clipped to a norm",
    "the published formulas of the optimizers in double precision",
    (_LIMIT, _CLIPPED),
)
_DRAWN = Proof(
    "what dropout drops, keeps and scales, forward and backward; random numbers of ranks; a model in evaluation",
    "the same scale in double precision; one seed gives the same numbers on most ranks, other seeds give different "
    "numbers; the model from published formulas",
    (EXACT, _SCALED, _FAR, *usual("local")),
)
MODES = (
    Mode(
        "optimizers",
        "SGD, Adam and AdamW against their formulas: plain, foreach, fused; clipping",
        optimizers,
        _STEPPED,
    ),
    Mode("dropout", "dropout, random numbers of ranks, evaluation", chance, _DRAWN),
)

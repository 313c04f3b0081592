"""Four steps of training as jobs do it: AdamW, changing rates and decays, clipping, buffers, tied and frozen weights.

The model of these modes has its head tied to its embedding, a frozen weight, a weight that nothing uses and a buffer.
What each rank holds is compared after every step: gradients and their norm, parameters, both moments of the optimizer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .. import model as models
from .. import plain, shards
from ..compare import END_TURN
from ..context import Context
from ..mode import Mode
from ..tolerance import PLAIN, Proof, Tolerance, usual
from . import ddp, fsdp2

ORDER = 43
_STEPS, _LAYERS = 4, 2
_FROZEN = "blocks.0.up.weight"
_CLEAR = Tolerance(
    1e-2,
    "how large the gradients of a value must have been in every step so far for its new parameter to be compared",
    "AdamW moves a value by its rate, however small its gradient is: if that is close to 0, "
    "rounding decides the direction",
    unit="of the largest gradient",
)
_OF_A_STEP = Tolerance(
    2e-2,
    "parameters after a step",
    "1.7e-3 at most was seen (torch 2.13.0, gloo, 2, 3 and 4 ranks, three runs each); leaving "
    "out an update or its decay makes a difference of 0.1 or more",
    unit="of the learning rate",
    scaled=True,
)


def _rate(step: int) -> float:
    return 1e-3 / (1 + step)


def _decay(step: int) -> float:
    return 0.1 * (1 + step)


def _gain(step: int) -> float:
    return 1.0 + 0.25 * step


class LongStep:
    """What one process computes in a step, by plain formulas."""

    __slots__ = ("after", "before", "clear", "first", "grads", "loss", "norm", "second", "whole")

    def __init__(self, loss: Any, whole: dict[str, Any], grads: dict[str, Any], norm: Any) -> None:
        self.loss, self.whole, self.grads, self.norm = loss, whole, grads, norm
        self.before: dict[str, Any] = {}
        self.first: dict[str, Any] = {}
        self.second: dict[str, Any] = {}
        self.after: dict[str, Any] = {}
        self.clear: dict[str, Any] = {}


def with_extras(torch: Any, model: Any) -> Any:
    """The model with a tied head, a frozen weight, an unused one, buffers, and a weight of seven rows.

    The result is scaled by a buffer and by a weighted sum of the seven, which few numbers of ranks divide.
    """
    model.head.weight = model.embedding.weight
    model.get_parameter(_FROZEN).requires_grad_(False)
    model.spare = torch.nn.Parameter(torch.ones(5, dtype=model.norm.weight.dtype, device=model.norm.weight.device))
    model.register_buffer("gain", torch.ones((), dtype=model.norm.weight.dtype, device=model.norm.weight.device))
    model.register_buffer("count", torch.zeros((), dtype=torch.int64, device=model.norm.weight.device))
    rows = torch.arange(1.0, 8.0).to(model.norm.weight)
    model.tilt = torch.nn.Parameter(torch.ones_like(rows))
    model.norm.register_forward_hook(
        lambda _module, _inputs, result: result * model.gain * (model.tilt * rows).sum() / 28.0
    )
    return model


def reference(context: Context) -> list[LongStep]:
    """All steps; made once a pool."""
    found: list[LongStep] = context.cached("longer", lambda: _reference(context))
    context.compared("longer", [one for step in found for one in (step.loss, *step.after.values())])
    return found


def _reference(context: Context) -> list[LongStep]:
    torch = context.torch
    trained = with_extras(torch, plain.model(torch, context.sizes, _LAYERS))
    named = {name: one for name, one in trained.named_parameters() if one.requires_grad and name != "spare"}
    held = {name: one.detach().clone() for name, one in named.items()}
    optimizer, found = plain.Optimizer("adamw"), []
    clear = {name: torch.ones_like(one, dtype=torch.bool) for name, one in held.items()}
    for step, (tokens, targets) in enumerate(models.batches(torch, context.sizes, _STEPS)):
        trained.gain.fill_(_gain(step))
        loss = plain.row_losses(torch, trained(tokens), targets).mean()
        whole = dict(zip(named, torch.autograd.grad(loss, list(named.values()))))
        norm = sum((one * one).sum() for one in whole.values()) ** 0.5
        grads = {name: one / 2 for name, one in whole.items()}  # the norm that is allowed is half of it
        made = LongStep(loss.detach(), whole, grads, norm)
        made.before = held
        held = optimizer.step(held, grads, _rate(step), _decay(step))
        largest = max(float(one.abs().max()) for one in grads.values())
        clear = {name: one & (grads[name].abs() > _CLEAR * largest) for name, one in clear.items()}
        made.first = {name: one[0] for name, one in optimizer.moments.items()}
        made.second = {name: one[1] for name, one in optimizer.moments.items()}
        made.after, made.clear = held, clear
        found.append(made)
        with torch.no_grad():
            for name, one in named.items():
                one.copy_(held[name])
    return found


def _train(
    context: Context,
    model: Any,
    named: Mapping[str, Any],
    cut: Callable[[Mapping[str, Any]], dict[str, Any]],
    before: Callable[[int], None],
    norm_of: Callable[[Any], Any],
    seen: Callable[[int], None] | None = None,
    parts: Callable[[int], int] = lambda _: 1,
    summed: bool = False,
) -> None:
    """``named``: the parameters that learn, by plain name; ``cut``: this rank's parts of whole tensors; ``before`` and
    ``seen`` are called before each forward and after it; ``parts``: in how many micro-batches a step is made, the last
    of which alone is exchanged; ``summed``: each rank holds another part of the gradients."""
    torch, dist = context.torch, context.torch.distributed
    wanted = reference(context)
    optimizer = torch.optim.AdamW(list(named.values()), lr=1.0)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, _rate)
    for step, (tokens, targets) in enumerate(context.batches(_STEPS)):
        right = wanted[step]
        optimizer.param_groups[0]["weight_decay"] = _decay(step)
        before(step)
        context.clear(optimizer, step)
        context.mark(f"step {step}: forward and backward")
        total, many = torch.zeros((), device=context.device), parts(step)
        for number, (rows, right_rows) in enumerate(
            zip(context.share(tokens).chunk(many), context.share(targets).chunk(many))
        ):
            if many > 1:
                model.set_requires_gradient_sync(number == many - 1)
            loss = models.loss_of(torch, model(rows), right_rows) / many
            if seen is not None:
                seen(step)
            loss.backward()
            total += loss.detach()
        context.mark(f"step {step}: mean of the losses, all_reduce float32[]")
        dist.all_reduce(total)
        context.check("loss", "loss", total / context.world, right.loss, step=step)
        grads = {name: shards.local_of(one.grad) for name, one in named.items() if one.grad is not None}
        context.check_all("grad", grads, cut(right.whole), step=step, summed=summed)
        context.mark(f"step {step}: clipping")
        norm = norm_of(torch.nn.utils.clip_grad_norm_(list(named.values()), float(right.norm) / 2))
        # Off by no more than each gradient is, relative to its own: 7.7e-8 was seen (as below).
        own: dict[str, Any] = {"step": step, "turn": END_TURN - 9, "layer": "framework"}
        context.check("grad", "norm of all gradients", norm, right.norm, **own)
        clipped = {f"clipped {name}": shards.local_of(one.grad) for name, one in named.items() if one.grad is not None}
        halves = {f"clipped {name}": one for name, one in cut(right.grads).items()}
        # The gradients and their norm were compared: this rank alone makes these of them.
        context.check_all("local", clipped, halves, step=step, turn=END_TURN - 8, tolerance=context.limit("grad"))
        context.mark(f"step {step}: optimizer")
        optimizer.step()
        schedule.step()
        _compare_states(context, optimizer, named, cut, right, step)


def _compare_states(
    context: Context,
    optimizer: Any,
    named: Mapping[str, Any],
    cut: Callable[[Mapping[str, Any]], dict[str, Any]],
    right: LongStep,
    step: int,
) -> None:
    """The moments, which follow the gradients smoothly, then the parameters where a step is certain."""
    torch, first, second = context.torch, cut(right.first), cut(right.second)
    both = {name: (one, second[name]) for name, one in first.items()}
    ddp.check_moments(context, "param", named, optimizer.state, both, step=step, turn=END_TURN - 1, layer="device")
    clear, after = cut(right.clear), cut(right.after)
    limit, rate = context.limit(_OF_A_STEP), _rate(step)
    made = {name: shards.local_of(one).detach().clone() for name, one in named.items()}
    for name, one in named.items():
        own = shards.local_of(one)
        held = own.detach().double().cpu()
        doubt = torch.where(clear[name], limit * rate, 2 * plain.LONGEST * rate)
        # What rounding decided is set to what is expected: the gradients of the next step depend on it.
        sure = plain.settled(torch, held, after[name], doubt)
        with torch.no_grad():
            own.copy_(sure)
        context.check("param", name, sure, after[name], step=step, tolerance=limit, scale=rate, layer="device")
    context.comparison.weigh_steps(made, cut(right.before), after, step)


def data_parallel(context: Context) -> None:
    """DistributedDataParallel with several buckets, buffers that rank 0 rules, an unused weight."""
    torch = context.torch
    inner = with_extras(torch, context.build(_LAYERS))
    if context.rank:
        with torch.no_grad():
            inner.gain.add_(context.rank)
    model = ddp.distributed(context, inner, find_unused_parameters=True)

    def before(step: int) -> None:
        # Rank 0 rules: what others hold is written over in the forward.
        inner.gain.fill_(_gain(step) + context.rank)
        inner.count.fill_(10 * step + context.rank)

    def seen(step: int) -> None:
        for name, buffer, right in (("the buffer", inner.gain, _gain(step)), ("whole buffer", inner.count, 10 * step)):
            held = float(buffer)
            words = f"is {held:g} after the forward pass: rank 0's value, {right:g}, did not arrive"
            context.expect("value", name, held == right, words, step=step, turn=0, layer="framework")

    named = {models.plain_name(name): one for name, one in model.named_parameters() if one.requires_grad}
    unused = named.pop("spare")
    _train(context, model, named, dict, before, lambda norm: norm, seen)
    words = "has a gradient, although nothing used it"
    idle = unused.grad is None or not bool(unused.grad.any())
    context.expect("grad", "the unused weight", idle, words, step=_STEPS, layer="framework")
    _several_buckets(context, model)


def _several_buckets(context: Context, model: Any) -> None:
    told: dict[str, Any] = getattr(model, "_get_ddp_logging_data", dict)()
    sizes = str(told.get("rebuilt_bucket_sizes") or told.get("bucket_sizes") or "")
    if sizes:
        count = len(sizes.split(","))
        context.facts["buckets"] = count
        context.expect(
            "grad", "buckets", count >= 3, f"are {count} instead of 3 or more", step=_STEPS, layer="framework"
        )


def sharded(context: Context) -> None:
    """FSDP2: the same with split parameters and moments, and a norm over all shards."""
    fsdp2.trains(context)
    context.need(hasattr(context.torch.distributed, "device_mesh"), "needs torch 2.2 or later: device meshes")
    torch = context.torch
    inner = with_extras(torch, context.build(_LAYERS))
    context.mark("splitting the parameters")
    fsdp2.shard(context, inner)

    def before(step: int) -> None:
        inner.gain.fill_(_gain(step))

    named = {name: one for name, one in inner.named_parameters() if one.requires_grad and name != "spare"}

    def cut(whole: Mapping[str, Any]) -> dict[str, Any]:
        return {name: shards.chunk(one, context.world, context.rank) for name, one in whole.items()}

    def norm_of(norm: Any) -> Any:
        return norm.full_tensor() if shards.is_sharded(norm) else norm

    _train(context, inner, named, cut, before, norm_of, None, lambda step: 2 if step == _STEPS - 1 else 1, True)


_LONGER = Proof(
    "four steps of AdamW with changing learning rates and decays, clipping, buffers, and tied, "
    "frozen and unused weights. Compared: loss, "
    "gradients, their norm, clipped gradients, both moments, parameters",
    PLAIN,
    (*usual("loss", "grad"), ddp.MOMENTS, _CLEAR, _OF_A_STEP, plain.LONGEST),
)
MODES = (
    Mode(
        "ddp-longer",
        "data parallel: four steps of AdamW, buckets, buffers, tied and frozen weights",
        data_parallel,
        _LONGER,
    ),
    Mode(
        "fsdp2-longer",
        "FSDP2: four steps of AdamW, changing learning rates, clipping over all shards",
        sharded,
        _LONGER,
    ),
)

"""DistributedDataParallel: plain and with gradient accumulation."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

from .. import model as models
from .. import shards, whose
from ..compare import END_TURN
from ..context import Context
from ..mode import Mode
from ..tolerance import FP32, TRAINED, Tolerance

ORDER = 30
_BUCKET_MB = 0.035  # the model has 0.22 MiB, that of the longer mode half of it
AFTER_ROUNDING = Tolerance(
    1e-4,
    "what a rank computes by itself with parameters that 16-bit gradients changed",
    "their rounding is in the parameters: 2.5e-6 was seen with fp16 (torch 2.13.0, 4 ranks), and bf16 rounds 8 times "
    "as much",
)

MOMENTS = FP32["grad"].times(
    2,
    "both moments of AdamW",
    "they follow the gradients, and squares have twice their rounding: 5.4e-7 was seen (torch 2.13.0, gloo, 2 to 4 "
    "ranks)",
)


def train(
    context: Context,
    model: Any,
    optimizer: Any,
    *,
    kind: str = "sgd",
    accumulate: int = 1,
    tolerance: float | None = None,
    parameter_tolerance: float | None = None,
    owned: Collection[str] = (),
    owners: Mapping[str, int] | None = None,
    steps: Sequence[int] = (0, 1),
    backward: Callable[[Any], None] | None = None,
    after: Callable[[int], None] | None = None,
) -> None:
    """Train on this rank's share and compare each step with one process on the whole batch.

    Compared are the start (broadcast), what this rank contributes by itself, the loss, every gradient and every
    parameter. ``model`` is the wrapped model; its parameters are not split. ``owned`` names the parameters that this
    rank alone updates and then hands to the others: they are judged first; ``owners``: who does so with each.
    ``backward`` is called for the loss instead of its own, ``after`` after each of the ``steps``.
    """
    torch, dist = context.torch, context.torch.distributed
    wanted = context.reference(kind, steps[-1] + 1)
    data = context.batches(steps[-1] + 1)
    own: dict[str, Any] = {}
    alone = None if tolerance is None else max(AFTER_ROUNDING, context.limit("local"))
    others = [rank for rank in range(context.world) if rank != context.rank]
    handles = [one.register_hook(keep(own, models.plain_name(name))) for name, one in model.named_parameters()]
    for step in steps:
        tokens, targets = data[step]
        context.mark(f"step {step}: forward and backward")
        held = models.parameters(model)
        context.check_all(
            "before",
            context.certain(step - 1, steps[-1] + 1, held) if kind == "adamw" and step else held,
            wanted.before[step],
            step=step,
            tolerance=0.0 if step == 0 else parameter_tolerance,
        )
        context.clear(optimizer, step)
        own.clear()
        _, local = context.share_alone(kind, steps[-1] + 1, step, context.rank)
        tokens, targets = context.share(tokens), context.share(targets)
        part = tokens.shape[0] // accumulate
        loss = torch.zeros((), device=context.device)
        for turn in range(accumulate):
            rows = slice(turn * part, (turn + 1) * part)
            last = turn == accumulate - 1
            with contextlib.nullcontext() if last else model.no_sync():
                share = models.loss_of(torch, model(tokens[rows]), targets[rows]) / accumulate
                share.backward() if backward is None else backward(share)
            loss += share.detach()
            if not last:
                added: dict[str, Any] = {"step": step, "tolerance": alone, "whole_layer": "framework"}
                context.check_all("local", models.gradients(model), own, **added)
        of_others = {
            f"what rank {rank}'s share of the batch gives": partial(
                _gradients_of, context, kind, steps[-1] + 1, step, rank
            )
            for rank in others
        }
        context.check_all("local", own, local, step=step, tolerance=alone, hints=of_others)
        total = loss.clone()
        context.mark(f"step {step}: mean of the losses, all_reduce float32[]")
        dist.all_reduce(total)
        context.check("loss", "loss", total / context.world, wanted.losses[step], step=step)
        context.check_all(
            "grad",
            models.gradients(model),
            wanted.grads[step],
            step=step,
            tolerance=tolerance,
            hints={
                "this rank's own gradient: nothing was exchanged": local,
                **({"that of the step before": wanted.grads[step - 1]} if step else {}),
            },
        )
        _whose(context, model, wanted, kind, step)
        optimizer.step()
        limit = parameter_tolerance or tolerance
        right = wanted.after[step]
        mine = {name: right[name] for name in owned or right}  # what this rank's own optimizer has moved
        rest = {name: one for name, one in right.items() if name not in mine}
        made = models.parameters(model)
        held = context.certain(step, steps[-1] + 1, made) if kind == "adamw" else made
        context.check_all("param", held, mine, step=step, tolerance=limit, turn=END_TURN - 1, layer="device")
        context.comparison.weigh_steps(made, wanted.before[step], mine, step)
        known = {name: torch.tensor(rank) for name, rank in (owners or {}).items()}
        context.check_all("param", held, rest, step=step, tolerance=limit, owners=known)
        for fault in context.comparison.faults:
            if fault["stage"] == "param" and fault["name"] in known:
                fault["alike"] = True
        if kind == "adamw":
            _go_on_with(torch, model, held)
        if after is not None:
            after(step)
    for handle in handles:
        handle.remove()


def _gradients_of(context: Context, kind: str, steps: int, step: int, rank: int) -> dict[str, Any]:
    """What a rank contributes by itself."""
    return context.share_alone(kind, steps, step, rank)[1]


def _whose(context: Context, model: Any, wanted: Any, kind: str, step: int) -> None:
    """Find the one rank whose share explains how the mean of the gradients is wrong, and note it with the faults."""
    count = len(wanted.grads)

    def given(rank: int) -> list[Mapping[str, Any]]:
        return [_gradients_of(context, kind, count, each, rank) for each in range(max(0, step - 1), step + 1)]

    whose_mean(context, "grad", step, models.gradients(model), wanted.grads[step], given)


def whose_mean(
    context: Context,
    stage: str,
    step: int,
    got: Mapping[str, Any],
    wanted: Mapping[str, Any],
    given: Callable[[int], Sequence[Mapping[str, Any]]],
) -> None:
    """Find the one rank whose part explains how a mean over all ranks is wrong, and note it with the faults.

    Only where that was the first thing wrong. ``given``: what a rank gave to this mean, last, behind what it gave to
    earlier ones.
    """
    faults = [one for one in context.comparison.faults if (one["stage"], one["step"]) == (stage, step)]
    if not faults or context.world == 1 or context.comparison.faults[0] is not faults[0]:
        return
    names = [one["name"] for one in faults]
    if not all(name in got and got[name].shape == wanted[name].shape for name in names):
        return
    error = [got[name].double().cpu() - wanted[name].double().cpu() for name in names]
    parts, others = {}, {}
    for rank in range(context.world):
        *before, now = given(rank)
        parts[rank] = [now[name] / context.world for name in names]
        others[rank] = [[one[name] / context.world for one in before] for name in names]
    for one in faults:
        one["total"] = True
    if found := whose.explained(context.torch, error, parts, others):
        whose.note(faults, found)


def check_moments(
    context: Context,
    stage: str,
    named: Mapping[str, Any],
    state: Any,
    wanted: Mapping[str, tuple[Any, Any]],
    *,
    step: int,
    turn: int | None = None,
    layer: str = "",
) -> None:
    """Compare AdamW's moments of the parameters, which rounding does not turn about as it does their steps."""
    for place, part in enumerate(("exp_avg", "exp_avg_sq")):
        got = {
            f"{part} of {name}": shards.local_of(kept[part])
            for name, one in named.items()
            if part in (kept := state[one])
        }
        right = {f"{part} of {name}": both[place] for name, both in wanted.items()}
        limit = context.limit(MOMENTS)
        context.check_all(stage, got, right, step=step, tolerance=limit, turn=turn, layer=layer)


def _go_on_with(torch: Any, model: Any, held: dict[str, Any]) -> None:
    """Set what rounding decided to what is expected: the gradients of the next step depend on it."""
    with torch.no_grad():
        for name, one in model.named_parameters():
            one.copy_(held[models.plain_name(name)])


def keep(into: dict[str, Any], name: str) -> Callable[[Any], None]:
    """A hook of a parameter that adds up what this rank contributes."""

    def hook(gradient: Any) -> None:
        into[name] = into[name] + gradient if name in into else gradient.detach().clone()

    return hook


def wrap(context: Context, **options: Any) -> Any:
    """The model in DistributedDataParallel; ranks begin with different numbers, which it has to make equal."""
    model = context.build()
    if context.rank:
        with context.torch.no_grad():
            for one in model.parameters():
                one.add_(context.rank)
    return distributed(context, model, **options)


def distributed(context: Context, model: Any, **options: Any) -> Any:
    """A model in DistributedDataParallel; its gradients travel in several buckets."""
    from torch.nn.parallel import DistributedDataParallel

    ids = [context.device.index] if context.device.type == "cuda" else None
    return DistributedDataParallel(model, device_ids=ids, **{"bucket_cap_mb": _BUCKET_MB, **options})


def plain(context: Context) -> None:
    """Two steps with SGD."""
    model = wrap(context)
    train(context, model, models.optimizer_for(context.torch, "sgd", model.parameters()))


def no_sync(context: Context) -> None:
    """Gradients of two micro-batches are added before they are exchanged once."""
    model = wrap(context)
    train(context, model, models.optimizer_for(context.torch, "sgd", model.parameters()), accumulate=2)


MODES = (
    Mode("ddp", "data parallel (DistributedDataParallel)", plain, TRAINED),
    Mode("ddp-no-sync", "data parallel with gradient accumulation (no_sync)", no_sync, TRAINED),
)

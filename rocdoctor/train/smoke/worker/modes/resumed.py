"""Training that is resumed by a different number of ranks from a sharded checkpoint, in the middle and back again."""

from __future__ import annotations

import os
from typing import Any

from .. import model as models
from .. import shards
from ..compare import END_TURN
from ..context import Context
from ..mode import Mode
from ..tolerance import PLAIN, Proof, usual
from . import ddp, fsdp2
from .checkpoint import half_of_ranks, load_state, remove_folder, save_state, tools_for

ORDER = 96
_WHO = ("all", "half", "all")


def run(context: Context) -> None:
    """A step of AdamW by all ranks, one by half of them, one by all; each goes on from what the last ones saved."""
    fsdp2.trains(context)
    tools, torch = tools_for(context), context.torch
    few = list(range(context.world // 2))
    mesh, group = context.cached("half of the ranks", lambda: half_of_ranks(context, few))
    for step, who in enumerate(_WHO):
        folder, before = (os.path.join(context.folder, f"resumed-{number}") for number in (step, step - 1))
        if who == "all" or context.rank in few:
            _step(context, tools, step, before if step else "", folder, len(few) if who == "half" else 0, mesh, group)
        context.mark(f"waiting until {who} of the ranks have done step {step}")
        torch.distributed.barrier()
    for step in range(len(_WHO)):
        remove_folder(context, os.path.join(context.folder, f"resumed-{step}"))


def _step(context: Context, tools: Any, step: int, before: str, folder: str, count: int, mesh: Any, group: Any) -> None:
    """One step by ``count`` ranks (0: all), from the checkpoint ``before``, saved into ``folder``."""
    torch, steps = context.torch, len(_WHO)
    among = {"process_group": group} if count else {}
    world = count or context.world
    wanted = context.reference("adamw", steps)

    def part(whole: Any) -> dict[str, Any]:
        return {name: shards.chunk(one, world, context.rank) for name, one in whole.items()}

    def moments(after: int) -> dict[str, tuple[Any, Any]]:
        first, second = ({name: both[place] for name, both in wanted.moments[after].items()} for place in (0, 1))
        parts = part(second)
        return {name: (one, parts[name]) for name, one in part(first).items()}

    model = context.build()
    chosen = mesh if count else context.mesh(context.world, names=("shard",))
    for block in model.blocks:
        fsdp2.library(context).fully_shard(block, mesh=chosen)
    fsdp2.library(context).fully_shard(model, mesh=chosen)
    optimizer = models.optimizer_for(torch, "adamw", model.parameters())
    named = dict(model.named_parameters())
    if before:
        context.mark(f"loading what was saved after step {step - 1}")
        load_state(context, tools, model, optimizer, before, **among)
        loaded = moments(step - 1)
        ddp.check_moments(context, "before", named, optimizer.state, loaded, step=step, turn=-1, layer="framework")
    held = shards.parameter_parts(model)
    held = context.certain(step - 1, steps, held, part) if step else held
    same = None if step else 0.0
    context.check_all("before", held, part(wanted.before[step]), step=step, tolerance=same, layer="framework")
    tokens, targets = context.batches(steps)[step]
    mine, right = context.share(tokens, world=world), context.share(targets, world=world)
    context.mark(f"step {step}: forward and backward")
    loss = models.loss_of(torch, model(mine), right)
    alone, _ = context.alone(wanted.before[step], mine, right)
    context.check("local", "loss of this rank's rows", loss, alone, step=step)
    loss.backward()
    context.check_all("grad", shards.gradient_parts(model), part(wanted.grads[step]), step=step)
    context.mark(f"step {step}: optimizer")
    optimizer.step()
    made, turn = moments(step), END_TURN - 1
    ddp.check_moments(context, "param", named, optimizer.state, made, step=step, turn=turn, layer="device")
    held = context.certain(step, steps, shards.parameter_parts(model), part)
    context.check_all("param", held, part(wanted.after[step]), step=step, layer="device")
    with torch.no_grad():
        for name, one in named.items():  # what rounding decided is set to what is expected: the next step depends on it
            shards.local_of(one).copy_(held[name])
    context.mark(f"saving after step {step}")
    save_state(context, tools, model, optimizer, folder, **among)


_RESUMED = Proof(
    "three steps of AdamW: by all ranks, by half of them, by all, each from the sharded checkpoint of the one before: "
    "parameters and both moments as loaded, the loss, gradients, moments and parameters after",
    PLAIN,
    (*usual("before", "local", "grad", "param"), ddp.MOMENTS),
)
MODES = (
    Mode(
        "resume-resized",
        "training that fewer and then more ranks resume from a sharded checkpoint",
        run,
        _RESUMED,
        full=True,
        min_world=2,
        objects=True,
    ),
)

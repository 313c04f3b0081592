"""Elastic restart: torchrun starts the group again after a rank was killed, and training resumes from a checkpoint."""

from __future__ import annotations

import os
from typing import Any

from .. import model as models
from .. import plain, torchrun
from ..launched import LaunchedContext
from ..mode import Launch, Mode
from ..tolerance import TRAINED
from . import ddp

ORDER = 200
# Steps before and after the loss; the rank dies in the first of the latter.
_BEFORE, _AFTER = (0, 1), (2, 3)
# Else torchrun keeps one store for all starts of the group, and a rank may find the address that another one had before
# the restart: "Connection refused", or waiting for ever. Seen in 4 of 8 restarts with torch 2.13.0 and gloo, in none of
# 25 with this.
_UNSHARED = "TORCH_DISABLE_SHARE_RDZV_TCP_STORE"


def restart(context: LaunchedContext) -> None:
    """Train, lose a rank, resume; each step is compared with one process that was never interrupted."""
    context.form()
    model = ddp.wrap(context)
    optimizer = models.optimizer_for(context.torch, "adamw", model.parameters())
    path = os.path.join(context.folder, "checkpoint.pt")
    if context.attempt == 0:
        _until_the_loss(context, model, optimizer, path)
        return
    context.facts["starts"] = context.attempt + 1
    context.facts["environment"] = f"{_UNSHARED}=1, which torchrun of torch 2.13 needs for a sure restart"
    context.mark("loading the checkpoint")
    saved: Any = context.torch.load(path, map_location=context.device, weights_only=True)
    context.expect(
        "before",
        "the checkpoint",
        saved["step"] == _AFTER[0],
        f"resumes at step {saved['step']} instead of {_AFTER[0]}",
        step=_AFTER[0],
        layer="framework",
    )
    model.module.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    _compare_loaded(context, model, optimizer)
    ddp.train(context, model, optimizer, kind="adamw", steps=_AFTER)


def _until_the_loss(context: LaunchedContext, model: Any, optimizer: Any, path: str) -> None:
    torch, dist = context.torch, context.torch.distributed

    def save(step: int) -> None:
        context.mark(f"step {step}: writing a checkpoint")
        if context.rank == 0:
            state = {"step": step + 1, "model": model.module.state_dict(), "optimizer": optimizer.state_dict()}
            torch.save(state, path + ".new")
            os.replace(path + ".new", path)
        dist.barrier()

    ddp.train(context, model, optimizer, kind="adamw", steps=_BEFORE, after=save)
    wrong = torch.full((1,), float(len(context.comparison.faults)), device=context.device)
    dist.all_reduce(wrong)
    if float(wrong):
        return  # what is wrong already would be lost with the rank
    victim = context.world - 1
    context.mark(f"step {_AFTER[0]}: rank {victim} ends itself")
    if context.rank == victim:
        context.die()
    tokens, targets = (context.share(one) for one in context.batches(_AFTER[0] + 1)[_AFTER[0]])
    models.loss_of(torch, model(tokens), targets).backward()
    dist.barrier()
    context.expect("value", f"the loss of rank {victim}", False, "was not noticed by this rank", layer="collectives")


def _compare_loaded(context: LaunchedContext, model: Any, optimizer: Any) -> None:
    """Parameters and AdamW's moments against those of one process that was not interrupted.

    Nothing was exchanged since they were loaded, so what differs is no collective's fault.
    """
    last, count = len(_BEFORE) - 1, _AFTER[-1] + 1
    wanted = context.reference("adamw", count)
    held = context.certain(last, count, models.parameters(model))
    context.check_all("before", held, wanted.before[_AFTER[0]], step=_AFTER[0], layer="framework")
    named = {models.plain_name(name): one for name, one in model.named_parameters()}
    ddp.check_moments(
        context, "before", named, optimizer.state, wanted.moments[last], step=_AFTER[0], layer="framework"
    )


def _command(plan: Any) -> list[str]:
    return torchrun.command(plan, restarts=1)


def _environment(_: str) -> dict[str, str]:
    return {_UNSHARED: "1"}


_RESUMED = TRAINED.but(
    ddp.MOMENTS,
    plain.LONGEST,
    computed="two steps of AdamW, the loss of a rank, and two steps from the checkpoint. Compared: "
    "parameters, moments, loss, gradients",
)
MODES = (
    Mode(
        "elastic",
        "a rank is killed, torchrun starts the group again, training resumes",
        restart,
        _RESUMED,
        full=True,
        slow=3.0,
        launch=Launch(_command, environment=_environment, restarts=1),
    ),
)

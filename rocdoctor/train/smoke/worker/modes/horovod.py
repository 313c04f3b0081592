"""Horovod by its own launcher: gradients averaged by its optimizer, against one process."""

from __future__ import annotations

import importlib
from typing import Any

from .. import model as models
from ..launched import LaunchedContext
from ..mode import Launch, LaunchPlan, Mode
from ..tolerance import EXACT, PLAIN, Proof, usual

ORDER = 240


def data_parallel(context: LaunchedContext) -> None:
    """Two steps with SGD; ranks begin with different numbers, which a broadcast has to make equal."""
    torch = context.torch
    context.mark("import horovod.torch")
    horovod: Any = importlib.import_module("horovod.torch")

    context.mark("horovod.init")
    horovod.init()
    place = (horovod.rank(), horovod.size())
    context.expect(
        "input",
        "horovod",
        place == (context.rank, context.world),
        f"makes rank {context.rank} number {place[0]} of {place[1]}",
        layer="configuration",
    )
    if context.comparison.faults:
        return
    model = context.build()
    if context.rank:
        with torch.no_grad():
            for one in model.parameters():
                one.add_(context.rank)
    context.mark("broadcast of the parameters")
    horovod.broadcast_parameters(model.state_dict(), root_rank=0)
    optimizer: Any = horovod.DistributedOptimizer(
        models.optimizer_for(torch, "sgd", model.parameters()), named_parameters=model.named_parameters()
    )
    wanted = context.reference()
    for step, (tokens, targets) in enumerate(context.batches()):
        context.check_all(
            "before", models.parameters(model), wanted.before[step], step=step, tolerance=0.0 if step == 0 else None
        )
        context.clear(optimizer, step)
        context.mark(f"step {step}: forward and backward")
        loss = models.loss_of(torch, model(context.share(tokens)), context.share(targets))
        loss.backward()
        context.mark(f"step {step}: mean of the gradients")
        optimizer.synchronize()
        context.mark(f"step {step}: mean of the losses")
        mean = horovod.allreduce(loss.detach(), name=f"loss {step}")
        context.check("loss", "loss", mean, wanted.losses[step], step=step)
        context.check_all("grad", models.gradients(model), wanted.grads[step], step=step)
        with optimizer.skip_synchronize():
            optimizer.step()
        context.check_all("param", models.parameters(model), wanted.after[step], step=step)


def _command(plan: LaunchPlan) -> list[str]:
    return [
        plan.interpreter,
        "-m",
        "horovod.runner.launch",
        "--gloo",
        "-np",
        str(plan.world),
        "-H",
        f"localhost:{plan.world}",
        plan.interpreter,
        *plan.program,
    ]


def _needs(_: int, backend: str, device: str) -> str:
    return "horovod gives each rank its own GPU" if device != "cpu" and backend != "nccl" else ""


_AVERAGED = Proof(
    "two steps of SGD: parameters, the mean loss, gradients, on every rank",
    PLAIN,
    (EXACT, *usual("before", "loss", "grad", "param")),
)
MODES = (
    Mode(
        "horovod",
        "Horovod, by horovodrun",
        data_parallel,
        _AVERAGED,
        full=True,
        slow=2.0,
        launch=Launch(_command, packages=("horovod",), needs=_needs),
    ),
)

"""Hugging Face Accelerate by its own launcher: as many processes as asked for, one group, the numbers of one process.

With MULTI_CPU and without mpirun, ``accelerate launch`` starts one process and ends with status 0; the way that starts
real processes on the CPU is MULTI_GPU with ACCELERATE_USE_CPU=true (seen with accelerate 1.15.0).
"""

from __future__ import annotations

import importlib
import os
from typing import Any

from .. import model as models
from ..launched import LaunchedContext
from ..mode import Launch, LaunchPlan, Mode
from ..tolerance import TRAINED
from . import ddp

ORDER = 210


def data_parallel(context: LaunchedContext) -> None:
    """Accelerator's own model, optimizer and data, against one process."""
    accelerate: Any = importlib.import_module("accelerate")
    torch = context.torch
    context.mark("Accelerator()")
    accelerator: Any = accelerate.Accelerator(cpu=context.device.type == "cpu")
    kind = str(accelerator.distributed_type).rpartition(".")[2]
    context.facts["distributed_type"] = kind
    wanted = "MULTI_CPU" if context.device.type == "cpu" else "MULTI_GPU"
    context.expect("input", "accelerate", kind == wanted, f"chose {kind} instead of {wanted}", layer="configuration")
    context.expect(
        "input",
        "accelerate",
        accelerator.num_processes == context.world,
        f"counts {accelerator.num_processes} processes instead of {context.world}",
        layer="configuration",
    )
    context.joined("accelerate")
    if context.comparison.faults:
        return
    model = context.build()
    if context.rank:
        with torch.no_grad():
            for one in model.parameters():
                one.add_(context.rank)
    optimizer = models.optimizer_for(torch, "sgd", model.parameters())
    context.mark("accelerator.prepare")
    model, optimizer = accelerator.prepare(model, optimizer)
    _data(context, accelerator)
    ddp.train(context, model, optimizer, backward=accelerator.backward)


def _data(context: LaunchedContext, accelerator: Any) -> None:
    """A prepared DataLoader gives each rank rows of its own, in turns of one batch a rank."""
    torch = context.torch
    rows = torch.arange(context.world * 6)
    size = 2
    loader = accelerator.prepare(torch.utils.data.DataLoader(rows, batch_size=size))
    context.mark("reading data")
    for turn, batch in enumerate(loader):
        first = (turn * context.world + context.rank) * size
        context.check(
            "input", f"batch {turn} of this rank", batch, rows[first : first + size], tolerance=0.0, layer="framework"
        )


def _command(plan: LaunchPlan) -> list[str]:
    path = os.path.join(plan.folder, "accelerate.yaml")
    with open(path, "w") as stream:
        stream.write(
            "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nnum_machines: 1\nmachine_rank: 0\n"
            f"num_processes: {plan.world}\nmain_process_port: {plan.port}\nmixed_precision: 'no'\nuse_cpu: false\n"
        )
    logs = os.path.join(plan.folder, "torchrun")
    # Where the port is taken by then, it has torchrun meet by a store of pickles: in a file, if it must be.
    return [
        plan.interpreter,
        "-m",
        "accelerate.commands.launch",
        "--config_file",
        path,
        "--rdzv_conf",
        "store_type=file",
        "--log_dir",
        logs,
        *plan.program,
    ]


def _environment(device: str) -> dict[str, str]:
    return {"ACCELERATE_USE_CPU": "true"} if device == "cpu" else {}


def _needs(_: int, backend: str, device: str) -> str:
    return "accelerate gives each rank its own GPU" if device != "cpu" and backend != "nccl" else ""


MODES = (
    Mode(
        "accelerate",
        "Hugging Face Accelerate, by accelerate launch",
        data_parallel,
        TRAINED,
        full=True,
        min_world=2,
        slow=2.0,
        launch=Launch(_command, packages=("accelerate",), needs=_needs, environment=_environment),
    ),
)

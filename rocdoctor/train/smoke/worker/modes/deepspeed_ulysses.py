"""DeepSpeed's own sequence parallelism (DeepSpeed-Ulysses) by its launcher, against one process."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

from ..launched import LaunchedContext
from ..mode import Mode
from .context_parallel import ATTENDED, attend, compare, part, whole_inputs
from .deepspeed import LAUNCH

ORDER = 221


def ulysses(context: LaunchedContext) -> None:
    """``DistributedAttention`` over all ranks; what each rank attends to is compared before what comes out."""
    torch = context.torch
    context.mark("import deepspeed")
    deepspeed: Any = importlib.import_module("deepspeed")
    layer: Any = importlib.import_module("deepspeed.sequence.layer")
    words = "needs DeepSpeed 0.14.5 or later: attention that takes the batch first"
    context.need(takes_batch_first(layer.DistributedAttention), words)
    context.mark("deepspeed.init_distributed (compiles an extension when it runs for the first time)")
    deepspeed.init_distributed(dist_backend=context.backend)
    context.joined("deepspeed")
    if context.comparison.faults:
        return
    whole, gradient = whole_inputs(context)
    leaves = [part(context, one).contiguous().requires_grad_() for one in whole]

    def local(*moved: Any) -> Any:
        own = [one.transpose(1, 2) for one in moved]
        for step, (name, got, one) in enumerate(zip(("query", "key", "value"), own, whole)):
            right = one.chunk(context.world, 1)[context.rank]
            context.check("value", f"{name} of this rank's heads", got, right, tolerance=0.0, step=step)
        return attend(torch, 0, *own)[0].transpose(1, 2)

    group = torch.distributed.new_group([*range(context.world)])
    # DeepSpeed's order of dimensions here is (batch, sequence, heads, 8).
    attention: Any = layer.DistributedAttention(local, group, scatter_idx=2, gather_idx=1)
    context.mark("forward")
    output = attention(*(one.transpose(1, 2).contiguous() for one in leaves), 0).transpose(1, 2)
    context.mark("backward")
    output.backward(part(context, gradient).contiguous())
    compare(context, output, leaves, len(leaves))


def takes_batch_first(attention: Any) -> bool:
    """Whether it is told which dimension is the batch; before, its exchange is right for the sequence first alone
    (deepspeed/sequence/layer.py of DeepSpeed 0.14.4 and 0.14.5, read 2026-11-28)."""
    return "batch_dim_idx" in inspect.signature(attention.forward).parameters


MODES = (
    Mode(
        "deepspeed-ulysses",
        "DeepSpeed's exchange of heads (Ulysses), by deepspeed's launcher",
        ulysses,
        ATTENDED,
        full=True,
        slow=6.0,
        launch=LAUNCH,
    ),
)

"""torch.compile together with DistributedDataParallel, against the same model run eagerly in one process."""

from __future__ import annotations

from .. import compiling
from .. import model as models
from ..context import Context
from ..mode import Mode
from ..tolerance import TRAINED
from . import ddp

ORDER = 90


def compiled(context: Context) -> None:
    """Inductor's code must give the eager gradients; that it was compiled at all is counted."""
    torch = context.torch
    compiling.needs(context)
    with compiling.counted(context):
        model = ddp.wrap(context, bucket_cap_mb=25)  # torch.compile wants no bucket below the first one's 1 MiB
        fast = torch.compile(model)
        ddp.train(context, fast, models.optimizer_for(torch, "sgd", model.parameters()))


MODES = (Mode("compile", "torch.compile with data parallel", compiled, TRAINED, full=True, slow=6.0),)

"""torch.compile together with DistributedDataParallel, against the same model run eagerly in one process."""

from __future__ import annotations

import contextlib
import datetime
import os
import shutil
from collections.abc import Iterator

from .. import model as models
from ..context import Context
from ..mode import Mode
from ..tolerance import TRAINED
from . import ddp

ORDER = 90


def compiled(context: Context) -> None:
    """Inductor's code must give the eager gradients; that it was compiled at all is counted."""
    torch = context.torch
    context.need(hasattr(torch, "compile"), "needs torch 2.0: torch.compile")
    if context.device.type == "cpu":
        context.need(shutil.which(os.environ.get("CXX", "g++")), "inductor needs a C++ compiler (g++) for the CPU")
    import torch._dynamo
    from torch._dynamo.utils import counters

    counters.clear()
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(context.folder, f"inductor{context.rank}")
    torch._dynamo.reset()
    model = ddp.wrap(context, bucket_cap_mb=25)  # torch.compile wants no bucket below the first one's 1 MiB
    context.mark("compiling")
    fast = torch.compile(model)
    with _patience(context):
        ddp.train(context, fast, models.optimizer_for(torch, "sgd", model.parameters()))
    made = sum(counters["inductor"].values()) + sum(counters["stats"].values())
    context.expect("value", "the model", bool(made), "was not compiled: torch ran it eagerly")


@contextlib.contextmanager
def _patience(context: Context) -> Iterator[None]:
    """Ranks may wait for one that still compiles: the deadline of the mode ends them, not that of one collective."""
    inner = context.torch.distributed.distributed_c10d
    change = getattr(inner, "_set_pg_timeout", None)
    if change is None or context.backend != "gloo":
        yield
        return
    change(datetime.timedelta(hours=1))
    try:
        yield
    finally:
        change(datetime.timedelta(seconds=context.timeout_s))


MODES = (Mode("compile", "torch.compile with data parallel", compiled, TRAINED, full=True, slow=6.0),)

"""What modes that compile the model need: a compiler, a folder of their own, patience, and proof of compilation."""

from __future__ import annotations

import contextlib
import datetime
import os
import shutil
from collections.abc import Iterator

from .context import Context


def needs(context: Context) -> None:
    """End the mode as not applicable where nothing can be compiled."""
    context.need(hasattr(context.torch, "compile"), "needs torch 2.0: torch.compile")
    if context.device.type == "cpu":
        context.need(shutil.which(os.environ.get("CXX", "g++")), "inductor needs a C++ compiler (g++) for the CPU")


@contextlib.contextmanager
def counted(context: Context) -> Iterator[None]:
    """Compile within; that anything was compiled at all is compared at the end."""
    import torch._dynamo
    from torch._dynamo.utils import counters

    counters.clear()
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(context.folder, f"inductor{context.rank}")
    torch._dynamo.reset()
    context.mark("compiling")
    with _patience(context):
        yield
    made = sum(counters["inductor"].values()) + sum(counters["stats"].values())
    context.expect("value", "the model", bool(made), "was not compiled: torch ran it eagerly", layer="framework")


@contextlib.contextmanager
def _patience(context: Context) -> Iterator[None]:
    """Ranks may wait for one that still compiles: the deadline of the mode ends them, not that of one collective."""
    context.board.patient(True)
    try:
        with _lengthened(context):
            yield
    finally:
        context.board.patient(False)


@contextlib.contextmanager
def _lengthened(context: Context) -> Iterator[None]:
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

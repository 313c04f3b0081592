"""The command line of torchrun, which other launchers use too."""

from __future__ import annotations

import os

from .mode import LaunchPlan


def command(plan: LaunchPlan, restarts: int = 0) -> list[str]:
    """One machine, its own meeting place on a free port; losses are noticed within 0.2 s.

    ``--standalone`` means the same, but meets at port 29400 in older releases, whoever else is there.
    """
    return [
        plan.interpreter, "-m", "torch.distributed.run", "--rdzv-backend", "c10d", "--rdzv-endpoint",
        f"{plan.address}:{plan.port}", "--rdzv-id", os.path.basename(plan.folder), "--local-addr", plan.address,
        "--nnodes", "1", "--nproc-per-node", str(plan.world), "--max-restarts", str(restarts),
        "--monitor-interval", "0.2", "--log-dir", os.path.join(plan.folder, "torchrun"), *plan.program,
    ]  # fmt: skip

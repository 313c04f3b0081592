"""The command line of torchrun, which other launchers use too."""

from __future__ import annotations

import os

from .mode import LaunchPlan


def command(plan: LaunchPlan, restarts: int = 0) -> list[str]:
    """One machine, which meets in a file of the plan's folder; losses are noticed within 0.2 s.

    No port: torchrun keeps the state of this rendezvous as a pickle, and a store that listens takes one from anybody.
    """
    return [
        plan.interpreter,
        "-m",
        "torch.distributed.run",
        "--rdzv-backend",
        "c10d",
        "--rdzv-conf",
        "store_type=file",
        "--rdzv-endpoint",
        os.path.join(plan.folder, "rendezvous"),
        "--rdzv-id",
        os.path.basename(plan.folder),
        "--local-addr",
        plan.address,
        "--nnodes",
        "1",
        "--nproc-per-node",
        str(plan.world),
        "--max-restarts",
        str(restarts),
        "--monitor-interval",
        "0.2",
        "--log-dir",
        os.path.join(plan.folder, "torchrun"),
        *plan.program,
    ]

"""Persistence mode is off on the GPUs of a server.

Why
  Without it the driver unloads the state of a GPU whenever no program uses it. The next program then waits for the GPU
  to start again (seconds on machines with many GPUs), and settings such as power limits and clocks are forgotten in
  between. Results do not change.

Fix
  Enable the service that keeps the GPUs initialised: `sudo systemctl enable --now nvidia-persistenced`.

References
  https://docs.nvidia.com/deploy/driver-persistence/index.html
"""

from __future__ import annotations

from rocdoctor.insight.gpus.nvidia import is_server_part, nvidia_gpus
from rocdoctor.judging.check import Fix, Outcome, check, cite, info, machine_with_nvidia, not_applicable
from rocdoctor.model.evidence import Known, known, value_or
from rocdoctor.model.facts import Machine


@check(machine_with_nvidia)
def persistence_off(machine: Machine) -> Outcome:
    servers = [gpu for gpu in nvidia_gpus(machine) if is_server_part(gpu)]
    if len(servers) < 2:
        return not_applicable("fewer than two NVIDIA data-center GPUs")
    told = [gpu.persistence for gpu in servers if isinstance(gpu.persistence, Known)]
    if not told:
        known(servers[0].persistence)
    off = [fact for fact in told if not fact.value]
    if not off:
        return None
    enclosed = value_or(machine.container.kind, "none") != "none"
    which = f"all {len(servers)}" if len(off) == len(servers) else f"{len(off)} of {len(servers)}"
    return info(
        f"Persistence mode is off on {which} data-center GPUs: each program start waits for them to initialise.",
        evidence=[cite(off[0], "persistence mode disabled")],
        fix=Fix(
            "Enable the persistence service" + (" on the host" if enclosed else ""),
            command="sudo systemctl enable --now nvidia-persistenced",
            safety="safe",
            verify="nvidia-smi --query-gpu=persistence_mode --format=csv",
        ),
    )

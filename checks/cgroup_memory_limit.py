"""A limit of the container or job leaves little main memory.

Why
  Loading a checkpoint, pinned buffers, data loader workers and offloaded states all need main memory. At the limit of
  its cgroup, the kernel kills a process of the job ("Killed", exit code 137) although the machine has memory left.

Fix
  Request more: `docker run --memory`, resources.limits.memory of the pod, `--mem` in Slurm. Loading checkpoints shard
  by shard or with mmap needs less.

References
  https://docs.kernel.org/admin-guide/cgroup-v2.html
"""

from __future__ import annotations

from rocdoctor.judging.check import Fix, Outcome, check, cite, info, machine_with_gpus
from rocdoctor.model.evidence import Known, known, value_or
from rocdoctor.model.facts import Machine
from rocdoctor.model.units import binary_size

_FEW = 8 << 30


@check(machine_with_gpus)
def cgroup_memory_limit(machine: Machine) -> Outcome:
    limit = known(machine.memory.cgroup_limit_bytes)
    total = value_or(machine.memory.total_bytes, None)
    if limit is None or (total is not None and limit >= total * 0.9):
        return None
    cards = [
        gpu.vram_bytes
        for gpu in machine.gpus
        if isinstance(gpu.vram_bytes, Known) and not value_or(gpu.integrated, False)
    ]
    largest = max(cards, key=lambda fact: fact.value, default=None)
    if limit >= _FEW and (largest is None or limit >= largest.value):
        return None
    of = "" if total is None else f" of the machine's {binary_size(total)}"
    than = "" if largest is None else f", less than the {binary_size(largest.value)} of one GPU"
    return info(
        f"This process and its workers may use {binary_size(limit)} of main memory{of}"
        f"{than if largest is not None and limit < largest.value else ''}.",
        evidence=[cite(machine.memory.cgroup_limit_bytes, binary_size(limit))]
        + ([cite(largest, binary_size(largest.value))] if largest is not None else []),
        fix=Fix(
            "Ask for more memory when the job is started (docker --memory, resources.limits.memory, sbatch --mem)",
            verify="cat /sys/fs/cgroup/memory.max",
        ),
    )

"""The job may use too few CPUs for its GPUs.

Why
  Each rank needs at least one CPU core to launch kernels, and more for its data loader workers. A container's CPU
  quota, a scheduler's CPU list or `taskset` can leave fewer CPUs than GPUs: the GPUs then wait for the
  CPU.

Fix
  Request more CPUs when you start the job: `--cpus-per-task` or `--cpus-per-gpu` in Slurm, resources.limits.cpu of
  the pod, `docker run --cpus`.

References
  https://docs.kernel.org/admin-guide/cgroup-v2.html
  https://man7.org/linux/man-pages/man2/sched_setaffinity.2.html
"""

from __future__ import annotations

from rocdoctor.insight.gpus.access import local_ranks
from rocdoctor.judging.check import (
    Evidence,
    Fix,
    Outcome,
    check,
    cite,
    info,
    machine_with_gpus,
    not_applicable,
    warning,
)
from rocdoctor.model.evidence import Known, known, value_or
from rocdoctor.model.facts import Machine


@check(machine_with_gpus, cause="cpu-affinity-or-threads")
def cpu_quota_or_affinity(machine: Machine) -> Outcome:
    cpus = machine.cpus
    ranks = local_ranks(machine)
    if ranks is None:
        return not_applicable("how many GPUs this job uses is not in this evidence")
    if ranks == 0:
        return not_applicable("no GPU is left to this job")
    quota = cpus.quota if isinstance(cpus.quota, Known) else None
    if quota is None:
        known(cpus.usable)
    limits = [float(fact.value) for fact in (cpus.usable, cpus.quota) if isinstance(fact, Known)]
    share = min(limits)
    if share >= ranks:
        return None
    evidence: list[Evidence] = []
    if isinstance(cpus.usable, Known):
        evidence.append(cite(cpus.usable, f"{cpus.usable.value} CPUs may be used"))
    if quota is not None:
        evidence.append(cite(quota, f"quota of {quota.value:g} CPUs"))
    threads = value_or(cpus.threads, None)
    if threads is not None and threads <= share:
        return info(
            f"The machine has {threads} CPUs for {ranks} GPUs: they will wait for the CPU.",
            evidence=evidence,
            fix=Fix(
                "Start fewer data loader workers per rank and set OMP_NUM_THREADS=1, or use fewer GPUs at a time",
                safety="manual",
            ),
        )
    of = "" if threads is None else f" of {threads}"
    gpus = "one GPU" if ranks == 1 else f"{ranks} GPUs"
    return warning(
        f"This job may use {share:g}{of} CPUs for {gpus}: ranks and data loader workers will wait for each other.",
        evidence=evidence,
        fix=Fix(
            "Ask for more CPUs when the job is started (Slurm --cpus-per-gpu, resources.limits.cpu, docker --cpus)",
            verify="nproc; cat /sys/fs/cgroup/cpu.max",
        ),
    )

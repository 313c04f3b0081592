"""A library could not bind or start its threads on the CPUs that this process may use.

Why
  Batch systems, containers and taskset give a process only some of the CPUs. Libraries that count the CPUs of the whole
  machine then bind threads to CPUs that are not allowed, or start far more threads than the limits permit; loaders with
  more workers than CPUs become slow.

Fix
  Set the number of threads explicitly (OMP_NUM_THREADS, intra_op_num_threads) to the CPUs of the job, ask the scheduler
  for as many as the program uses (--cpus-per-task), and start no more workers than CPUs.

References
  https://slurm.schedmd.com/cpu_management.html
  https://docs.pytorch.org/docs/stable/data.html
"""

from __future__ import annotations

from rocdoctor.insight.texts.pasted import first_value, in_slurm, said, shown, when_said
from rocdoctor.judging.check import Fix, Outcome, check, finding
from rocdoctor.model.evidence import value_or
from rocdoctor.model.facts import Machine


@check(when_said("thread-affinity", "too-many-workers", "affinity-words"), cause="cpu-affinity-or-threads")
def thread_affinity_message(machine: Machine) -> Outcome:
    workers = said(machine, "too-many-workers")
    threads = said(machine, "thread-affinity")
    usable = value_or(machine.cpus.usable, None)
    ask = " Ask the scheduler for them (--cpus-per-task)." if in_slurm(machine) else ""
    if not threads and not workers:
        return finding(
            "warning",
            "The writer says that the processes of the job share few CPU cores: their CPU affinity or thread "
            "setting is "
            "too narrow.",
            evidence=shown(said(machine, "affinity-words")),
            fix=Fix(
                "Look at the affinity inside the job (taskset, Cpus_allowed_list); start it unbound or bind "
                "each rank to the "
                f"cores of its GPU's NUMA node, and set OMP_NUM_THREADS. An imported library may change the "
                f"affinity.{ask}",
                command="taskset -cp $$; grep Cpus_allowed_list /proc/self/status; env | grep -E 'OMP_|KMP_|GOMP_'",
                safety="safe",
            ),
            confidence="possible",
        )
    if not threads:
        count, cpus = first_value(workers, "workers"), first_value(workers, "cpus")
        return finding(
            "warning",
            f"The data loader starts {count} worker processes, but this process may use {cpus} CPUs only.",
            evidence=shown(workers),
            fix=Fix(
                f"Set num_workers to {cpus} at most, or give the job more CPUs (affinity, cgroup, container).{ask}",
                "nproc; taskset -cp $$",
                "safe",
            ),
            confidence="likely",
        )
    library = first_value(threads, "library") or "A library"
    count = first_value(threads, "threads")
    few = f" ({usable} here)" if usable is not None else ""
    text = (
        f"{library} could not bind its threads to CPUs: it counts CPUs that this process is not allowed to use "
        f"(affinity){few}."
    )
    if count:
        text = f"{library} could not start {count} threads: the limit of processes or threads is reached{few}."
    return finding(
        "error" if count else "warning",
        text,
        evidence=shown(threads),
        fix=Fix(
            "Set the number of threads explicitly to the CPUs of the job (OMP_NUM_THREADS, OPENBLAS_NUM_THREADS; "
            "intra_op_num_threads in onnxruntime's SessionOptions) and check the CPU affinity inside the job with "
            f"taskset and nproc.{ask}",
            command="nproc; taskset -cp $$; ulimit -u; export OMP_NUM_THREADS=$(nproc)",
            safety="safe",
        ),
        confidence="likely",
    )

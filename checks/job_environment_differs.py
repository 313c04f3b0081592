"""A running job has different settings from this shell.

Why
  What a shell shows (env, a test run, a report) may differ for the job: launchers, containers and profiles set
  variables, and a shell opened later has others. This is where two runs that should be the same differ.

Fix
  This is not a fault by itself. When a test in this shell works and the job does not (or the other way round), start
  the test with the job's values. A job may also have changed variables after its start, which no tool can see from
  outside.

References
  https://man7.org/linux/man-pages/man5/proc_pid_environ.5.html
"""

from __future__ import annotations

from rocdoctor.insight.jobs.job_state import place, the_job
from rocdoctor.judging.check import Fix, Outcome, check, info, quote, unknown
from rocdoctor.model.facts import Job, Machine

_PREFIXES = (
    "HSA_",
    "HIP_",
    "ROCR_",
    "ROCM_",
    "CUDA_",
    "NCCL_",
    "RCCL_",
    "MIOPEN_",
    "PYTORCH_",
    "TORCH_",
    "AMD_",
    "GPU_",
    "GLOO_",
    "HIPBLASLT_",
    "ROCBLAS_",
    "NVIDIA_",
    "UCX_",
)
# torchrun and torch itself set these for their children.
_BY_LAUNCHERS = frozenset(("TORCH_NCCL_ASYNC_ERROR_HANDLING", "NCCL_ASYNC_ERROR_HANDLING", "CUDA_MODULE_LOADING"))
_NAMES = ("LD_LIBRARY_PATH", "LD_PRELOAD", "PYTHONPATH", "OMP_NUM_THREADS")


@check(the_job)
def job_environment_differs(machine: Machine, job: Job) -> Outcome:
    own, shell = machine.environment.variables, job.shell
    if not own:
        raise unknown("the environment of the job cannot be read by this user", "denied")
    if not shell.complete:
        raise unknown("the environment of this shell is not known", "not-asked")
    differing: list[str] = []
    for name in sorted({*own, *shell.variables}):
        if not (name.startswith(_PREFIXES) or name in _NAMES) or name in _BY_LAUNCHERS:
            continue
        if name == "OMP_NUM_THREADS" and place(job.ranks) is not None:
            continue
        here, there = shell.variables.get(name), own.get(name)
        if (here.value if here else None) != (there.value if there else None):
            differing.append(name)
    if not differing:
        return None

    def words(name: str) -> str:
        here, there = shell.variables.get(name), own.get(name)
        return f"job: {there.value if there else '(unset)'}; this shell: {here.value if here else '(unset)'}"

    count = len(differing)
    return info(
        f"{'One variable' if count == 1 else f'{count} variables'} that matter{'s' if count == 1 else ''} to training "
        f"differ{'s' if count == 1 else ''} between the job and this shell: {', '.join(differing[:8])}"
        f"{' ...' if count > 8 else ''}.",
        evidence=[quote("read /proc/job/environ", f"{name}: {words(name)}") for name in differing[:8]],
        fix=Fix(
            "Set the variables where the job is started, and start it again; a running job keeps its own",
            safety="manual",
        ),
    )

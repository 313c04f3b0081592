"""A running job has torch loaded but uses no GPU.

Why
  A process that computes on a GPU keeps the driver's device nodes open (/dev/kfd and /dev/dri/renderD* for AMD,
  /dev/nvidia* for NVIDIA). A rank that has none open computes on the CPU, or has not reached its first GPU call.

Fix
  In the job's own environment, print torch.cuda.is_available() and torch.version.hip or torch.version.cuda. A
  visibility variable that is empty, a CPU-only wheel or denied device nodes are the usual reasons; other findings name
  them.

References
  https://rocm.docs.amd.com/projects/install-on-linux/en/latest/how-to/docker.html
  https://docs.pytorch.org/docs/stable/notes/hip.html
"""

from __future__ import annotations

from rocdoctor.insight.gpus.presence import VISIBLE_AMD, is_driven, is_integrated
from rocdoctor.insight.jobs.job_state import age_s, is_alive, place, runs_python, the_job
from rocdoctor.judging.check import Fix, Outcome, Severity, check, cite, finding, not_applicable, quote, unknown
from rocdoctor.model.evidence import known
from rocdoctor.model.facts import Job, Machine

_SETTLED_S = 120.0
_TORCH = ("libtorch", "libc10")
_GPU_RUNTIMES = ("libamdhip64", "libcudart", "libtorch_hip", "libtorch_cuda")


@check(the_job)
def job_without_gpu(machine: Machine, job: Job) -> Outcome:
    if known(job.gpu_devices):
        return None
    driven = [gpu for gpu in machine.gpus if is_driven(gpu) and not is_integrated(gpu)]
    if not driven:
        return not_applicable("no GPU that a training job would use")
    libraries = known(job.libraries)
    if not any(name.startswith(_TORCH) for name in libraries):
        return not_applicable("torch is not loaded in this process")
    if known(job.name).startswith("pt_data"):
        return not_applicable("this is a worker of a data loader")
    age = age_s(job)
    if age is None or age < _SETTLED_S:
        raise unknown("the job was started less than two minutes ago, or its start is not known", "undecided")
    below = [one for one in known(job.processes) if one.relation == "descendant" and is_alive(one)]
    if any(known(one.gpu_devices) for one in below):
        return None
    names = VISIBLE_AMD if any(gpu.vendor == "amd" for gpu in driven) else ("CUDA_VISIBLE_DEVICES",)
    hiding = [
        variable
        for name in names
        if (variable := machine.environment.variables.get(name)) and variable.value.strip() in ("", "-1")
    ]
    is_rank = place(job.ranks) is not None and not any(runs_python(one.name) for one in below)
    severity: Severity = "warning" if is_rank and any(name.startswith(_GPU_RUNTIMES) for name in libraries) else "info"
    return finding(
        severity,
        f"torch is loaded, but no GPU device node is open after {(age or 0) / 60:.0f} minutes, with {len(driven)} "
        f"GPU{'s' if len(driven) > 1 else ''} here: it computes on the CPU"
        + (f", because {hiding[0].name} hides every GPU." if hiding else " or never came to use one."),
        evidence=[
            cite(job.gpu_devices, "no device node of a GPU is open"),
            *(quote(one.source, f"{one.name}={one.value}", one.line) for one in hiding[:1]),
        ],
        cause="visible-devices-conflict" if hiding and severity == "warning" else "",
        confidence="certain" if hiding else "likely",
        fix=Fix(
            "Ask torch in the job's environment whether it sees a GPU",
            "python -c 'import torch; print(torch.version.hip, torch.version.cuda, torch.cuda.device_count())'",
            "safe",
        ),
    )

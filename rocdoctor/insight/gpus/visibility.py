"""Which GPUs the visibility variables leave: what each runtime makes of their values.

ROCm applies ROCR_VISIBLE_DEVICES first; HIP counts what is left, by HIP_VISIBLE_DEVICES, or by CUDA_VISIBLE_DEVICES
while that is empty. In every list the first entry that names no GPU ends it. Sources: GPU isolation page of the ROCm
documentation, clr rocdevice.cpp, ``_parse_visible_devices`` in torch/cuda/__init__.py.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rocdoctor.insight.gpus.presence import is_driven, of_vendor
from rocdoctor.model.evidence import Known, value_or
from rocdoctor.model.facts import Environment, Machine, Variable
from rocdoctor.model.lazy_re import regex
from rocdoctor.model.printable import spelled
from rocdoctor.model.question import Question

SCHEDULERS = (
    "SLURM_JOB_ID",
    "SLURM_JOBID",
    "PBS_JOBID",
    "LSB_JOBID",
    "FLUX_JOB_ID",
    "OAR_JOB_ID",
    "COBALT_JOBID",
    "SGE_TASK_ID",
    "RAY_JOB_ID",
    "HTCONDOR_JOBID",
)
_UUID = regex(r"(?:gpu|mig)-[0-9a-z/-]{4,80}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Selection:
    """What one variable leaves: ``kept`` entries, ``rest`` what is ignored from the first bad entry on."""

    variable: Variable
    kept: tuple[str, ...]
    rest: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Visible:
    """The selections of one vendor's runtime, in the order in which they apply."""

    vendor: str
    count: int | None  # GPUs before any selection; None where the evidence does not show all
    steps: tuple[Selection, ...]

    @property
    def hidden(self) -> bool:
        """No GPU is left."""
        return any(not step.kept for step in self.steps)


def entries(value: str) -> tuple[str, ...]:
    """The entries of a list, blanks around them left out; none for an empty value."""
    return tuple(one.strip() for one in value.split(",")[:1024]) if value.strip() else ()


def select(variable: Variable, count: int | None) -> Selection:
    """What a variable keeps of ``count`` devices; entries by UUID are taken as right."""
    found = entries(variable.value)
    kept: list[str] = []
    for one in found:
        if one.isascii() and one.isdigit() and len(one) < 6:
            if count is not None and int(one) >= count:
                break
        elif not _UUID.fullmatch(one):
            break
        kept.append(one)
    return Selection(variable, tuple(kept), found[len(kept) :])


def gpu_count(machine: Machine, vendor: str) -> int | None:
    """How many devices the runtime of a vendor counts, or None where the evidence does not show all of them."""
    gpus = of_vendor(machine, vendor)
    if vendor == "amd":
        # A cgroup that hides nodes leaves their numbers to nobody that we could count.
        if value_or(machine.kfd_nodes_hidden, 0):
            return None
        if machine.kfd_complete and value_or(machine.kfd_gpu_nodes, 0):
            return value_or(machine.kfd_gpu_nodes, 0)
        if any(gpu.compute_nodes for gpu in gpus):
            return None
    if not machine.gpus_complete or any(is_driven(gpu) is None for gpu in gpus):
        return None
    if any(value_or(gpu.mig, False) for gpu in gpus):
        return None
    return sum(is_driven(gpu) is True for gpu in gpus) or None


def variable_names(vendor: str, environment: Environment) -> Sequence[str]:
    """The variables that select GPUs of a vendor here, in the order in which they apply."""
    if vendor == "nvidia":
        return ("CUDA_VISIBLE_DEVICES",)
    hip = environment.variables.get("HIP_VISIBLE_DEVICES")
    # HIP looks at the CUDA name while its own is not set or empty.
    return ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES" if hip and hip.value else "CUDA_VISIBLE_DEVICES")


def visible(machine: Machine, vendor: str) -> Visible:
    """The chain of selections for a vendor's runtime; each counts what the one before it left."""
    count = gpu_count(machine, vendor)
    left, steps = count, []
    environment = machine.environment
    for name in variable_names(vendor, environment):
        variable = environment.variables.get(name)
        if variable is None:
            continue
        step = select(variable, left)
        steps.append(step)
        left = len(step.kept)
    return Visible(vendor, count, tuple(steps))


def scheduler(environment: Environment) -> str | None:
    """The variable that shows that a batch scheduler runs this job."""
    return next((name for name in SCHEDULERS if name in environment.variables), None)


def runtime_vendors(machine: Machine) -> list[str]:
    """The vendors whose GPUs are here, fewer when the torch build says which it can use."""
    found = [vendor for vendor in ("amd", "nvidia") if of_vendor(machine, vendor)]
    if len(found) > 1:
        if isinstance(machine.torch.hip, Known) and machine.torch.hip.value:
            return ["amd"]
        if isinstance(machine.torch.cuda, Known) and machine.torch.cuda.value:
            return ["nvidia"]
    return found


def where_set(variable: Variable) -> str:
    """The place that sets a variable, in words for a fix: its file, or the environment."""
    file = Question.of(variable.source).path
    if not file and variable.source.startswith(("/", "~")):
        file = variable.source
    if file and not file.startswith("/proc/"):
        name = spelled(file)
        return name if variable.line is None else f"{name}:{variable.line}"
    return "the file that sets it (a shell profile, a launch script, a container)"

"""Two visibility variables contradict each other.

Why
  On ROCm ROCR_VISIBLE_DEVICES is applied first and the GPUs that it leaves are numbered again from 0.
  HIP_VISIBLE_DEVICES (or CUDA_VISIBLE_DEVICES while that is empty) counts these new numbers. So ROCR_VISIBLE_DEVICES=1
  together with HIP_VISIBLE_DEVICES=1 leaves no GPU at all. When HIP_VISIBLE_DEVICES and CUDA_VISIBLE_DEVICES differ,
  HIP's counts.

Fix
  Keep one of them (ROCR_VISIBLE_DEVICES on Linux) and unset the others, or let the second one count from 0.

References
  https://rocm.docs.amd.com/en/latest/conceptual/gpu-isolation.html
  PyTorch source: torch/cuda/__init__.py (_parse_visible_devices)
"""

from __future__ import annotations

from rocdoctor.insight.gpus.visibility import entries, runtime_vendors, scheduler, visible
from rocdoctor.judging.check import (
    Evidence,
    Finding,
    Fix,
    Outcome,
    Subjects,
    check,
    error,
    info,
    machine_with_amd,
    not_applicable,
    quote,
    unknown,
    warning,
)
from rocdoctor.model.facts import Machine, Variable
from rocdoctor.model.finding import Selected
from rocdoctor.model.shell_command import shell
from rocdoctor.model.subject import MACHINE

_FAMILY = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")
_VERIFY = 'python3 -c "import torch; print(torch.cuda.device_count())"'


def where_rocm_selects(machine: Machine) -> Subjects[None]:
    """The machine, when it has AMD GPUs, or when no GPU is known and a variable of ROCm alone selects some."""
    if not machine.gpus and not machine.gpus_complete and "ROCR_VISIBLE_DEVICES" in machine.environment.variables:
        return [Selected(MACHINE, None)]
    return machine_with_amd(machine)


@check(where_rocm_selects, cause="visible-devices-conflict")
def visible_devices_conflict(machine: Machine) -> Outcome:
    if machine.gpus and runtime_vendors(machine) != ["amd"]:
        return not_applicable("the job may use GPUs of another vendor")
    variables = machine.environment.variables
    set_ = [variables[name] for name in _FAMILY if name in variables]
    if len(set_) < 2:
        if machine.environment.complete or set_:
            return None
        raise unknown("whether visibility variables are set is not in this evidence")
    view = visible(machine, "amd")
    if len(view.steps) == 2 and view.steps[0].kept and not view.steps[0].rest:
        first, second = view.steps
        if not second.kept or second.rest:
            return _chain(machine, first.variable, second.variable, len(first.kept), bool(second.kept))
    hip, cuda = variables.get("HIP_VISIBLE_DEVICES"), variables.get("CUDA_VISIBLE_DEVICES")
    if hip is not None and cuda is not None and hip.value and entries(hip.value) != entries(cuda.value):
        if scheduler(machine.environment) is not None:
            return None
        return warning(
            f"HIP_VISIBLE_DEVICES is {hip.value} and CUDA_VISIBLE_DEVICES is {cuda.value}: ROCm programs follow the "
            "first, and tools that read only the second choose other GPUs.",
            evidence=_evidence(hip, cuda),
            fix=_fix("HIP_VISIBLE_DEVICES", cuda.name),
        )
    return None


def _chain(machine: Machine, first: Variable, second: Variable, left: int, some: bool) -> Finding:
    are = "one GPU is" if left == 1 else f"{left} GPUs are"
    message = (
        f"{first.name}={first.value} is applied first, after which {are} left and numbered from 0; "
        f"{second.name}={second.value} then "
    )
    evidence = _evidence(first, second)
    if scheduler(machine.environment) is not None:
        return info(
            f"{message}asks for numbers beyond that. A batch scheduler may have set both.",
            evidence=evidence,
            fix=_fix(first.name, second.name),
        )
    if some:
        return warning(
            f"{message}asks for more than that, so some GPUs stay unused.",
            evidence=evidence,
            fix=_fix(first.name, second.name),
            explains=("torch-gpu-count-mismatch",),
        )
    return error(
        f"{message}points past the end, so no GPU is left.",
        evidence=evidence,
        fix=_fix(first.name, second.name),
        explains=("torch-gpu-count-mismatch",),
        confidence="certain" if machine.environment.complete else "likely",
    )


def _evidence(*variables: Variable) -> list[Evidence]:
    return [quote(one.source, f"{one.name}={one.value}", one.line) for one in variables]


def _fix(keep: str, drop: str) -> Fix:
    return Fix(
        f"Keep {keep} and unset {drop}, or let {drop} number from 0 the GPUs that {keep} leaves",
        command=shell("unset {drop:name}", drop=drop),
        unsets=(drop,),
        safety="safe",
        verify=_VERIFY,
    )

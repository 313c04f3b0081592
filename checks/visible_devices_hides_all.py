"""A visibility variable hides every GPU, or names GPUs that are not there.

Why
  ROCR_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES and CUDA_VISIBLE_DEVICES list the GPUs that a program may see, by number or
  UUID. An empty value or -1 hides all of them. The first entry that names no GPU ends the list: "4,0" on a machine
  with two GPUs leaves none. torch then finds no GPU, and the driver is not to blame.

Fix
  Unset the variable, or list numbers from 0 to one less than the number of GPUs. Leave what a batch scheduler set.

References
  https://rocm.docs.amd.com/en/latest/conceptual/gpu-isolation.html
  https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#env-vars
"""

from __future__ import annotations

from dataclasses import replace

from rocdoctor.insight.gpus.presence import count_words
from rocdoctor.insight.gpus.visibility import (
    Selection,
    runtime_vendors,
    scheduler,
    variable_names,
    visible,
    where_set,
)
from rocdoctor.judging.check import (
    Confidence,
    Finding,
    Fix,
    Outcome,
    check,
    finding,
    info,
    machine_with_gpus,
    not_applicable,
    quote,
    unknown,
    warning,
)
from rocdoctor.model.change import Unset
from rocdoctor.model.facts import Machine
from rocdoctor.model.shell_command import shell


@check(machine_with_gpus, cause="visible-devices-conflict")
def visible_devices_hides_all(machine: Machine) -> Outcome:
    vendors = runtime_vendors(machine)
    if len(vendors) > 1:
        return not_applicable("which vendor's GPUs the job uses is not known")
    view = visible(machine, vendors[0])
    names = variable_names(vendors[0], machine.environment)
    if not view.steps:
        empty = machine.environment.variables.get("HIP_VISIBLE_DEVICES")
        if vendors[0] == "amd" and empty is not None:
            # HIP itself passes over an empty value, torch takes it for an empty list.
            return _finding(machine, Selection(empty, (), ()), view.count)
        if not machine.environment.complete:
            raise unknown(f"whether {' or '.join(names)} is set is not in this evidence")
        return None
    first = view.steps[0]
    if not first.kept or first.rest:
        return _finding(machine, first, view.count)
    if len(view.steps) == 1 and view.count is None and not machine.gpus_complete:
        raise unknown("how many GPUs there are is not in this evidence")
    return None


def _finding(machine: Machine, step: Selection, count: int | None) -> Finding | None:
    variable = step.variable
    sure: Confidence = "certain" if machine.environment.complete else "likely"
    evidence = [quote(variable.source, f"{variable.name}={variable.value}", variable.line)]
    shown = f"{variable.name} is {variable.value}" if variable.value.strip() else f"{variable.name} is empty"
    batch = scheduler(machine.environment)
    if batch is not None:
        if step.kept:
            return None  # numbers of a scheduler may count what a cgroup leaves
        return info(
            f"{shown}: this batch job was given no GPU.",
            evidence=evidence,
            fix=Fix("Ask for GPUs when the job is submitted (Slurm --gres=gpu:N or --gpus=N)", safety="manual"),
        )
    fix = Fix(
        f"Unset {variable.name} and remove it from {where_set(variable)}, or list GPUs that exist",
        command=shell("unset {name:name}", name=variable.name),
        unsets=(variable.name,),
        safety="safe",
        verify='python3 -c "import torch; print(torch.cuda.device_count())"',
    )
    there = f"; this machine has {count_words(count)}" if count is not None else ""
    if not step.kept:
        # An empty list or -1 is how a person hides GPUs on purpose; a list of GPUs that are not there is a mistake.
        meant = variable.value.strip() in ("", "-1", "none", "NoDevFiles", "void")
        return finding(
            "warning" if meant else "error",
            f"{shown}, which hides every GPU from training{there}.",
            evidence=evidence,
            fix=fix if meant else replace(fix, changes=(Unset(variable.name),)),
            confidence=sure,
            explains=("torch-gpu-count-mismatch",),
        )
    return warning(
        f"{shown}, and {step.rest[0]!r} names no GPU{there}: only {', '.join(step.kept)} is used.",
        evidence=evidence,
        fix=fix,
        confidence=sure,
        explains=("torch-gpu-count-mismatch",),
    )

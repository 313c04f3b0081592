"""A debugging variable is set, and it slows training down.

Why
  Switches such as AMD_SERIALIZE_KERNEL, HIP_LAUNCH_BLOCKING and CUDA_LAUNCH_BLOCKING make the program wait after every
  kernel, so nothing overlaps; others log every call or check every collective. Results stay correct; only the speed
  suffers. They are set to find a crash and then forgotten in a profile, an image or a script. If a text shows the
  failure that they were set for, they are reported as info.

Fix
  Unset them, and set such a switch only in the one command that needs it.

References
  https://rocm.docs.amd.com/projects/HIP/en/latest/reference/env_variables.html
  https://pytorch.org/docs/stable/cuda_environment_variables.html
  https://pytorch.org/docs/stable/distributed.html#debugging-torch-distributed-applications
"""

from __future__ import annotations

from dataclasses import replace

from rocdoctor.insight.gpus.visibility import where_set
from rocdoctor.judging.check import (
    Finding,
    Fix,
    Outcome,
    check,
    info,
    not_applicable,
    quote,
    unknown,
    warning,
    whole_machine,
)
from rocdoctor.knowledge.lookup import env_variable, rules_for
from rocdoctor.model.change import Unset
from rocdoctor.model.facts import Machine, Variable
from rocdoctor.model.shell_command import shell

_OFF = ("", "0", "off", "false", "no", "none")
# Values from which on a variable costs speed, by what the table says of each.
_SLOW = {
    "TORCH_DISTRIBUTED_DEBUG": ("detail",),
    "PYTORCH_NO_CUDA_MEMORY_CACHING": ("1",),
    "PYTORCH_NO_HIP_MEMORY_CACHING": ("1",),
    "TRITON_INTERPRET": ("1", "true", "on"),
    "AMD_LOG_LEVEL": ("3", "4", "5", "6", "7"),
}
_LOUD = {"NCCL_DEBUG": ("trace",)}
_CUDA_ONLY = ("CUDA_LAUNCH_BLOCKING",)
_AMD_ONLY = ("AMD_", "HIP_", "HSA_", "ROC_")
# Messages with which a program ends or stands still: what somebody switches diagnosis on for.
_FAILURES = frozenset(
    {
        "arch-not-in-torch",
        "attention-operator-missing",
        "collective-connection-failed",
        "collective-error",
        "collective-hang",
        "collective-timeout",
        "cuda-driver-insufficient",
        "cuda-initialization-failed",
        "device-assert",
        "device-in-use",
        "duplicate-gpu",
        "flash-attention-unsupported",
        "gpu-hang",
        "gpu-lost",
        "gpu-memory-error",
        "gpu-memory-fault",
        "in-place-gradient",
        "interface-not-found",
        "invalid-ordinal",
        "loss-not-finite",
        "memory-registration-failed",
        "no-cuda-gpus",
        "no-hip-device",
        "no-kernel-image",
        "no-nvidia-driver",
        "nvls-failed",
        "out-of-memory",
        "peer-access-fault",
        "rank-failed",
        "rdma-error",
        "rendezvous-failed",
        "runtime-init-failed",
        "shape-error",
        "shared-memory-exhausted",
        "tensile-library-missing",
        "unused-parameters",
        "wrong-arguments",
        "wrong-isa-kernel",
    }
)


@check(whole_machine, cause="debug-env-left-on")
def debug_variables_on(machine: Machine) -> Outcome:
    vendors = {gpu.vendor for gpu in machine.gpus} & {"amd", "nvidia"}
    if machine.gpus_complete and not vendors:
        return not_applicable("no GPU here that these variables could slow down")
    found = [
        finding
        for _, variable in sorted(machine.environment.variables.items())
        if (finding := _judge(variable, vendors if machine.gpus_complete else {"amd", "nvidia"})) is not None
    ]
    if _shows_failure(machine):
        found = [replace(one, severity="info") for one in found]
    if not found and not machine.environment.complete:
        raise unknown("the evidence does not show the whole environment")
    return found


def _shows_failure(machine: Machine) -> bool:
    """Whether a text or the log of a job tells of a failure: slowness is not what it is about then."""
    run = machine.run
    told = run.mismatches or run.timeouts or run.errors or run.received_sizes
    return bool(told) or any(one.kind in _FAILURES and one.role != "advice" for one in machine.messages)


def _judge(variable: Variable, vendors: set[str]) -> Finding | None:
    name, value = variable.name, variable.value.strip().lower()
    if value in _OFF or (name.startswith(_AMD_ONLY) and "amd" not in vendors):
        return None
    serialises = any(rule.id == "serialising-switch" for rule in rules_for(name))
    if not serialises and name not in _SLOW and name not in _LOUD and not _debug_only(name):
        return None
    entry = env_variable(name)
    effect = f": {entry.effect[0].lower()}{entry.effect[1:].rstrip('.')}" if entry is not None else ""
    message = f"{name} is {variable.value.strip()[:40]}{effect}."
    evidence = [quote(variable.source, f"{name}={variable.value}"[:200], variable.line)]
    fix = Fix(
        f"Unset {name} and remove it from {where_set(variable)}",
        command=shell("unset {name:name}", name=name),
        unsets=(name,),
        safety="safe",
        effective="now",
        verify=shell("printenv {name:name}", name=name),
        changes=(Unset(name),),
    )
    if serialises and not (name in _CUDA_ONLY and "nvidia" not in vendors):
        return warning(message, evidence=evidence, fix=fix)
    if value in _SLOW.get(name, ()):
        return warning(message, evidence=evidence, fix=fix)
    if value in _LOUD.get(name, ()) or (name not in _SLOW and name not in _LOUD and _matters(name, value)):
        return info(message, evidence=evidence, fix=fix)
    return None


def _debug_only(name: str) -> bool:
    entry = env_variable(name)
    return entry is not None and entry.status == "debug-only"


def _matters(name: str, value: str) -> bool:
    """Debugging variables that the table holds for more than a matter of logging, and that are not at their default."""
    entry = env_variable(name)
    if entry is None or entry.severity in ("low", "info"):
        return False
    # A default in words ("version dependent") may be this very value.
    return entry.default is None or (" " not in entry.default and value != entry.default.lower())

"""An environment variable has a value that its reader does not accept.

Why
  NCCL, RCCL, the HIP runtime, OpenMP and torch read their settings from the environment. Most of them silently ignore
  a value that they do not understand, or read it as 0, so the setting is not in effect; some stop with an
  error at start.

Fix
  Correct the value in the file that sets it, or unset the variable.

References
  https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html
  https://rocm.docs.amd.com/projects/rccl/en/latest/api-reference/env-variables.html
  https://rocm.docs.amd.com/projects/HIP/en/latest/reference/env_variables.html
"""

from __future__ import annotations

from rocdoctor.insight.gpus.visibility import where_set
from rocdoctor.insight.software.allocator_options import NAMES as ALLOCATOR
from rocdoctor.insight.software.allocator_options import complaint_of_options
from rocdoctor.insight.software.env_values import complaint, is_plain
from rocdoctor.judging.check import Finding, Fix, Outcome, Severity, check, finding, quote, unknown, whole_machine
from rocdoctor.knowledge.lookup import env_names, env_variable, override_gfx_name
from rocdoctor.model.facts import Machine
from rocdoctor.model.shell_command import shell

_GRAVE = ("critical", "high", "medium")


@check(whole_machine)
def env_wrong_value(machine: Machine) -> Outcome:
    vendors = {gpu.vendor for gpu in machine.gpus}
    names = env_names()
    found: list[Finding] = []
    for name, variable in sorted(machine.environment.variables.items()):
        entry = env_variable(name) if name in names else None
        if entry is None or entry.scope != "runtime":
            continue
        if entry.vendor in ("amd", "nvidia") and machine.gpus_complete and entry.vendor not in vendors:
            continue
        options = name in ALLOCATOR
        wrong = complaint_of_options(variable.value) if options and is_plain(variable.value) else None
        wrong = wrong or complaint(entry, variable.value) or _override(machine, name, variable.value)
        if wrong is None:
            continue
        # torch stops at an allocator option that it cannot read.
        severity: Severity = "warning" if entry.severity in _GRAVE or options else "info"
        found.append(
            finding(
                severity,
                f"{name} is {variable.value.strip()[:60]}, but {wrong}.",
                evidence=(quote(variable.source, f"{name}={variable.value}"[:200], variable.line),),
                fix=Fix(
                    f"Correct or unset {name} in {where_set(variable)}",
                    command=shell("unset {name:name}", name=name),
                    unsets=(name,),
                    safety="safe",
                    verify=shell("printenv {name:name}", name=name),
                ),
            )
        )
    if not found and not machine.environment.complete:
        raise unknown("the evidence does not show the whole environment")
    return found


def _override(machine: Machine, name: str, value: str) -> str | None:
    """An override that no runtime takes; with an AMD GPU here it is judged against that GPU instead."""
    if not name.startswith("HSA_OVERRIDE_GFX_VERSION") or not is_plain(value):
        return None
    if any(gpu.vendor == "amd" for gpu in machine.gpus) or override_gfx_name(value) is not None:
        return None
    return "three decimal numbers such as 10.3.0 are expected"

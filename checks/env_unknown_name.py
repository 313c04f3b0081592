"""An environment variable is set, but no library reads it.

Why
  Libraries silently ignore names that they do not know. A misspelt name (HIP_VISIBLE_DEVICE), one that a
  release removed, or one that never existed (RCCL_DEBUG: RCCL reads NCCL_DEBUG) does nothing, although whoever set
  it relies on it.

Fix
  Use the name that is read, or remove the variable from the file that sets it.

References
  https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html
  https://rocm.docs.amd.com/projects/rccl/en/latest/api-reference/env-variables.html
"""

from __future__ import annotations

from rocdoctor.insight.gpus.visibility import where_set
from rocdoctor.insight.software.env_values import meant
from rocdoctor.judging.check import Finding, Fix, Outcome, check, info, quote, unknown, whole_machine
from rocdoctor.knowledge.lookup import EnvVariable, env_names, env_variable
from rocdoctor.model.change import Unset
from rocdoctor.model.facts import Machine, Variable
from rocdoctor.model.shell_command import shell


@check(whole_machine)
def env_unknown_name(machine: Machine) -> Outcome:
    names = env_names()
    found: list[Finding] = []
    for name, variable in sorted(machine.environment.variables.items()):
        entry = env_variable(name) if name in names else None
        if entry is not None:
            # Names of another vendor's collective library are right on that vendor's machines.
            if entry.status in ("removed", "never-existed") and not name.startswith("HCCL_"):
                found.append(_unread(variable, entry))
        elif (near := meant(name)) is not None:
            found.append(
                info(
                    f"No library reads {name}; {near} was probably meant.",
                    evidence=[quote(variable.source, f"{name}={variable.value}"[:200], variable.line)],
                    fix=_fix(variable, near),
                    confidence="likely",
                )
            )
    if not found and not machine.environment.complete:
        raise unknown("the evidence does not show the whole environment")
    return found


def _unread(variable: Variable, entry: EnvVariable) -> Finding:
    # Older releases still read a name that was removed, and which one runs is not told here.
    what = "is read by no library" if entry.status == "never-existed" else "is no longer read by current releases"
    when = f" ({entry.until})" if entry.until and entry.status == "removed" else ""
    instead = f"; {entry.replaced_by[0]} is" if entry.replaced_by else ""
    return info(
        f"{variable.name} {what}{when}{instead}.",
        evidence=[quote(variable.source, f"{variable.name}={variable.value}"[:200], variable.line)],
        fix=_fix(variable, entry.replaced_by[0] if entry.replaced_by else ""),
    )


def _fix(variable: Variable, instead: str) -> Fix:
    what = f"Use {instead} instead of {variable.name}" if instead else f"Remove {variable.name}"
    return Fix(
        f"{what} in {where_set(variable)}",
        command=shell("unset {name:name}", name=variable.name),
        unsets=(variable.name,),
        safety="safe",
        verify=shell("printenv {word:name}", word=instead or variable.name),
        changes=() if instead else (Unset(variable.name),),
    )

"""A setting is given by an old name of its variable, or by two names that disagree.

Why
  Names change: NCCL_BLOCKING_WAIT became TORCH_NCCL_BLOCKING_WAIT, PYTORCH_CUDA_ALLOC_CONF became PYTORCH_ALLOC_CONF.
  Libraries accept an old name for a few more releases, with a warning, and then ignore it. If both are set, the
  new name wins, and a value set under the old name has no effect.

Fix
  Set only the new name, and remove the old one from the file that sets it.

References
  https://docs.pytorch.org/docs/stable/torch_nccl_environment_variables.html
  https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html
  PyTorch source: torch/csrc/distributed/c10d/Utils.hpp (getCvarString)
"""

from __future__ import annotations

from rocdoctor.insight.gpus.visibility import where_set
from rocdoctor.insight.software.env_values import is_plain
from rocdoctor.judging.check import (
    Evidence,
    Finding,
    Fix,
    Outcome,
    check,
    info,
    quote,
    unknown,
    warning,
    whole_machine,
)
from rocdoctor.knowledge.lookup import env_names, env_variable
from rocdoctor.model.change import Unset
from rocdoctor.model.facts import Machine, Variable
from rocdoctor.model.shell_command import shell

_ALLOCATOR = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF")  # the first one set counts


@check(whole_machine)
def env_old_name(machine: Machine) -> Outcome:
    variables = machine.environment.variables
    names = env_names()
    found: list[Finding] = []
    for name, variable in sorted(variables.items()):
        entry = env_variable(name) if name in names else None
        if entry is None or entry.status != "renamed" or name in _ALLOCATOR:
            continue
        new = next((one for one in entry.replaced_by if one in variables), None)
        if new is not None:
            if _differ(variable, variables[new]):
                found.append(_both(variables[new], variable))
        elif entry.policy in ("rename", "remove") and entry.replaced_by:
            found.append(
                info(
                    f"{name} is an old name; {entry.replaced_by[0]} is the name of this setting now.",
                    evidence=[_evidence(variable)],
                    fix=Fix(
                        f"Use {entry.replaced_by[0]} in {where_set(variable)}",
                        shell("unset {name:name}", name=name),
                        "safe",
                        unsets=(name,),
                    ),
                )
            )
    held = [variables[name] for name in _ALLOCATOR if name in variables]
    found += [_both(held[0], other) for other in held[1:] if _differ(held[0], other)]
    if not found and not machine.environment.complete:
        raise unknown("the evidence does not show the whole environment")
    return found


def _differ(new: Variable, old: Variable) -> bool:
    both = (new.value.strip(), old.value.strip())
    return both[0] != both[1] and is_plain(both[0]) and is_plain(both[1])


def _both(new: Variable, old: Variable) -> Finding:
    return warning(
        f"{new.name} is {new.value.strip()[:60]} and {old.name}, an older name of it, is "
        f"{old.value.strip()[:60]}: {new.name} takes precedence.",
        evidence=[_evidence(old), _evidence(new)],
        fix=Fix(
            f"Set only {new.name}, and remove {old.name} from {where_set(old)}",
            command=shell("unset {name:name}", name=old.name),
            unsets=(old.name,),
            safety="safe",
            verify=shell("printenv {name:name}", name=new.name),
            changes=(Unset(old.name),),
        ),
    )


def _evidence(variable: Variable) -> Evidence:
    return quote(variable.source, f"{variable.name}={variable.value}"[:200], variable.line)

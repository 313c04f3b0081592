"""HSA_OVERRIDE_GFX_VERSION with a node number names no GPU, so it does nothing.

Why
  The number is that of the KFD node, which counts the processors too: on a machine with one processor the first GPU is
  node 1. With any other number, including that of a processor, the variable is never read, and the GPU that it was
  meant for runs without it.

Fix
  Look up the node numbers of the GPUs, then rename the variable, or remove it.

References
  https://github.com/ROCm/ROCm/issues/5069
  Linux source: drivers/gpu/drm/amd/amdkfd/kfd_topology.c
"""

from __future__ import annotations

from rocdoctor.insight.gpus.gfx_override import NAME, node_variables
from rocdoctor.judging.check import (
    Finding,
    Fix,
    Outcome,
    check,
    cite,
    machine_with_amd,
    not_applicable,
    quote,
    warning,
)
from rocdoctor.model.evidence import known
from rocdoctor.model.facts import Machine
from rocdoctor.model.shell_command import shell


@check(machine_with_amd, cause="hsa-override-wrong")
def gfx_override_no_effect(machine: Machine) -> Outcome:
    variables = node_variables(machine.environment)
    if not variables:
        return not_applicable("no override with a node number is set in this evidence")
    gpus = [gpu for gpu in machine.gpus if gpu.vendor == "amd"]
    facts = [node.kfd_node for gpu in gpus for node in gpu.compute_nodes] or [gpu.kfd_node for gpu in gpus]
    nodes = {known(fact) for fact in facts}
    if not machine.gpus_complete:
        return not_applicable("this evidence does not show every GPU")
    found: list[Finding] = []
    for number, variable in sorted(variables.items()):
        if number in nodes:
            continue
        have = ", ".join(map(str, sorted(nodes)))
        found.append(
            warning(
                f"{variable.name} has no effect: node {number} is not a GPU (the GPUs are KFD nodes {have}).",
                evidence=[quote(variable.source, f"{variable.name}={variable.value}", variable.line), cite(facts[0])],
                fix=Fix(
                    f"Rename it to {NAME}_<node> with the node of the GPU that needs it, or remove it",
                    command=shell("unset {name:name}", name=variable.name),
                    unsets=(variable.name,),
                    safety="manual",
                    verify="grep -H gfx_target_version /sys/class/kfd/kfd/topology/nodes/*/properties",
                ),
            )
        )
    return found

"""The firmware does not say which NUMA node a GPU belongs to.

Why
  A machine with several NUMA nodes has memory and processors that are near to a GPU and others that are far. Programs
  that place their processes by the GPU's node (torchrun scripts, Slurm, MPI, RCCL) cannot do so when the firmware
  states none: Linux shows -1. Copies then may cross the link between the sockets.

Fix
  Update the board's firmware, and look there for a setting such as "NUMA nodes per socket" or "ACPI SLIT". Until then,
  find the near node by measuring copies or from the board's manual, and bind ranks by hand.

References
  https://docs.kernel.org/admin-guide/abi-testing.html (/sys/bus/pci/devices/.../numa_node)
"""

from __future__ import annotations

from rocdoctor.insight.links.fabric import cpu_nodes
from rocdoctor.judging.check import Fix, Outcome, check, cite, each_discrete_gpu, info, not_applicable
from rocdoctor.model.evidence import known, value_or
from rocdoctor.model.facts import Gpu, Machine


@check(each_discrete_gpu)
def numa_node_unset(machine: Machine, gpu: Gpu) -> Outcome:
    nodes = cpu_nodes(machine)
    if len(nodes) < 2:
        return not_applicable("fewer than two NUMA nodes with processors are known")
    if value_or(machine.container.virtual_machine, None) is not None:
        return not_applicable("a hypervisor need not say where a GPU really is")
    if known(gpu.numa_node) is not None:
        return None
    return info(
        f"The firmware names no NUMA node for this GPU, on a machine with {len(nodes)} nodes.",
        evidence=[
            cite(gpu.numa_node, "-1"),
            *[cite(node.cpulist, f"node {node.node}: CPUs {value_or(node.cpulist, '?')}") for node in nodes[:4]],
        ],
        fix=Fix("Update the firmware of the board; until then bind ranks to the nearest node by hand (numactl)"),
    )

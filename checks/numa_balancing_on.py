"""Automatic NUMA balancing is on in a machine with several NUMA nodes and GPUs.

Why
  The kernel unmaps memory now and then to see which processor uses it, and moves it to that processor's node. Memory
  that a GPU works with is disturbed by this: mappings are invalidated and copies wait. AMD's tuning guide for MI300X
  turns it off, and RCCL says so when it starts. Many distributions turn it on; the effect is often small.

Fix
  sudo sysctl kernel.numa_balancing=0, and, to make it permanent, a line `kernel.numa_balancing = 0` in a file in
  /etc/sysctl.d.

References
  https://docs.kernel.org/admin-guide/sysctl/kernel.html (numa_balancing)
  ROCm documentation: system tuning guide for MI300X; RCCL: src/init.cc
"""

from __future__ import annotations

from rocdoctor.insight.links.fabric import cpu_nodes, training_gpus
from rocdoctor.judging.check import Fix, Outcome, check, cite, info, machine_with_amd, not_applicable
from rocdoctor.model.change import KernelValue
from rocdoctor.model.evidence import known, value_or
from rocdoctor.model.facts import Machine


@check(machine_with_amd)
def numa_balancing_on(machine: Machine) -> Outcome:
    if not training_gpus(machine, "amd"):
        return not_applicable("integrated GPUs only")
    if len(cpu_nodes(machine)) < 2:
        return not_applicable("fewer than two NUMA nodes with processors are known")
    if not known(machine.memory.numa_balancing):
        return None
    return info(
        f"Automatic NUMA balancing is on, on a machine with {len(cpu_nodes(machine))} NUMA nodes and "
        f"{len(training_gpus(machine, 'amd'))} discrete AMD GPUs.",
        evidence=[cite(machine.memory.numa_balancing, str(value_or(machine.memory.numa_balancing, "")))],
        fix=Fix(
            "Switch it off while training",
            command="sudo sysctl kernel.numa_balancing=0",
            safety="safe",
            verify="sysctl kernel.numa_balancing",
            changes=(KernelValue("/proc/sys/kernel/numa_balancing", "0"),),
        ),
    )

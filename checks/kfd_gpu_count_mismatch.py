"""The compute driver lists fewer GPUs than the machine has.

Why
  A container or a job of a scheduler gets its share of the GPUs through a device cgroup: the others are on the bus, and
  KFD refuses to show them to this process. That is intended. Without such a limit every GPU that has its driver should
  be listed.

Fix
  To use the hidden GPUs, ask the scheduler for them or pass their render nodes into the container.

References
  Linux drivers/gpu/drm/amd/amdkfd/kfd_priv.h (kfd_devcgroup_check_permission) and kfd_topology.c
  https://rocm.docs.amd.com/en/latest/conceptual/gpu-isolation.html
"""

from __future__ import annotations

from rocdoctor.insight.gpus.presence import count_words, has_node, is_driven, kfd_path, of_vendor
from rocdoctor.judging.check import Fix, Outcome, check, cite, info, machine_with_amd, unknown, warning
from rocdoctor.model.evidence import known, value_or
from rocdoctor.model.facts import Machine


@check(machine_with_amd, cause="gpu-not-supported")
def kfd_gpu_count_mismatch(machine: Machine) -> Outcome:
    hidden = value_or(machine.kfd_nodes_hidden, 0)
    listed = known(machine.kfd_gpu_nodes)
    if hidden > 0:
        nodes = count_words(hidden, "node")
        fix = Fix("Ask the scheduler for more GPUs, or pass more render nodes into the container", safety="safe")
        return info(
            f"The compute driver hides {nodes} from this process (its cgroup allows {count_words(listed)} only).",
            evidence=[cite(machine.kfd_nodes_hidden), cite(machine.kfd_gpu_nodes)],
            fix=fix,
        )
    if not machine.kfd_complete:
        raise unknown("the evidence does not show every node of the compute driver")
    driven = [gpu for gpu in of_vendor(machine, "amd") if is_driven(gpu) and kfd_path(gpu) is not False]
    # Where nodes and devices are matched, gpu-without-compute-node names the GPU that is missing.
    if listed >= len(driven) or listed == 0 or any(has_node(gpu) for gpu in driven):
        return None
    fix = Fix("Read why KFD skipped the others in the kernel log", command="sudo dmesg | grep -i kfd", safety="safe")
    return warning(
        f"The amdgpu driver runs {count_words(len(driven))}, but the compute driver (KFD) lists {count_words(listed)}.",
        evidence=[cite(machine.kfd_gpu_nodes)],
        fix=fix,
        confidence="likely",
    )

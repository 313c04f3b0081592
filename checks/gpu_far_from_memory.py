"""A GPU's NUMA node has no memory or no processors of its own.

Why
  Buffers that are copied to a GPU should be in the memory next to it. If the GPU's node has no memory, because its
  socket or die was left without memory modules, all copies cross the link to another node, and several GPUs share that
  link. Nodes without processors give ranks no core to run near their GPU.

Fix
  Put memory modules into the channels of that socket (the board's manual says which), or put the GPU into a slot of a
  node that has memory. `numactl --hardware` shows what each node has.

References
  https://docs.kernel.org/mm/numa.html (memoryless nodes)
"""

from __future__ import annotations

from rocdoctor.judging.check import Fix, Outcome, check, cite, each_discrete_gpu, info, not_applicable
from rocdoctor.model.evidence import known
from rocdoctor.model.facts import Gpu, Machine


@check(each_discrete_gpu)
def gpu_far_from_memory(machine: Machine, gpu: Gpu) -> Outcome:
    if len(machine.numa_nodes) < 2:
        return not_applicable("fewer than two NUMA nodes are known")
    wanted = known(gpu.numa_node)
    if wanted is None:
        return not_applicable("the firmware names no NUMA node for this GPU")
    node = next((one for one in machine.numa_nodes if one.node == wanted), None)
    if node is None:
        return not_applicable(f"NUMA node {wanted} is not in this evidence")
    cited = cite(gpu.numa_node, f"NUMA node {wanted}")
    if known(node.memory_bytes) == 0:
        return info(
            f"This GPU is at NUMA node {wanted}, which has no memory: every copy to it comes from another node.",
            evidence=[cited, cite(node.memory_bytes, "0 bytes")],
            fix=Fix("Put memory modules into the channels of that socket", command="numactl --hardware"),
        )
    if not known(node.cpulist).strip():
        return info(
            f"This GPU is at NUMA node {wanted}, which has no processors: its ranks run on another node.",
            evidence=[cited, cite(node.cpulist, "no CPUs")],
            fix=Fix(
                "Bind its ranks to the nearest node that has processors (distances: numactl --hardware)",
                command="numactl --hardware",
                safety="safe",
            ),
        )
    return None

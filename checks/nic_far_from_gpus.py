"""A NUMA node has GPUs but no fast network card, while another node has one.

Why
  With GPUDirect RDMA a network card reads the memory of a GPU directly. That is fast within one socket; data from GPUs
  at another socket crosses the link between the processors, which is slower and shared. NCCL and RCCL choose the
  nearest card for each GPU, and with all cards at one socket half of the GPUs are far from any.

Fix
  If the machine is still being built, spread the cards over the sockets. Otherwise leave it: give jobs with much
  traffic between nodes the GPUs that are near a card.

References
  NCCL and RCCL: the environment variable NCCL_TOPO_DUMP_FILE shows the distances that a job sees
"""

from __future__ import annotations

from rocdoctor.insight.links.fabric import training_gpus
from rocdoctor.judging.check import (
    Evidence,
    Fix,
    Outcome,
    check,
    cite,
    info,
    machine_with_several_gpus,
    not_applicable,
    unknown,
)
from rocdoctor.model.evidence import known, value_or
from rocdoctor.model.facts import Machine, Nic

_FAST_GBIT_S = 100.0  # our choice: cards for RDMA between training nodes start there


@check(machine_with_several_gpus)
def nic_far_from_gpus(machine: Machine) -> Outcome:
    gpus = training_gpus(machine)
    of_gpus = {known(gpu.numa_node) for gpu in gpus}
    if None in of_gpus or len(of_gpus) < 2:
        return not_applicable("the GPUs are not spread over several known NUMA nodes")
    fast = [nic for nic in machine.network if _is_fast(nic)]
    if not fast:
        return not_applicable("no network card of 100 Gb/s or more is known here")
    of_cards = {known(nic.numa_node) for nic in fast}
    bare = sorted(node for node in of_gpus - of_cards if node is not None)
    if not bare or None in of_cards:
        return None
    if not machine.network_complete:
        raise unknown("this evidence may not show every network card")
    names = " and ".join(str(node) for node in bare)
    far = sum(value_or(gpu.numa_node, None) in bare for gpu in gpus)
    return info(
        f"{far} of {len(gpus)} GPUs are at NUMA {'node' if len(bare) == 1 else 'nodes'} {names}, where there is no "
        f"network card of {_FAST_GBIT_S:.0f} Gb/s or more; all {len(fast)} are at other nodes.",
        evidence=[_place(nic) for nic in fast[:8]],
        fix=Fix(
            "If jobs span nodes, move a card to a slot of the other socket, or bind ranks to the nearest card",
            safety="manual",
        ),
    )


def _is_fast(nic: Nic) -> bool:
    return value_or(nic.state, "up") == "up" and value_or(nic.speed_gbit_s, 0.0) >= _FAST_GBIT_S


def _place(nic: Nic) -> Evidence:
    return cite(nic.numa_node, f"{nic.name}: NUMA node {value_or(nic.numa_node, None)}")

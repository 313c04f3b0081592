"""Several GPUs share one PCIe link to the processor.

Why
  Behind a PCIe switch or on a card with two GPUs, copies to and from main memory share the one upstream link. A single
  active GPU gets all of it; several share it. This matters for data loading, offload and checkpoints, and for
  collectives of GPUs behind different switches; copies between GPUs behind one switch stay inside it.

Fix
  Nothing is broken. Prefer groups of GPUs behind one switch for tensor parallelism, and expect host copies of all GPUs
  together at the rate of the shared link.

References
  NCCL and RCCL: the environment variable NCCL_TOPO_DUMP_FILE shows the switches that a job sees
"""

from __future__ import annotations

from rocdoctor.insight.links.fabric import pcie_pairs, training_gpus
from rocdoctor.insight.links.pcie import bandwidth_gb_s, words
from rocdoctor.judging.check import (
    About,
    Finding,
    Fix,
    Outcome,
    check,
    cite,
    info,
    machine_with_several_gpus,
    not_applicable,
    unknown,
)
from rocdoctor.model.evidence import Known, value_or
from rocdoctor.model.facts import Gpu, Machine, PcieHop


@check(machine_with_several_gpus)
def slot_shared_bandwidth(machine: Machine) -> Outcome:
    gpus = training_gpus(machine)
    if not any(gpu.pcie.hops for gpu in gpus):
        raise unknown("the bridges above the GPUs are not in this evidence")
    if value_or(machine.container.virtual_machine, None) is not None:
        return not_applicable("in a guest the ports are those of a hypervisor")
    shared: dict[str, tuple[PcieHop, list[Gpu]]] = {}
    for gpu in gpus:
        if gpu.pcie.hops and gpu.pcie.path_complete and not gpu.pcie.hops[0].virtual:
            shared.setdefault(gpu.pcie.hops[0].bdf, (gpu.pcie.hops[0], []))[1].append(gpu)
    findings = [
        _finding(root, below) for root, below in shared.values() if len(below) > 1 and pcie_pairs(machine, below)
    ]
    return findings or None


def _finding(root: PcieHop, below: list[Gpu]) -> Finding:
    speed, width = root.link.max_speed_gt_s, root.link.max_width
    link, evidence = "one PCIe link", []
    if isinstance(speed, Known) and isinstance(width, Known):
        rate = bandwidth_gb_s(speed.value, width.value)
        link = f"one PCIe link of {words(speed.value, width.value)} ({rate:.1f} GB/s bandwidth)"
        evidence = [cite(width, f"root port {root.bdf}: x{width.value}")]
    evidence += [cite(gpu.bdf, gpu.label) for gpu in below[:4]]
    return info(
        f"{len(below)} GPUs share {link} to the processor: {', '.join(gpu.label for gpu in below[:8])}.",
        evidence=evidence,
        about=About(subjects=tuple(gpu.subject for gpu in below)),
        fix=Fix(
            "If they load data at the same time, move one to a slot of another root port, or "
            "accept that they share its bandwidth",
            safety="manual",
        ),
    )

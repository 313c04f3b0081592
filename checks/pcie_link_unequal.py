"""Identical GPUs of one machine have different PCIe links.

Why
  In data-parallel training every step waits for the slowest GPU. A card in a slot with a quarter of the lanes,
  or with an older PCIe generation, sets the pace for all others wherever data crosses PCIe: copies from the host,
  offload, and all collectives when the GPUs have no XGMI or NVLink. What is compared is what the links can do, not
  what they do at this moment, so idle cards count as well.

Fix
  Move the card to a slot like the others' (the board's manual lists the lanes of each), or leave it out of jobs that
  are bound by transfers.

References
  https://docs.kernel.org/PCI/index.html
  NCCL and RCCL: the environment variable NCCL_TOPO_DUMP_FILE shows the links that a job sees
"""

from __future__ import annotations

from rocdoctor.insight.links.fabric import fast_link, share_hive
from rocdoctor.insight.links.pcie import bandwidth_gb_s, words
from rocdoctor.insight.links.pcie_path import capable, ends_at_the_card, equal_gpus, hypervisor_sign
from rocdoctor.judging.check import Fix, Outcome, check, cite, each_discrete_gpu, finding, not_applicable, unknown
from rocdoctor.model.evidence import Known, known
from rocdoctor.model.facts import Gpu, Machine

_LARGE_SHARE = 0.5  # a card with half the bandwidth of its equals is common on desktops and worth a note


@check(each_discrete_gpu)
def pcie_link_unequal(machine: Machine, gpu: Gpu) -> Outcome:
    equals = equal_gpus(machine, gpu)
    if not equals:
        return not_applicable("no other GPU of this model to compare with")
    if sign := hypervisor_sign(machine, gpu):
        return not_applicable(sign)
    if ends_at_the_card(gpu):
        raise unknown("the GPU's own function may show a link inside the card; the bridges above it are not known")
    width, speed = capable(gpu)
    mine = bandwidth_gb_s(known(speed), known(width))
    best, best_rate = gpu, mine
    for other in equals:
        lanes, rate = capable(other)
        if isinstance(lanes, Known) and isinstance(rate, Known) and bool(other.pcie.hops) == bool(gpu.pcie.hops):
            theirs = bandwidth_gb_s(rate.value, lanes.value)
            best, best_rate = (other, theirs) if theirs > best_rate else (best, best_rate)
    if mine >= best_rate:
        return None
    their_width, their_speed = capable(best)
    fabric = any(fast_link(machine, gpu, other) or share_hive(gpu, other) for other in equals)
    here, there = words(known(speed), known(width)), words(known(their_speed), known(their_width))
    small = fabric or mine / best_rate > _LARGE_SHARE * 0.99
    return finding(
        "info" if small else "warning",
        f"The PCIe link of this GPU can do {here}, while an identical card of this machine has {there} "
        f"({mine:.1f} of {best_rate:.1f} GB/s bandwidth).",
        evidence=[
            cite(width, f"x{known(width)}"),
            cite(speed, f"{known(speed):g} GT/s"),
            cite(their_width, f"an identical card: x{known(their_width)}"),
            cite(their_speed, f"an identical card: {known(their_speed):g} GT/s"),
        ],
        cause="" if small else "pcie-link-degraded",
        fix=Fix(
            "Use a slot with as many lanes and the same generation as those of the identical cards", command="lspci -tv"
        ),
    )

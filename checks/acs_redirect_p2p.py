"""A PCIe switch sends direct copies between its GPUs up to the processor instead of straight to each other.

Why
  Two GPUs behind one switch can exchange data inside the switch. Access Control Services (ACS) with request redirect
  forbid that: each packet goes up to the root, where the IOMMU may check it, and down again. Copies are slower, load
  the one link that the GPUs share, and have been reported to hang when address translation is on. GPUs that are
  joined by XGMI or NVLink do not depend on it, but copies between a GPU and a network card behind the same switch do.
  Virtualisation needs ACS to keep guests apart: on a host that gives GPUs to guests, leave it on.

Fix
  On bare metal without guests, turn ACS off in the firmware setup or with the kernel parameter
  `pci=disable_acs_redir=<address of the port>`, and put the IOMMU in pass-through mode (`iommu=pt`).

References
  Linux: drivers/pci/p2pdma.c (calc_map_type_and_dist, pci_bridge_has_acs_redir); drivers/pci/pci.c (disable_acs_redir)
  https://docs.kernel.org/driver-api/pci/p2pdma.html
"""

from __future__ import annotations

from itertools import combinations

from rocdoctor.insight.links.fabric import fast_link, iommu_translates, share_hive, shared_hops, training_gpus
from rocdoctor.judging.check import (
    Evidence,
    Fix,
    Outcome,
    check,
    cite,
    finding,
    machine_with_several_gpus,
    not_applicable,
    unknown,
)
from rocdoctor.model.evidence import Unknown, known, value_or
from rocdoctor.model.facts import Gpu, Machine, PcieHop


@check(machine_with_several_gpus)
def acs_redirect_p2p(machine: Machine) -> Outcome:
    guest = known(machine.container.virtual_machine)
    if guest is not None:
        return not_applicable(f"in a {guest} guest the hypervisor decides on ACS")
    gpus = training_gpus(machine)
    if not any(gpu.pcie.hops for gpu in gpus):
        raise unknown("the bridges above the GPUs are not in this evidence")
    gap: Unknown | None = None
    ports: dict[str, PcieHop] = {}
    pairs: list[tuple[Gpu, Gpu]] = []
    shared = 0
    for a, b in combinations(gpus, 2):
        below = _ports_below(a, b)
        shared += bool(below)
        redirecting = [hop for hop in below if value_or(hop.acs_redirect, False)]
        if redirecting:
            pairs.append((a, b))
            ports |= {hop.bdf: hop for hop in redirecting}
        gap = gap or next((hop.acs_redirect for hop in below if isinstance(hop.acs_redirect, Unknown)), None)
    if not shared:
        return not_applicable("no two GPUs are known to be behind one PCIe switch")
    if not ports:
        if gap is not None:
            raise unknown(gap)
        return None
    slow = [pair for pair in pairs if fast_link(machine, *pair) is None and not share_hive(*pair)]
    translated = value_or(iommu_translates(machine, gpus), False)
    harm = bool(slow) and translated
    evidence = [
        Evidence(f"{bdf}: {cite(hop.acs_redirect, 'ReqRedir+').value}", cite(hop.acs_redirect).source)
        for bdf, hop in ports.items()
    ]
    if translated:
        evidence.append(cite(iommu_translates(machine, gpus), "the IOMMU translates addresses"))
    effect = "" if slow else "; XGMI or NVLink carries their copies anyway"
    return finding(
        "warning" if harm else "info",
        f"ACS request redirect is on at {_count(len(ports), 'port')} of PCIe switches that GPUs share, so peer-to-peer "
        f"copies of {_count(len(pairs), 'pair')} of GPUs go through the processor{effect}.",
        evidence=evidence,
        cause="iommu-acs-p2p" if harm else "",
        fix=Fix(
            "If no guests use these GPUs, switch ACS off in the firmware setup or add this to the kernel command line: "
            f"pci=disable_acs_redir={';'.join(ports)}",
            safety="reboots",
            effective="reboot",
            verify="sudo lspci -vv | grep ACSCtl",
        ),
    )


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _ports_below(a: Gpu, b: Gpu) -> list[PcieHop]:
    """The switch ports at which the ways of two GPUs part; empty when they share no switch."""
    common = len(shared_hops(a, b))
    if not common:
        return []
    return [gpu.pcie.hops[common] for gpu in (a, b) if len(gpu.pcie.hops) > common]

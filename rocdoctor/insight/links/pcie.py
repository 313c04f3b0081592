"""Arithmetic of PCIe links."""

from __future__ import annotations

from rocdoctor.model.evidence import Known
from rocdoctor.model.facts import LinkState, Pcie, PcieHop

# Payload rate per lane in GB/s after line coding: 8b/10b up to 5 GT/s, 128b/130b from 8 GT/s, FLIT mode at 64 GT/s
# (PCI Express Base Specification 6.0, chapter 4; the same factors as Linux pcie_bandwidth_available()).
_CODING = {2.5: 0.8, 5.0: 0.8, 8.0: 128 / 130, 16.0: 128 / 130, 32.0: 128 / 130, 64.0: 242 / 256}

# Generations by the rate of a lane (PCI Express Base Specification, revision history).
_GENERATIONS = {2.5: "PCIe 1.0", 5.0: "PCIe 2.0", 8.0: "PCIe 3.0", 16.0: "PCIe 4.0", 32.0: "PCIe 5.0", 64.0: "PCIe 6.0"}


def bandwidth_gb_s(speed_gt_s: float, width: int) -> float:
    """Bandwidth of a link in GB/s, one direction, before packet overhead."""
    return speed_gt_s * _CODING.get(speed_gt_s, 128 / 130) / 8 * width


def link_bandwidth(link: LinkState) -> float | None:
    """What a link carries now in GB/s; None when speed or width is unknown."""
    if isinstance(link.speed_gt_s, Known) and isinstance(link.width, Known):
        return bandwidth_gb_s(link.speed_gt_s.value, link.width.value)
    return None


def limiting_hop(pcie: Pcie) -> PcieHop | None:
    """The weakest link of the path to the root port; None when no hop with a real link is known.

    Ports that a hypervisor made up do not count. Of equals the one nearest to the root port is taken.
    """
    real = [(hop, link_bandwidth(hop.link)) for hop in pcie.hops if not hop.virtual]
    known = [(hop, rate) for hop, rate in real if rate is not None]
    if not known:
        return None
    weakest = min(rate for _, rate in known)
    return next(hop for hop, rate in known if rate == weakest)


def words(speed_gt_s: float, width: int) -> str:
    """A link in the usual words: ``16 GT/s x16``."""
    return f"{speed_gt_s:g} GT/s x{width}"


def generation(speed_gt_s: float) -> str:
    """The generation that brought this rate of a lane: ``PCIe 4.0``; empty for a rate that none has."""
    return _GENERATIONS.get(speed_gt_s, "")

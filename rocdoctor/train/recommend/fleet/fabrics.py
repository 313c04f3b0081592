"""How the GPUs of a node reach each other: XGMI, NVLink or PCIe, which of them together, and how fast."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from rocdoctor.knowledge.lookup import GpuProfile, pcie_gb_s

Kind = Literal["xgmi", "nvlink", "pcie", "none"]

# Cards of one node where that is not eight: four MI250X are eight GPUs, four MI300A fill a board, and superchips
# stand four to a node at most.
CARDS_PER_NODE = {"mi250x": 4, "mi250": 4, "mi300a": 4, "gb200": 4, "gh200": 4}
# Modules whose XGMI links are wired on the board, each GPU to each other one.
_MESH_MODULES = ("mi300x", "mi325x", "mi308x", "mi300a", "mi350x", "mi355x")
# Two-die modules: how many links join two modules differs by platform, one is the least.
MODULE_PAIRS = ("mi250x", "mi250")


@dataclass(frozen=True, slots=True)
class Fabric:
    """Links of a node. ``link_gb_s``: what one GPU sends to all its peers at once, one direction; None: not known.

    ``islands`` are local ranks; ``mesh``: each pair has links of its own.
    """

    kind: Kind
    islands: tuple[tuple[int, ...], ...]
    link_gb_s: float | None
    mesh: bool
    source: str

    def spec(self) -> dict[str, Any]:
        """The fields of a specification's ``gpu``."""
        found: dict[str, Any] = {"island": min(len(one) for one in self.islands)}
        if self.kind != "none":
            found["fabric"] = self.kind
        if self.link_gb_s is not None:
            found["link_gb_s"] = round(self.link_gb_s, 2)
        if self.kind == "xgmi":
            found["mesh"] = self.mesh
        return found


def xgmi_link_gb_s(profile: GpuProfile | None) -> float | None:
    """GB/s of one XGMI link in one direction, as the profile has it; the lower one of two that disagree."""
    figure = profile.xgmi.gb_s_per_link if profile and profile.xgmi else None
    return min(figure.values) if figure else None


def pcie_link_gb_s(profile: GpuProfile | None) -> float | None:
    """GB/s of the part's own PCIe interface."""
    pcie = profile.pcie if profile else None
    return pcie_gb_s(pcie.speed_gt_s, pcie.width) if pcie else None


def described_fabric(profile: GpuProfile | None, gpus: int, notes: list[str]) -> Fabric:
    """The fabric that a node of these parts usually has; optional bridges are not assumed."""
    everyone = (tuple(range(gpus)),)
    source = f"profile {profile.id}" if profile else "assumption"
    if gpus == 1:
        return Fabric("none", everyone, pcie_link_gb_s(profile), False, source)
    link = xgmi_link_gb_s(profile)
    if profile and profile.id in _MESH_MODULES:
        if link is None:
            notes.append(f"the speed of XGMI links of {profile.names[0]} is in no table, so the plan uses PCIe speed")
            return Fabric("xgmi", everyone, pcie_link_gb_s(profile), False, "assumption")
        return Fabric("xgmi", everyone, link * (gpus - 1), True, source)
    if profile and profile.id in MODULE_PAIRS and link is not None:
        notes.append(f"links between modules of {profile.names[0]} differ by platform: one of {link:g} GB/s is assumed")
        return Fabric("xgmi", everyone, link, False, "assumption")
    if profile and profile.nvlink_gb_s_total is not None:
        return Fabric("nvlink", everyone, profile.nvlink_gb_s_total.values[0] / 2, False, source)
    if link is not None:
        notes.append("XGMI bridges between these cards are optional and not assumed: the GPUs communicate over PCIe")
    return Fabric("pcie", everyone, pcie_link_gb_s(profile), False, source)
